"""Settings shared by all tests."""

from __future__ import annotations

import gc
import signal

from hypothesis import settings

from bosket.compiling import announcer
from bosket.disk import budget
from tests import chance
from tests.chance import pytest_fixture_setup, pytest_runtest_protocol

__all__ = ["pytest_fixture_setup", "pytest_runtest_protocol"]

chance.install()
# a worker of the tests keeps what earlier tests left to it: for what memory is left to data it is a new program, always
budget.resident = lambda: 160 << 20
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it to what runs in its background
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as nohup leaves it
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
announcer.said = True  # kernels compile on first use: no test should find a line about that in what it captures


def pytest_configure() -> None:
    """Collecting makes hundreds of thousands of objects that all stay: looking for garbage among them is of no use."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


# Kernels compile on first use, so no deadline; fixed examples, so that a commit's verdict does not depend on luck.
# `make slow` runs every test of a property again, under "thorough".
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=10)
settings.register_profile("thorough", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("nightly", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("quick")
