<?php

declare(strict_types=1);

require_once __DIR__ . '/database.php';
require_once __DIR__ . '/fingerprint.php';

/** The id stands for another operation already. */
final class OperationIdTaken extends RuntimeException
{
}

/**
 * Write an operation down, in the transaction of the change that wants it; true where it is new.
 *
 * `$operation` has operation_id, tenant, type, entity_type, entity_id, destination and expected (an array); it may have
 * amount (plain decimal text) with currency, expected_version, idempotency_key, correlation_id and deadline (seconds).
 */
function register(Database $database, array $operation): bool
{
    $optional = ['expected_version', 'idempotency_key', 'correlation_id', 'amount', 'currency'];
    $row = $operation + array_fill_keys($optional, null) + ['deadline' => 86400];
    $expected = as_json((object) $row['expected']);
    $row = ['expected' => $expected, 'fingerprint' => fingerprint(read_json($expected))] + $row;
    if ($database->changed('register', $row) === 1) {
        $database->changed('registered_event', ['operation_id' => $row['operation_id'], 'actor_id' => 'host']);
        return true;
    }
    $known = $database->rows('registered', ['operation_id' => $row['operation_id']])[0];
    foreach (array_diff_key($known, ['id' => true]) as $column => $value) {
        if ((string) $value !== (string) $row[$column]) {
            throw new OperationIdTaken("{$row['operation_id']}: $column differs");
        }
    }
    return false;
}

/** Claim what is due of a type; each row comes with the `token` under which it is held for a minute. */
function claim(Database $database, string $type, string $worker): array
{
    return $database->unit(function (Database $database) use ($type, $worker): array {
        $token = bin2hex(random_bytes(16));
        $mine = [];
        foreach ($database->rows('due', ['type' => $type]) as $row) {
            $held = ['id' => $row['id'], 'token' => $token, 'lease' => 60];
            if ($database->changed('claim', $held + ['from_state' => $row['state'], 'revision' => $row['revision']]) === 1) {
                note($database, $row['id'], $worker, $row['state']);
                $mine[] = ['attempts' => $row['attempts'] + 1, 'token' => $token, 'worker' => $worker] + $row;
            }
        }
        return $mine;
    });
}

/** The destination said that the effect exists. What people wait for is proven by the reconciler instead. */
function confirm(Database $database, array $work, string $remote_id, array $evidence = []): bool
{
    $told = ['evidence' => ['remote_id' => $remote_id] + $evidence];
    return record($database, $work, 'confirm', ['remote_id' => $remote_id], $told)
        || record($database, $work, 'await', ['remote_id' => $remote_id, 'window' => 0], $told + ['cause' => 'sent_unknown']);
}

/** It may have happened: it is never sent again before the destination was asked. */
function await(Database $database, array $work, string $reason, int $window = 300): bool
{
    $told = ['cause' => 'sent_unknown', 'reason' => $reason];
    return record($database, $work, 'await', ['remote_id' => null, 'window' => $window], $told);
}

/** It certainly did not happen (`not_sent`, `throttled`, `local_conflict`): again later, a person once attempts are used up. */
function retry(Database $database, array $work, string $cause, string $reason, int $max_attempts = 5): bool
{
    $told = ['cause' => $cause, 'reason' => $reason];
    $delay = random_int(0, min(1800, 10 * 2 ** ($work['attempts'] - 1)));
    return record($database, $work, 'retry', ['cause' => $cause, 'delay' => $delay, 'max_attempts' => $max_attempts], $told)
        || record($database, $work, 'review', ['cause' => $cause], $told);
}

/** Make one change under the lease, with its event; false where another row rule or a lost lease forbids it. */
function record(Database $database, array $work, string $statement, array $values, array $told): bool
{
    return $database->unit(function (Database $database) use ($work, $statement, $values, $told): bool {
        if ($database->changed($statement, ['id' => $work['id'], 'token' => $work['token']] + $values) === 0) {
            return false;
        }
        note($database, $work['id'], $work['worker'], 'processing', $told);
        return true;
    });
}

function note(Database $database, int|string $number, string $worker, string $from, array $told = []): void
{
    $database->changed('event', [
        'id' => $number,
        'actor_id' => $worker,
        'from_state' => $from,
        'cause' => $told['cause'] ?? null,
        'reason' => $told['reason'] ?? null,
        'evidence' => as_json($told['evidence'] ?? null),
    ]);
}
