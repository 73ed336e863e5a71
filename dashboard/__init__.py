"""The place where people find, understand and repair operations that went wrong.

Host applications write each piece of work with an effect outside themselves - a charge, a shipment, a document - as
one **operation**: what was intended, the **expected effect**, and the events that followed. Retries and idempotency
settle most of them. What is left is an **exception**: nobody knows whether the effect exists, so neither doing it
again nor giving it up is safe.

An exception is settled in three steps, and each module here serves one of them:

1. *Find it.* `queries` reads the tables; every figure on a screen links to exactly the rows it counts.
2. *Prove it.* The effect is compared with the expectation, which gives a verdict: absent, correct, divergent or
   ambiguous. `domain` holds these rules, the states and the permitted transitions, as pure functions.
3. *Repair it.* An **action** with evidence passes through one choke point in `services`, which checks permission,
   writes the change and its audit entry together, or refuses and records the refusal.

Imports point down only: cli > app > web > services > queries > models > db > domain.
"""

__version__ = "0.1.0"
