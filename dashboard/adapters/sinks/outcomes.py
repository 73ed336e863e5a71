"""Why a message was not taken: because of the message, because of the sink, or for no clear reason."""

from datetime import timedelta


class PublishError(Exception):
    """The message was not taken; `reason` is kept and shown, so it holds no secret."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class MessageRefusedError(PublishError):
    """It will never be taken as it is: another try would end the same way."""


class NotTakenError(PublishError):
    """It was not taken this time, or nobody knows; it is tried again until its claims are used up."""


class SinkAwayError(PublishError):
    """The sink takes no message at all at the moment, so this one is not to blame."""

    def __init__(self, reason: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
