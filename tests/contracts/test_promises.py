"""No card promises more than is true, for any case; one that did would be caught, whichever line it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import bosket as bk
from tests.contracts.cases import CASES, CLEAR, ITEMS, TABLE, Case, Law, Population
from tests.contracts.promises import broken_promises


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_card_promises_more_than_is_true(case: Case) -> None:
    assert broken_promises(case) == []


def less(part: bk.Amplification) -> bk.Amplification:
    return bk.Amplification(0.99 * part.epsilon, part.unit)


@pytest.mark.parametrize("line", ["item", "record", "person"])
@pytest.mark.parametrize("domain", [ITEMS, TABLE], ids=["baskets", "table"])
@pytest.mark.parametrize("mechanism", [bk.Flip(0.9), bk.CutAndPaste(2, 0.2)], ids=str)
def test_a_line_that_promises_a_little_more_is_caught(
    mechanism: bk.Mechanism, domain: bk.Domain, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = type(mechanism).guarantee

    def guarantee(self: bk.Mechanism, *domain: Any, **told: Any) -> bk.LocalGuarantee:
        card = honest(self, *domain, **told)
        changed: dict[str, Any] = {line: less(getattr(card, line))}
        return replace(card, **changed)

    monkeypatch.setattr(type(mechanism), "guarantee", guarantee)
    assert {one.partition(",")[0].split()[0] for one in broken_promises(Case(mechanism, domain))} == {line}


CUT = [case for case in CASES if case.unit is not None]


class Leaky(Case):
    """A client that states the size of a record as it is, though the card says that it is randomized."""

    def law(self, record: int, population: Population) -> Law:
        assert self.unit is not None
        return Case(self.mechanism, self.domain, replace(self.unit, size_epsilon=None)).law(record, population)


@pytest.mark.parametrize("case", [case for case in CUT if case.unit != CLEAR], ids=str)
def test_sizes_that_are_sent_as_they_are_where_they_should_be_randomized_are_caught(case: Case) -> None:
    assert "record: epsilon" in broken_promises(Leaky(case.mechanism, case.domain, case.unit))[-2]


@pytest.mark.parametrize("case", [case for case in CUT if case.unit != CLEAR], ids=str)
def test_a_card_that_leaves_out_the_size_is_caught(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = bk.Plan.guarantee.func  # type: ignore[attr-defined]  # a cached property

    def guarantee(self: bk.Plan) -> bk.LocalGuarantee:
        card: bk.LocalGuarantee = honest(self)
        paid = self.unit.size_epsilon or 0.0
        return replace(card, record=bk.Amplification(card.record.epsilon - paid, card.record.unit))

    monkeypatch.setattr(bk.Plan, "guarantee", property(guarantee))
    assert any(line.startswith("record") for line in broken_promises(case))


@pytest.mark.parametrize("told", [{"max_size": 1}, {"reports": 1}], ids=str)
def test_a_card_that_is_not_about_what_was_asked_is_caught(
    told: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that takes all records for small ones, or all people for those who send one report."""
    honest = bk.Flip.guarantee
    monkeypatch.setattr(bk.Flip, "guarantee", lambda self, domain, **asked: honest(self, domain, **(asked | told)))
    assert broken_promises(Case(bk.Flip(0.9), ITEMS))
