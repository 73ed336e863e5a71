<?php

declare(strict_types=1);

// The statements of docs/integrate-sql.md, to the letter: [engine][name]. A test compares them.
return [
    'pgsql' => [
        'reserve' => <<<'SQL'
            INSERT INTO idempotency_records
                (tenant, operation, key, fingerprint, fingerprint_version, field_digests, state, owner_token, lease_until,
                 correlation_id, operation_id, created_at, updated_at)
            VALUES
                (:tenant, :operation, :key, :fingerprint, 1, :field_digests, 'processing', :token, statement_timestamp() + :lease * INTERVAL '1 second',
                 :correlation_id, :operation_id, statement_timestamp(), statement_timestamp())
            ON CONFLICT (tenant, operation, key) DO NOTHING
            SQL,
        'read' => <<<'SQL'
            SELECT id, owner_token, fingerprint_version, fingerprint, field_digests, state, response_status, response_headers,
                   response_body, resource_ids, external_reference, operation_id, conflict_count,
                   lease_until > statement_timestamp() AS in_work,
                   COALESCE(expires_at <= statement_timestamp(), FALSE) AS expired
              FROM idempotency_records
             WHERE tenant = :tenant AND operation = :operation AND key = :key
               FOR UPDATE
            SQL,
        'replayed' => <<<'SQL'
            UPDATE idempotency_records SET replay_count = replay_count + 1 WHERE id = :id
            SQL,
        'conflicted' => <<<'SQL'
            UPDATE idempotency_records
               SET conflict_count = conflict_count + 1, last_conflict_at = statement_timestamp()
             WHERE id = :id
            SQL,
        'note_conflict' => <<<'SQL'
            INSERT INTO idempotency_conflicts (record_id, at, fingerprint, fields, actor_id, correlation_id)
            VALUES (:id, statement_timestamp(), :fingerprint, :fields, :actor_id, :correlation_id)
            SQL,
        'lapse' => <<<'SQL'
            UPDATE idempotency_records
               SET state = 'pending', updated_at = statement_timestamp()
             WHERE id = :id AND state = 'processing' AND lease_until <= statement_timestamp()
            SQL,
        'complete' => <<<'SQL'
            UPDATE idempotency_records
               SET state = :state, owner_token = NULL, response_status = :status, response_headers = :headers, response_body = :body,
                   resource_ids = :resource_ids, external_reference = COALESCE(:external_reference, external_reference),
                   operation_id = COALESCE(:operation_id, operation_id),
                   completed_at = statement_timestamp(), updated_at = statement_timestamp(), expires_at = statement_timestamp() + :retention * INTERVAL '1 second'
             WHERE id = :id AND owner_token = :token AND state IN ('processing', 'pending')
            SQL,
        'leave_pending' => <<<'SQL'
            UPDATE idempotency_records
               SET state = 'pending', owner_token = NULL, updated_at = statement_timestamp(),
                   external_reference = COALESCE(:external_reference, external_reference),
                   operation_id = COALESCE(:operation_id, operation_id)
             WHERE id = :id AND owner_token = :token AND state IN ('processing', 'pending')
            SQL,
        'release' => <<<'SQL'
            DELETE FROM idempotency_records
             WHERE id = :id AND owner_token = :token AND state IN ('processing', 'pending')
            SQL,
        'register' => <<<'SQL'
            INSERT INTO operations
                (operation_id, tenant, type, entity_type, entity_id, expected_version, fingerprint, expected, destination, state,
                 next_attempt_at, deadline_at, idempotency_key, correlation_id, amount, currency, created_at, state_since, updated_at)
            VALUES
                (:operation_id, :tenant, :type, :entity_type, :entity_id, :expected_version, :fingerprint, :expected, :destination, 'pending',
                 statement_timestamp(), statement_timestamp() + :deadline * INTERVAL '1 second', :idempotency_key, :correlation_id, :amount, :currency,
                 statement_timestamp(), statement_timestamp(), statement_timestamp())
            ON CONFLICT (operation_id) DO NOTHING
            SQL,
        'registered_event' => <<<'SQL'
            INSERT INTO operation_events (operation_id, seq, at, kind, to_state, actor_kind, actor_id)
            SELECT id, 1, created_at, 'transition', 'pending', 'api', CAST(:actor_id AS text) FROM operations WHERE operation_id = :operation_id
            SQL,
        'outbox' => <<<'SQL'
            INSERT INTO outbox_messages
                (message_id, tenant, type, sink, topic, aggregate_key, operation_id, payload, state, next_attempt_at, created_at)
            SELECT CAST(:message_id AS text), tenant, type, CAST(:sink AS text), CAST(:topic AS text), CAST(:aggregate_key AS text), id, CAST(:payload AS text), 'pending',
                   statement_timestamp(), statement_timestamp()
              FROM operations WHERE operation_id = :operation_id
            SQL,
        'registered' => <<<'SQL'
            SELECT id, tenant, type, entity_type, entity_id, expected_version, fingerprint, destination, amount, currency
              FROM operations WHERE operation_id = :operation_id
               FOR UPDATE
            SQL,
        'due' => <<<'SQL'
            SELECT id, operation_id, tenant, entity_type, entity_id, expected_version, expected, destination, state, revision, attempts,
                   COALESCE(idempotency_key, operation_id) AS idempotency_key, amount, currency, parent_id
              FROM operations
             WHERE is_open = 1 AND state IN ('pending', 'retry_scheduled') AND type = :type
               AND next_attempt_at <= statement_timestamp() AND (lease_until IS NULL OR lease_until <= statement_timestamp())
             ORDER BY next_attempt_at, id
             LIMIT 20
               FOR UPDATE SKIP LOCKED
            SQL,
        'claim' => <<<'SQL'
            UPDATE operations
               SET state = 'processing', attempts = attempts + 1, revision = revision + 1, lease_token = :token,
                   lease_until = statement_timestamp() + :lease * INTERVAL '1 second', next_attempt_at = NULL,
                   state_since = statement_timestamp(), updated_at = statement_timestamp()
             WHERE id = :id AND state = :from_state AND revision = :revision
            SQL,
        'heartbeat' => <<<'SQL'
            UPDATE operations SET lease_until = statement_timestamp() + :lease * INTERVAL '1 second'
             WHERE id = :id AND lease_token = :token AND state = 'processing'
            SQL,
        'confirm' => <<<'SQL'
            UPDATE operations
               SET state = 'confirmed', revision = revision + 1, lease_token = NULL, lease_until = NULL, next_attempt_at = NULL,
                   remote_id = COALESCE(:remote_id, remote_id), confirmed_at = statement_timestamp(),
                   state_since = statement_timestamp(), updated_at = statement_timestamp()
             WHERE id = :id AND lease_token = :token AND state = 'processing'
               AND parent_id IS NULL
               AND NOT EXISTS (SELECT 1 FROM actions WHERE actions.operation_id = operations.id AND actions.outcome = 'to_verify')
            SQL,
        'await' => <<<'SQL'
            UPDATE operations
               SET state = 'awaiting_confirmation', revision = revision + 1, lease_token = NULL, lease_until = NULL, cause = 'sent_unknown',
                   remote_id = COALESCE(:remote_id, remote_id), next_attempt_at = statement_timestamp() + :window * INTERVAL '1 second',
                   state_since = statement_timestamp(), updated_at = statement_timestamp()
             WHERE id = :id AND lease_token = :token AND state = 'processing'
            SQL,
        'retry' => <<<'SQL'
            UPDATE operations
               SET state = 'retry_scheduled', revision = revision + 1, lease_token = NULL, lease_until = NULL, cause = :cause,
                   next_attempt_at = statement_timestamp() + :delay * INTERVAL '1 second',
                   state_since = statement_timestamp(), updated_at = statement_timestamp()
             WHERE id = :id AND lease_token = :token AND state = 'processing' AND attempts < :max_attempts
            SQL,
        'review' => <<<'SQL'
            UPDATE operations
               SET state = 'manual_review', revision = revision + 1, lease_token = NULL, lease_until = NULL, cause = :cause,
                   next_attempt_at = NULL,
                   state_since = statement_timestamp(), updated_at = statement_timestamp()
             WHERE id = :id AND lease_token = :token AND state = 'processing'
            SQL,
        'event' => <<<'SQL'
            INSERT INTO operation_events
                (operation_id, seq, at, kind, from_state, to_state, actor_kind, actor_id, cause, reason, evidence)
            SELECT o.id, (SELECT COALESCE(MAX(e.seq), 0) + 1 FROM operation_events e WHERE e.operation_id = o.id), o.state_since,
                   'transition', CAST(:from_state AS text), o.state, 'worker', CAST(:actor_id AS text), CAST(:cause AS text), CAST(:reason AS text), CAST(:evidence AS json)
              FROM operations o WHERE o.id = :id
            SQL,
    ],
    'mysql' => [
        'reserve' => <<<'SQL'
            INSERT INTO idempotency_records
                (tenant, operation, `key`, fingerprint, fingerprint_version, field_digests, state, owner_token, lease_until,
                 correlation_id, operation_id, created_at, updated_at)
            VALUES
                (:tenant, :operation, :key, :fingerprint, 1, :field_digests, 'processing', :token, UTC_TIMESTAMP(6) + INTERVAL :lease SECOND,
                 :correlation_id, :operation_id, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))
            SQL,
        'read' => <<<'SQL'
            SELECT id, owner_token, fingerprint_version, fingerprint, field_digests, state, response_status, response_headers,
                   response_body, resource_ids, external_reference, operation_id, conflict_count,
                   lease_until > UTC_TIMESTAMP(6) AS in_work,
                   COALESCE(expires_at <= UTC_TIMESTAMP(6), FALSE) AS expired
              FROM idempotency_records
             WHERE tenant = :tenant AND operation = :operation AND `key` = :key
               FOR UPDATE
            SQL,
        'replayed' => <<<'SQL'
            UPDATE idempotency_records SET replay_count = replay_count + 1 WHERE id = :id
            SQL,
        'conflicted' => <<<'SQL'
            UPDATE idempotency_records
               SET conflict_count = conflict_count + 1, last_conflict_at = UTC_TIMESTAMP(6)
             WHERE id = :id
            SQL,
        'note_conflict' => <<<'SQL'
            INSERT INTO idempotency_conflicts (record_id, at, fingerprint, fields, actor_id, correlation_id)
            VALUES (:id, UTC_TIMESTAMP(6), :fingerprint, :fields, :actor_id, :correlation_id)
            SQL,
        'lapse' => <<<'SQL'
            UPDATE idempotency_records
               SET state = 'pending', updated_at = UTC_TIMESTAMP(6)
             WHERE id = :id AND state = 'processing' AND lease_until <= UTC_TIMESTAMP(6)
            SQL,
        'complete' => <<<'SQL'
            UPDATE idempotency_records
               SET state = :state, owner_token = NULL, response_status = :status, response_headers = :headers, response_body = :body,
                   resource_ids = :resource_ids, external_reference = COALESCE(:external_reference, external_reference),
                   operation_id = COALESCE(:operation_id, operation_id),
                   completed_at = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6), expires_at = UTC_TIMESTAMP(6) + INTERVAL :retention SECOND
             WHERE id = :id AND owner_token = :token AND state IN ('processing', 'pending')
            SQL,
        'leave_pending' => <<<'SQL'
            UPDATE idempotency_records
               SET state = 'pending', owner_token = NULL, updated_at = UTC_TIMESTAMP(6),
                   external_reference = COALESCE(:external_reference, external_reference),
                   operation_id = COALESCE(:operation_id, operation_id)
             WHERE id = :id AND owner_token = :token AND state IN ('processing', 'pending')
            SQL,
        'release' => <<<'SQL'
            DELETE FROM idempotency_records
             WHERE id = :id AND owner_token = :token AND state IN ('processing', 'pending')
            SQL,
        'register' => <<<'SQL'
            INSERT INTO operations
                (operation_id, tenant, type, entity_type, entity_id, expected_version, fingerprint, expected, destination, state,
                 next_attempt_at, deadline_at, idempotency_key, correlation_id, amount, currency, created_at, state_since, updated_at)
            VALUES
                (:operation_id, :tenant, :type, :entity_type, :entity_id, :expected_version, :fingerprint, :expected, :destination, 'pending',
                 UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL :deadline SECOND, :idempotency_key, :correlation_id, :amount, :currency,
                 UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))
            SQL,
        'registered_event' => <<<'SQL'
            INSERT INTO operation_events (operation_id, seq, at, kind, to_state, actor_kind, actor_id)
            SELECT id, 1, created_at, 'transition', 'pending', 'api', :actor_id FROM operations WHERE operation_id = :operation_id
            SQL,
        'outbox' => <<<'SQL'
            INSERT INTO outbox_messages
                (message_id, tenant, type, sink, topic, aggregate_key, operation_id, payload, state, next_attempt_at, created_at)
            SELECT :message_id, tenant, type, :sink, :topic, :aggregate_key, id, :payload, 'pending',
                   UTC_TIMESTAMP(6), UTC_TIMESTAMP(6)
              FROM operations WHERE operation_id = :operation_id
            SQL,
        'registered' => <<<'SQL'
            SELECT id, tenant, type, entity_type, entity_id, expected_version, fingerprint, destination, amount, currency
              FROM operations WHERE operation_id = :operation_id
               FOR UPDATE
            SQL,
        'due' => <<<'SQL'
            SELECT id, operation_id, tenant, entity_type, entity_id, expected_version, expected, destination, state, revision, attempts,
                   COALESCE(idempotency_key, operation_id) AS idempotency_key, amount, currency, parent_id
              FROM operations
             WHERE is_open = 1 AND state IN ('pending', 'retry_scheduled') AND type = :type
               AND next_attempt_at <= UTC_TIMESTAMP(6) AND (lease_until IS NULL OR lease_until <= UTC_TIMESTAMP(6))
             ORDER BY next_attempt_at, id
             LIMIT 20
               FOR UPDATE SKIP LOCKED
            SQL,
        'claim' => <<<'SQL'
            UPDATE operations
               SET state = 'processing', attempts = attempts + 1, revision = revision + 1, lease_token = :token,
                   lease_until = UTC_TIMESTAMP(6) + INTERVAL :lease SECOND, next_attempt_at = NULL,
                   state_since = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6)
             WHERE id = :id AND state = :from_state AND revision = :revision
            SQL,
        'heartbeat' => <<<'SQL'
            UPDATE operations SET lease_until = UTC_TIMESTAMP(6) + INTERVAL :lease SECOND
             WHERE id = :id AND lease_token = :token AND state = 'processing'
            SQL,
        'confirm' => <<<'SQL'
            UPDATE operations
               SET state = 'confirmed', revision = revision + 1, lease_token = NULL, lease_until = NULL, next_attempt_at = NULL,
                   remote_id = COALESCE(:remote_id, remote_id), confirmed_at = UTC_TIMESTAMP(6),
                   state_since = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6)
             WHERE id = :id AND lease_token = :token AND state = 'processing'
               AND parent_id IS NULL
               AND NOT EXISTS (SELECT 1 FROM actions WHERE actions.operation_id = operations.id AND actions.outcome = 'to_verify')
            SQL,
        'await' => <<<'SQL'
            UPDATE operations
               SET state = 'awaiting_confirmation', revision = revision + 1, lease_token = NULL, lease_until = NULL, cause = 'sent_unknown',
                   remote_id = COALESCE(:remote_id, remote_id), next_attempt_at = UTC_TIMESTAMP(6) + INTERVAL :window SECOND,
                   state_since = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6)
             WHERE id = :id AND lease_token = :token AND state = 'processing'
            SQL,
        'retry' => <<<'SQL'
            UPDATE operations
               SET state = 'retry_scheduled', revision = revision + 1, lease_token = NULL, lease_until = NULL, cause = :cause,
                   next_attempt_at = UTC_TIMESTAMP(6) + INTERVAL :delay SECOND,
                   state_since = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6)
             WHERE id = :id AND lease_token = :token AND state = 'processing' AND attempts < :max_attempts
            SQL,
        'review' => <<<'SQL'
            UPDATE operations
               SET state = 'manual_review', revision = revision + 1, lease_token = NULL, lease_until = NULL, cause = :cause,
                   next_attempt_at = NULL,
                   state_since = UTC_TIMESTAMP(6), updated_at = UTC_TIMESTAMP(6)
             WHERE id = :id AND lease_token = :token AND state = 'processing'
            SQL,
        'event' => <<<'SQL'
            INSERT INTO operation_events
                (operation_id, seq, at, kind, from_state, to_state, actor_kind, actor_id, cause, reason, evidence)
            SELECT o.id, (SELECT COALESCE(MAX(e.seq), 0) + 1 FROM operation_events e WHERE e.operation_id = o.id), o.state_since,
                   'transition', :from_state, o.state, 'worker', :actor_id, :cause, :reason, :evidence
              FROM operations o WHERE o.id = :id
            SQL,
    ],
];
