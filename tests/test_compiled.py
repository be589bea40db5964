"""Kernels compile with or without a place to keep them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import pytest

from bosket import compiled


def test_kernels_compile_where_nothing_can_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """As numba behaves when neither the package's folder nor the user's cache can be written to."""
    tried: list[bool] = []

    def njit(*, nogil: bool, cache: bool = False) -> Callable[..., Any]:
        tried.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available for file")
        decorator: Callable[..., Any] = numba.njit(nogil=nogil)
        return decorator

    monkeypatch.setattr(compiled, "njit", njit)

    @compiled.compiled
    def double(x: int) -> int:
        return 2 * x

    assert double(21) == 42
    assert tried == [True, False]
