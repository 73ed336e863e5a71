<?php

/*
 * A shop on the command line:
 *
 *   php shop.php charge KEY BODY     what an endpoint does with a request: Idempotency-Key, JSON body
 *   php shop.php order ID AMOUNT     write an operation down
 *   php shop.php work                claim what is due, send it, record what became of it
 *
 * DSN, DB_USER and DB_PASSWORD name the database, CHARGES the file that plays the payment provider.
 */

declare(strict_types=1);

require_once __DIR__ . '/idempotency.php';
require_once __DIR__ . '/operations.php';
require_once __DIR__ . '/payments.php';

const TENANT = 'tienda-es';

/** The endpoint: check who asks and what for, then do it once. */
function charge(Database $database, string $key, string $body): Answer
{
    $scope = ['tenant' => TENANT, 'operation' => 'charge_order', 'key' => $key];
    return once($database, $scope, $body, function (mixed $order) use ($key): Answer {
        if (!is_string($order->order ?? null) || !is_string($order->amount ?? null)) {
            throw new NothingBegan(problem(400, 'order_invalid', 'Give order and amount, both as text.'));
        }
        try {
            $id = send_charge($order->order, $order->amount, $key);
        } catch (NotSent) {
            throw new NothingBegan(problem(503, 'payments_away', 'Nothing was charged: try again later.'));
        }
        return new Answer(201, as_json(['id' => $id]), [['Content-Type', 'application/json']]);
    });
}

/** In the transaction of your own INSERT of the order. */
function place_order(Database $database, string $id, string $amount): bool
{
    return $database->unit(fn (Database $database): bool => register($database, [
        'operation_id' => "charge-$id",
        'tenant' => TENANT,
        'type' => 'charge_order',
        'entity_type' => 'order',
        'entity_id' => $id,
        'destination' => 'payments',
        'expected' => ['order' => $id, 'amount' => $amount, 'currency' => 'EUR'],
        'amount' => $amount,
        'currency' => 'EUR',
    ]));
}

/** One round of a worker; nothing is sent inside a transaction. */
function work(Database $database): int
{
    $claimed = claim($database, 'charge_order', 'worker-' . gethostname() . '-' . getmypid());
    foreach ($claimed as $work) {
        try {
            $id = send_charge($work['entity_id'], $work['amount'], $work['idempotency_key']);
            confirm($database, $work, $id);
        } catch (NotSent $error) {
            retry($database, $work, 'not_sent', $error->getMessage());
        } catch (RuntimeException $error) {
            await($database, $work, $error->getMessage());
        }
    }
    return count($claimed);
}

[, $command, $first, $second] = $argv + [1 => '', 2 => '', 3 => ''];
$database = Database::connect(getenv('DSN'), getenv('DB_USER') ?: null, getenv('DB_PASSWORD') ?: null);
echo as_json(match ($command) {
    'charge' => charge($database, $first, $second),
    'order' => ['new' => place_order($database, $first, $second)],
    'work' => ['claimed' => work($database)],
    default => throw new InvalidArgumentException('charge KEY BODY, order ID AMOUNT, or work'),
}), "\n";
