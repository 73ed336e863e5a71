"""The outbox table itself as a sink: hosts poll it with these statements, and the relay leaves it alone.

One poller a sink: two would take the same messages. `TAKE` gives the oldest unpublished message of each key, so that
order per key holds; `DONE` marks one that was handled, whether by its id or, after a crash, once more.
"""

TAKE = """
SELECT m.id, m.message_id, m.tenant, m.type, m.topic, m.aggregate_key, m.payload, m.created_at
FROM outbox_messages m
WHERE m.is_open = 1 AND m.sink = :sink
  AND NOT EXISTS (
    SELECT 1 FROM outbox_messages earlier
    WHERE earlier.sink = m.sink AND earlier.aggregate_key = m.aggregate_key
      AND earlier.state IN ('pending', 'dead') AND earlier.id < m.id)
ORDER BY m.id LIMIT 100
"""

DONE = """
UPDATE outbox_messages SET state = 'published', published_at = :now
WHERE message_id = :message_id AND state = 'pending'
"""
