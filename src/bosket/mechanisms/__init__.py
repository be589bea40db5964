"""Ways to randomize records, each a channel with its inverse and its guarantee."""

from bosket.mechanisms.base import Channel, Mechanism, RecordChannel
from bosket.mechanisms.columns import Bits, Numbers
from bosket.mechanisms.exchangeable import ExchangeableChannel
from bosket.mechanisms.flip import Flip
from bosket.mechanisms.gamma_diagonal import GammaDiagonal
from bosket.mechanisms.identity import IdentityChannel
from bosket.mechanisms.matrix import Matrix
from bosket.mechanisms.mixing import Mixing
from bosket.mechanisms.payload import Batch, PackedBits, Payload
from bosket.mechanisms.questions.ask import Ask
from bosket.mechanisms.questions.baskets import AskBaskets
from bosket.mechanisms.questions.designs import Design, Question
from bosket.mechanisms.replace import Replace
from bosket.mechanisms.select_a_size import CutAndPaste, SelectASize

__all__ = [
    "Ask",
    "AskBaskets",
    "Batch",
    "Bits",
    "Channel",
    "CutAndPaste",
    "Design",
    "ExchangeableChannel",
    "Flip",
    "GammaDiagonal",
    "IdentityChannel",
    "Matrix",
    "Mechanism",
    "Mixing",
    "Numbers",
    "PackedBits",
    "Payload",
    "Question",
    "RecordChannel",
    "Replace",
    "SelectASize",
]
