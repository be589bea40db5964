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
    for part in ("epsilon 1,", "one record more or less", "28.01%", "counts 0.85", "several records", "epsilons add"):
        assert part in card
    assert "one record in place of another" in guarantee(neighbours="replace").card()


def test_numbers_on_the_card_are_rounded_towards_less_privacy() -> None:
    card = guarantee(0.1234567).card()
    assert "epsilon 0.1235" in card
    assert guarantee(math.log(19), "replace").posterior(0.05) == pytest.approx(0.5)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_nobody_comes_to_believe_more_of_a_record_than_the_card_says(neighbours: str) -> None:
    """Known to be in one of two cells, in the first with 5%: both cells move.  The card had 12.52% here, for a record
    that may not be there at all, where 28% is reached.
    """
    epsilon, prior = 1.0, 0.05
    scale = (1 if neighbours == "add-remove" else 2) / epsilon  # of noise for counts that move by one, or by two in all

    def likely(seen: tuple[int, int], cells: tuple[int, int]) -> float:
        return math.exp(-sum(abs(one - other) for one, other in zip(seen, cells, strict=True)) / scale)

    outcomes = [(a, b) for a in range(-5, 7) for b in range(-5, 7)]
    reached = max(
        prior * likely(seen, (1, 0)) / (prior * likely(seen, (1, 0)) + (1 - prior) * likely(seen, (0, 1)))
        for seen in outcomes
    )
    assert guarantee(epsilon, neighbours).posterior(prior) == pytest.approx(reached)


def test_the_card_says_which_epsilon_beliefs_have() -> None:
    assert "(epsilon 2: one record in place of another)" in guarantee().card()
    assert "(epsilon" not in guarantee(neighbours="replace").card()
    of_persons = CentralGuarantee("counts", 0.7, "add-remove", max_records_per_person=3)
    assert "(epsilon 1.4: one person in place of another, with up to 3 records each)" in of_persons.card()
    assert of_persons.exchanged.epsilon == pytest.approx(1.4)
    beside_delta = "of what a record holds that is known to be there: epsilon 2, delta 3.719e-06"  # (1 + e) 1e-6
    assert beside_delta in CentralGuarantee("counts", 1.0, "add-remove", delta=1e-6).card()
    assert "known to be there" not in CentralGuarantee("counts", 1.0, "replace", delta=1e-6).card()
    assert "epsilon 2000, delta 1\n" in CentralGuarantee("counts", 1000.0, "add-remove", delta=1e-6).card()


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


def test_epsilons_of_other_neighbours_are_not_said_to_add() -> None:
    """A release for persons and one for records, or of the two relations: their sum bounds neither."""
    told = [line for line in guarantee().card().splitlines() if "other releases of the same records" in line]
    assert len(told) == 1
    assert told[0].endswith("epsilons add, and deltas too, if all are for the same neighbours")
