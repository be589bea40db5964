"""A study from the side of those who answer: records are randomized here, and reports are sent."""

from bosket.client.client import Client
from bosket.client.memo import Memo
from bosket.client.tasks import Task
from bosket.client.transport import SendingInterrupted, ServiceError

__all__ = ["Client", "Memo", "SendingInterrupted", "ServiceError", "Task"]
