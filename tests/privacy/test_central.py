"""The guarantee of a release: a value with a card."""

from __future__ import annotations

import json
import math
import pickle

import pytest

from bosket.errors import ParameterError
from bosket.privacy import CentralGuarantee


def guarantee(epsilon: float = 1.0, neighbours: str = "add-remove") -> CentralGuarantee:
    return CentralGuarantee("noisy counts", epsilon, neighbours, (("total", 0.02), ("counts", 0.85)))


def test_the_card_says_epsilon_unit_parts_and_what_is_not_covered() -> None:
    card = str(guarantee())
    for part in ("epsilon 1,", "one record more or less", "12.52%", "counts 0.85", "several records", "epsilons add"):
        assert part in card
    assert "one record in place of another" in guarantee(neighbours="replace").card()


def test_numbers_on_the_card_are_rounded_towards_less_privacy() -> None:
    card = guarantee(0.1234567).card()
    assert "epsilon 0.1235" in card
    assert guarantee(math.log(19)).posterior(0.05) == pytest.approx(0.5)


@pytest.mark.parametrize("epsilon", [0.5, 1000.0])
def test_json(epsilon: float) -> None:
    value = json.loads(json.dumps(guarantee(epsilon).to_json(), allow_nan=False))
    assert value["epsilon"] == epsilon
    assert value["unit"] == "one record more or less"
    assert value["parts"] == {"total": 0.02, "counts": 0.85}
    assert value["not_covered"]


def test_it_is_a_value() -> None:
    assert len({guarantee(), guarantee(), guarantee(2.0)}) == 2
    assert pickle.loads(pickle.dumps(guarantee())) == guarantee()


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"epsilon": math.nan}, {"neighbours": "some"}])
def test_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        guarantee(**wrong)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_person_is_the_unit_where_records_of_a_person_are_counted(delta: float) -> None:
    guarantee = CentralGuarantee("counts", 1.0, "add-remove", delta=delta, max_records_per_person=3)
    assert "  person  epsilon 1" in guarantee.card()
    assert guarantee.unit == "one person more or less, with up to 3 records"
    assert not any("several records" in what for what in guarantee.not_covered)
    value = guarantee.to_json()
    assert (value["protects"], value["max_records_per_person"]) == ("person", 3)
    assert "privacy for one person" in str(value["sentence"])
    with pytest.raises(ParameterError):
        CentralGuarantee("counts", 1.0, "add-remove", max_records_per_person=0)


def test_a_delta_next_to_nothing_can_be_said() -> None:
    """Its scale overflowed, after it was paid for; it is said as more than it is, never as less."""
    sentence = CentralGuarantee("noise", 1.0, "add-remove", (("all", 1.0),), delta=5e-324).sentence
    assert "1e-300" in sentence
