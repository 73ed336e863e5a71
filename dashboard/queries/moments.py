"""Parameters of statements that are made once and asked many times.

To make a statement takes SQLAlchemy up to ten times as long as to ask one that is made. `Moment` is what a condition
about the present is about: a time, or NOW where the statement is kept.
"""

from datetime import datetime

from sqlalchemy import BindParameter, bindparam

from dashboard.db import UTCDateTime

Moment = datetime | BindParameter[datetime]
NOW: BindParameter[datetime] = bindparam("now", type_=UTCDateTime())
# It takes the type of the column beside it.
NUMBER: BindParameter[int] = bindparam("number")
