"""What a guarantee is made of: a loss that is no number is refused at once, not by the card."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bosket as bk


@pytest.mark.parametrize("epsilon", [0, 0.0, 3, 1e308, math.inf, np.float64(2.5)])
def test_losses(epsilon: Any) -> None:
    assert bk.Amplification(epsilon, "any two records").epsilon == epsilon


@pytest.mark.parametrize("epsilon", [math.nan, -1e-9, -math.inf, "1", None, True, 1j])
def test_what_is_no_loss_is_refused(epsilon: Any) -> None:
    with pytest.raises(bk.ParameterError, match="'epsilon' parameter of Amplification must be a number") as caught:
        bk.Amplification(epsilon, "any two records")
    is_nan = isinstance(epsilon, float) and math.isnan(epsilon)
    assert (caught.value.hint is not None) == is_nan
