<?php

declare(strict_types=1);

/** The request certainly did not leave. */
final class NotSent extends RuntimeException
{
}

/**
 * The destination of this example: a file with one line for each charge, which outlives every process.
 *
 * `MISBEHAVE` makes it go wrong: `refuse` before anything happened, `lose` the answer, or `die` once the charge is made.
 */
function send_charge(string $order, string $amount, string $key): string
{
    $misbehave = getenv('MISBEHAVE') ?: '';
    if ($misbehave === 'refuse') {
        throw new NotSent('connection refused');
    }
    file_put_contents(getenv('CHARGES'), "$order $amount $key\n", FILE_APPEND | LOCK_EX);
    if ($misbehave === 'die') {
        posix_kill(getmypid(), 9);
    }
    if ($misbehave === 'lose') {
        throw new RuntimeException('timed out');
    }
    return "ch_$order";
}
