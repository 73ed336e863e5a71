<?php

declare(strict_types=1);

/** A connection by the rules of docs/integrate-sql.md; it runs the statements by name and retries whole units. */
final class Database
{
    private const ATTEMPTS = 8;

    /** @var array<string, string> */
    private array $statements;

    public function __construct(private PDO $pdo)
    {
        $driver = $pdo->getAttribute(PDO::ATTR_DRIVER_NAME);
        $this->statements = (require __DIR__ . '/statements.php')[$driver];
        $pdo->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
        $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
        $scope = $driver === 'pgsql' ? 'SESSION CHARACTERISTICS AS' : 'SESSION';
        $pdo->exec("SET $scope TRANSACTION ISOLATION LEVEL READ COMMITTED");
    }

    /** Connect to `pgsql:host=...;dbname=...` or `mysql:host=...;dbname=...;charset=utf8mb4`. */
    public static function connect(string $dsn, ?string $user = null, ?string $password = null): self
    {
        $found_rows = str_starts_with($dsn, 'mysql:') ? [PDO::MYSQL_ATTR_FOUND_ROWS => true] : [];
        return new self(new PDO($dsn, $user, $password, $found_rows));
    }

    /** Run a unit of work in one transaction, and all of it again where the engine asks for that. Send nothing in it. */
    public function unit(callable $unit): mixed
    {
        for ($attempt = 1; ; $attempt++) {
            $this->pdo->beginTransaction();
            try {
                $result = $unit($this);
                $this->pdo->commit();
                return $result;
            } catch (Throwable $error) {
                if ($this->pdo->inTransaction()) {
                    $this->pdo->rollBack();
                }
                if ($attempt === self::ATTEMPTS || !self::asks_for_a_retry($error)) {
                    throw $error;
                }
                usleep(random_int(0, 10_000 * 2 ** $attempt));
            }
        }
    }

    /** The number of rows that a statement changed; 0 as well where MySQL says that the key is there already. */
    public function changed(string $name, array $values): int
    {
        try {
            return $this->run($name, $values)->rowCount();
        } catch (PDOException $error) {
            if (($error->errorInfo[1] ?? null) === 1062) {
                return 0;
            }
            throw $error;
        }
    }

    /** @return list<array<string, mixed>> */
    public function rows(string $name, array $values): array
    {
        return $this->run($name, $values)->fetchAll(PDO::FETCH_ASSOC);
    }

    private function run(string $name, array $values): PDOStatement
    {
        $statement = $this->pdo->prepare($this->statements[$name]);
        foreach ($values as $parameter => $value) {
            $binary = $parameter === 'body' && $value !== null;
            $statement->bindValue($parameter, $value, $binary ? PDO::PARAM_LOB : ($value === null ? PDO::PARAM_NULL : PDO::PARAM_STR));
        }
        $statement->execute();
        return $statement;
    }

    private static function asks_for_a_retry(Throwable $error): bool
    {
        return $error instanceof PDOException
            && (in_array((string) $error->getCode(), ['40001', '40P01'], true)
                || in_array($error->errorInfo[1] ?? null, [1213, 1205, 1020], true));
    }
}

/** Bytes, however the driver gives them: PostgreSQL's gives a stream. */
function bytes(mixed $value): ?string
{
    return is_resource($value) ? stream_get_contents($value) : $value;
}

/** JSON for a column, or NULL. */
function as_json(mixed $value): ?string
{
    return $value === null ? null : json_encode($value, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR);
}
