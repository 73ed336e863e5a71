<?php

declare(strict_types=1);

require_once __DIR__ . '/database.php';
require_once __DIR__ . '/fingerprint.php';

/** An answer to a client; headers are [name, value] pairs. */
final class Answer
{
    public function __construct(public int $status, public string $body = '', public array $headers = [])
    {
    }
}

/** Thrown by work that certainly began nothing: its answer is given and not kept, and the key may be used again. */
final class NothingBegan extends RuntimeException
{
    public function __construct(public Answer $answer)
    {
        parent::__construct($answer->body);
    }
}

/**
 * Do the work of a request once, however often it is sent, and give each sender the same answer.
 *
 * `$scope` has tenant, operation and key. Authorise the caller before this: a stored answer is given to whoever gets here.
 * `$work` gets the content and returns an Answer that is certain; any exception but NothingBegan leaves the key pending,
 * because the effect may have happened. Then nobody runs it again until the reconciler has asked.
 */
function once(Database $database, array $scope, string $body, callable $work): Answer
{
    try {
        $content = read_json($body);
        $sent = ['fingerprint' => fingerprint($content), 'digests' => field_digests($content, getenv('FIELD_SECRET') ?: '')];
    } catch (PayloadException $error) {
        return problem(400, 'payload_invalid', $error->getMessage());
    }
    $token = bin2hex(random_bytes(16));
    $mine = $database->unit(fn (Database $database) => reserve($database, $scope, $sent, $token));
    if ($mine === null) {
        // A transaction of its own: on MariaDB the refused INSERT keeps a lock that would stand in everybody's way.
        return $database->unit(fn (Database $database) => look($database, $scope, $sent));
    }
    return carry_out($database, ['id' => $mine, 'token' => $token], $content, $work);
}

/** The number of our own record; null where the key is known already. */
function reserve(Database $database, array $scope, array $sent, string $token): ?int
{
    $won = $database->changed('reserve', $scope + [
        'fingerprint' => $sent['fingerprint'],
        'field_digests' => as_json((object) $sent['digests']),
        'token' => $token,
        'lease' => 60,
        'correlation_id' => null,
        'operation_id' => null,
    ]) === 1;
    return $won ? (int) $database->rows('read', $scope)[0]['id'] : null;
}

function look(Database $database, array $scope, array $sent): Answer
{
    $row = $database->rows('read', $scope)[0] ?? null;
    // Without a row its owner has just given the key back.
    return $row === null ? unfinished('1') : known($database, $row, $sent);
}

/** What a known key answers; the content is compared first. */
function known(Database $database, array $row, array $sent): Answer
{
    if ((int) $row['fingerprint_version'] !== 1 || $row['fingerprint'] !== $sent['fingerprint']) {
        return conflict($database, $row, $sent);
    }
    if ($row['state'] === 'completed' || $row['state'] === 'failed') {
        $database->changed('replayed', ['id' => $row['id']]);
        return replay($row);
    }
    if ($row['state'] === 'processing' && $row['in_work']) {
        return unfinished('1');
    }
    $database->changed('lapse', ['id' => $row['id']]);
    return unfinished('30');
}

function conflict(Database $database, array $row, array $sent): Answer
{
    $stored = json_decode($row['field_digests'] ?? 'null', true);
    $names = $stored === null ? null : array_keys(array_diff_assoc($stored, $sent['digests']) + array_diff_assoc($sent['digests'], $stored));
    $database->changed('conflicted', ['id' => $row['id']]);
    if ($row['conflict_count'] < 100) {
        $database->changed('note_conflict', [
            'id' => $row['id'],
            'fingerprint' => $sent['fingerprint'],
            'fields' => as_json($names === null ? null : array_map(strval(...), $names)),
            'actor_id' => 'php host',
            'correlation_id' => null,
        ]);
    }
    return problem(409, 'idempotency_key_reused', 'This key was used for something else: send a new one.');
}

function replay(array $row): Answer
{
    if ($row['expired']) {
        return problem(410, 'idempotency_answer_expired', 'This was dealt with before. Its answer is not kept any more.');
    }
    $body = bytes($row['response_body']);
    if ($body === null || $row['response_status'] === null) {
        return outcome($row);
    }
    $headers = json_decode($row['response_headers'] ?? '[]', true);
    return new Answer((int) $row['response_status'], $body, [...$headers, ['Idempotent-Replayed', 'true']]);
}

/** What is known of work whose answer could not be kept. */
function outcome(array $row): Answer
{
    if ($row['state'] === 'failed') {
        return problem(409, 'idempotency_closed', 'This was closed without an effect: send a new key to ask again.');
    }
    $known = [
        'state' => $row['state'],
        'external_reference' => $row['external_reference'],
        'resource_ids' => json_decode($row['resource_ids'] ?? '[]', true),
        'operation_id' => $row['operation_id'],
    ];
    return new Answer(200, as_json($known), [['Content-Type', 'application/json'], ['Idempotent-Replayed', 'true']]);
}

function carry_out(Database $database, array $mine, mixed $content, callable $work): Answer
{
    $unbound = ['external_reference' => null, 'operation_id' => null];
    try {
        $answer = $work($content);
    } catch (NothingBegan $nothing) {
        $database->unit(fn (Database $database) => $database->changed('release', $mine));
        return $nothing->answer;
    } catch (Throwable $error) {
        error_log((string) $error);
        $database->unit(fn (Database $database) => $database->changed('leave_pending', $mine + $unbound));
        return unfinished('30');
    }
    $kept = $database->unit(fn (Database $database) => $database->changed('complete', $mine + $unbound + [
        'state' => 'completed',
        'status' => $answer->status,
        'headers' => as_json($answer->headers),
        'body' => $answer->body,
        'resource_ids' => null,
        'retention' => 30 * 86400,
    ]));
    return $kept === 1 ? $answer : unfinished('30');
}

function unfinished(string $retry_after): Answer
{
    return new Answer(202, '{"state":"unfinished"}', [['Content-Type', 'application/json'], ['Retry-After', $retry_after]]);
}

function problem(int $status, string $code, string $detail): Answer
{
    $body = as_json(['status' => $status, 'code' => $code, 'detail' => $detail]);
    return new Answer($status, $body, [['Content-Type', 'application/problem+json']]);
}
