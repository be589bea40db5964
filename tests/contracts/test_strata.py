"""Strata are labels that the channel alone understands: nobody else takes them for record sizes.

The channel here is cut-and-paste whose strata are 1003, 1013, 1023 and so on for records of 0, 1, 2 items.  Whatever
reads reports must give what it gives for cut-and-paste itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.audit import breaches, implausible, posterior
from bosket.counting.base import ItemsetRows, Words
from bosket.mechanisms.base import Cells, Floats, Strata
from bosket.mechanisms.payload import PackedBits, Payload
from bosket.mechanisms.select_channels import CutAndPasteChannel
from bosket.randomness import Randomness

ITEMS = list(range(12))
RAW = bk.Baskets([ITEMS[at % 7 : at % 7 + at % 4] for at in range(3000)], items=ITEMS)


class LabelledChannel(CutAndPasteChannel):
    """Cut-and-paste with other names for its strata."""

    @property
    def payload(self) -> Payload:
        return PackedBits(len(self.domain), 2000, "a label as its stratum")

    def record_size(self, stratum: int | None) -> int | None:
        return None if stratum is None else (stratum - 1003) // 10

    def stratum_of(self, size: int) -> int:
        return 1003 + 10 * super().stratum_of(size)

    def transition(self, itemset: tuple[int, ...], stratum: int | None = None) -> Floats:
        return super().transition(itemset, self.record_size(stratum))

    def check_strata(self, strata: Strata | None) -> None:
        assert strata is not None
        super().check_strata((strata - 1003) // 10)

    def randomize_bits(self, bits: Words, rng: Randomness) -> tuple[Words, Strata | None]:
        bits, sizes = super().randomize_bits(bits, rng)
        assert sizes is not None
        return bits, 1003 + 10 * sizes

    def weights(self, itemsets: ItemsetRows, stratum: int | None = None, cells: Cells | None = None) -> Floats:
        return super().weights(itemsets, self.record_size(stratum), cells)

    def least_variances(self, itemsets: ItemsetRows, stratum: int | None = None) -> Floats:
        return super().least_variances(itemsets, self.record_size(stratum))

    def log_moment(self, tilt: float, stratum: int | None = None, max_size: int | None = None) -> float | None:
        return super().log_moment(tilt, self.record_size(stratum), max_size)

    def recovers(self, k: int, strata: Iterable[int]) -> bool:
        return super().recovers(k, [size for stratum in strata if (size := self.record_size(stratum)) is not None])


class Labelled(bk.CutAndPaste):
    def channel(self, domain: bk.Domain) -> LabelledChannel:
        return LabelledChannel(domain, self)


def randomized(mechanism: bk.Mechanism) -> bk.Reports:
    return mechanism.randomize(RAW, max_size=4, rng=bk.Seeded(3))


PLAIN, LABELLED = randomized(bk.CutAndPaste(3, 0.1)), randomized(Labelled(3, 0.1))


def test_the_reports_differ_in_the_names_of_strata_alone() -> None:
    np.testing.assert_array_equal(PLAIN.bits, LABELLED.bits)
    assert PLAIN.strata is not None
    assert LABELLED.strata is not None
    assert LABELLED.strata.tolist() == (1003 + 10 * PLAIN.strata).tolist()
    for reports in (PLAIN, LABELLED):
        assert reports.record_sizes is not None
        assert reports.record_sizes.tolist() == RAW.sizes.tolist()
        nobody = reports[:0].record_sizes
        assert nobody is not None
        assert len(nobody) == 0
    assert bk.Flip(keep=0.9).randomize(RAW).record_sizes is None


def test_the_largest_record_of_the_plan_is_held_against_sizes() -> None:
    """A label of 1043 is no record of more than 4 items; one of 1053 is."""
    bits = np.zeros((1, 1), np.uint64)
    assert len(bk.Reports(LABELLED.plan, bits, strata=np.array([1043], np.int32), randomness="secure")) == 1
    with pytest.raises(bk.DataError, match="more items than the 4"):
        bk.Reports(LABELLED.plan, bits, strata=np.array([1053], np.int32), randomness="secure")


@pytest.mark.parametrize(
    "look",
    [
        lambda reports: posterior(reports, [1, 2], 1, record_size=2).value,
        lambda reports: breaches(RAW, reports, min_support=0.05, max_size=2).summary().to_json(),
        lambda reports: implausible(reports, level=0.5).tolist(),
        lambda reports: bk.mine(reports, min_support=0.05).to_frame()["stderr"].tolist(),
        lambda reports: bk.partial_supports(reports[reports.record_sizes == 3], [2, 3]).value.tolist(),
    ],
    ids=["posterior", "breaches", "implausible", "mine", "partial supports"],
)
def test_what_reads_reports_does_not_see_the_names(look: Any) -> None:
    assert look(LABELLED) == look(PLAIN)


def test_the_matrix_of_a_table_asks_for_the_stratum_of_its_records() -> None:
    domain = bk.TableDomain([bk.Attribute("v", ["x", "y"]), bk.Attribute("w", [0, 1, 2])])
    plain, labelled = (bk.Matrix.of(mechanism, domain) for mechanism in (bk.CutAndPaste(3, 0.1), Labelled(3, 0.1)))
    np.testing.assert_array_equal(labelled.entries, plain.entries)


def test_a_warning_names_the_size_and_not_the_stratum() -> None:
    unit = bk.PrivacyUnit(max_size=12)
    for mechanism, stratum in ((bk.CutAndPaste(3, 0.1), 12), (Labelled(3, 0.1), 1123)):
        plan = bk.Plan(RAW.domain, mechanism, unit)
        honest = plan.randomize(RAW, rng=bk.Seeded(1))
        long = bk.Reports(
            plan, np.full((1, 1), 7, np.uint64), strata=np.array([stratum], np.int32), randomness="secure"
        )
        with pytest.warns(bk.InfluenceWarning) as caught:
            bk.estimate(bk.Reports.concat([honest, *[long] * 3], allow_duplicates=True), [{0, 1, 2}])
        assert isinstance(caught[0].message, bk.InfluenceWarning)
        assert caught[0].message.record_size == 12
