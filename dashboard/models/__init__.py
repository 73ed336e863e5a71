"""The tables, without behaviour."""

from dashboard.models.actions import Action, Approval
from dashboard.models.alerts import (
    Alert,
    AlertEvaluation,
    AlertGroup,
    AlertNotice,
    AlertNoticeAlert,
    AlertSilence,
    Heartbeat,
)
from dashboard.models.audit import AuditCheck, AuditEntry, AuditHead
from dashboard.models.bulk import BulkGroup, BulkPlan, BulkRow, BulkVote
from dashboard.models.idempotency import IdempotencyConflict, IdempotencyRecord
from dashboard.models.open_work import OpenSnapshot
from dashboard.models.operations import Operation, OperationEvent, OperationPayload
from dashboard.models.outbox import AwaySink, OutboxDecision, OutboxMessage
from dashboard.models.reconciliation import (
    DestinationBudget,
    EvidenceItem,
    PolicyVersion,
    ReconciliationFinding,
    ReconciliationRun,
)
from dashboard.models.record import Record
from dashboard.models.reveals import Reveal
from dashboard.models.rollups import OperationFact, RollupDay, RollupDelta, RollupHistogram, RollupState
from dashboard.models.tokens import ApiToken
from dashboard.models.users import Identity, User, UserGrant, UserSession

__all__ = [
    "Action",
    "Alert",
    "AlertEvaluation",
    "AlertGroup",
    "AlertNotice",
    "AlertNoticeAlert",
    "AlertSilence",
    "ApiToken",
    "Approval",
    "AuditCheck",
    "AuditEntry",
    "AuditHead",
    "AwaySink",
    "BulkGroup",
    "BulkPlan",
    "BulkRow",
    "BulkVote",
    "DestinationBudget",
    "EvidenceItem",
    "Heartbeat",
    "IdempotencyConflict",
    "IdempotencyRecord",
    "Identity",
    "OpenSnapshot",
    "Operation",
    "OperationEvent",
    "OperationFact",
    "OperationPayload",
    "OutboxDecision",
    "OutboxMessage",
    "PolicyVersion",
    "ReconciliationFinding",
    "ReconciliationRun",
    "Record",
    "Reveal",
    "RollupDay",
    "RollupDelta",
    "RollupHistogram",
    "RollupState",
    "User",
    "UserGrant",
    "UserSession",
]
