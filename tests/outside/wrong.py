"""What is not a mechanism that the command line could use."""

from __future__ import annotations

from bosket.mechanisms import Flip, Mechanism

NUMBER = 3


class NotOne:
    """No mechanism at all."""


class Unfinished(Mechanism):
    """A mechanism that does not say its channel, nor what it promises."""

    name = "unfinished"


class Nameless(Flip):
    """A Flip that is not one: what it writes would be read as Flip."""
