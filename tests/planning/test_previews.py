"""What a design will see, by hand."""

from __future__ import annotations

import numpy as np
import pytest

import bosket as bk
from bosket.planning import preview

DOMAIN = bk.TableDomain([bk.Attribute(name, range(size)) for name, size in (("a", 3), ("b", 2), ("c", 4))])


def test_numbers_of_two_yes_no_questions_by_hand() -> None:
    domain = bk.TableDomain([bk.Attribute("a", range(2)), bk.Attribute("b", range(2))])
    found = preview(bk.Design.pairs(domain), domain, gamma=19)
    assert (found.n_questions, found.widest, found.n_answers, found.pairs) == (1, 2, 4, (1, 1))
    assert found.true_least == found.true_mean == pytest.approx(19 / 22)
    assert found.guarantee.posterior(0.05) == pytest.approx(0.5)
    kappa, b = 18 / 22, 1 / 22
    errors = {one.size: one.stderr(1000) for one in found.guarantee.accuracy}
    everybody = (b + kappa) * (1 - b - kappa)
    assert errors[2][0] == pytest.approx(np.sqrt(min(b * (1 - b), everybody) / 1000) / kappa)
    assert 3 not in errors


def test_true_answers_are_counted_by_people() -> None:
    design = bk.Design([["a", "c"], ["b"]], shares=[1, 3])
    found = preview(design, DOMAIN, gamma=9)
    assert found.n_answers == 12
    assert found.true_least == pytest.approx(9 / 20)
    assert found.true_mean == pytest.approx((9 / 20 + 3 * 9 / 10) / 4)


def test_pairs_that_nobody_is_asked_about_are_missing() -> None:
    assert preview(bk.Design([["a", "b"]]), DOMAIN, gamma=9).pairs == (1, 3)
    assert preview(bk.Design([["a"], ["b"]]), DOMAIN, gamma=9).pairs == (0, 3)
    assert preview(bk.Design.triples(DOMAIN), DOMAIN, gamma=9).pairs == (3, 3)


def test_merged_combinations_are_one_answer() -> None:
    found = preview(bk.Design([bk.Question(("a",), (0, 1, 1))]), DOMAIN, gamma=9)
    assert (found.n_answers, found.widest) == (2, 1)
    assert found.true_mean == pytest.approx(0.9)
