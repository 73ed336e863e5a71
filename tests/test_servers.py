import sqlalchemy as sa

from dashboard.db import Database


def test_a_mariadb_server_keeps_its_temporary_tables_to_itself(mariadb_url: str) -> None:
    """One that starts deletes those it finds in its folder, so a shared folder makes another's set-up fail."""
    database = Database(mariadb_url)
    with database.engine.connect() as connection:
        files, temporary = connection.execute(sa.text("SELECT @@datadir, @@tmpdir")).one()
    database.dispose()
    assert temporary == files.replace("/files/", "/temporary")
