"""Measures of whole itemsets in the frame, against tables named one by one."""

from __future__ import annotations

import numpy as np
import pytest

import bosket as bk
from bosket.measures.many import MANY_WAY

BASKETS = bk.quest(records=8000, mean_size=5, mean_pattern=3, items=9, patterns=6, seed=3)
MECHANISMS = [bk.Flip(keep=0.9), bk.CutAndPaste(cutoff=6, insert=0.1), bk.Mixing(others=1, keep=0.9), None]


@pytest.mark.slow
@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_they_are_those_of_the_table_of_single_items(mechanism: bk.Mechanism | None, sampling: bool) -> None:
    data = BASKETS if mechanism is None else mechanism.randomize(BASKETS, rng=bk.Seeded(2))
    frame = bk.mine(data, min_support=0.05, max_size=4).to_frame(measures=MANY_WAY, sampling=sampling)
    assert set(frame["size"]) >= {1, 2, 3}
    assert frame.loc[frame["size"] == 1, "chi_squared"].isna().all()
    for _, row in frame[frame["size"] > 2].iloc[::9].iterrows():
        table = bk.contingency(data, *({item} for item in row["itemsets"]), sampling=sampling)
        for name in MANY_WAY:
            estimate = table.measure(name)
            expected = [estimate.value, estimate.stderr, estimate.low, estimate.high]
            parts = ("", "_stderr", "_low", "_high") if mechanism is not None or sampling else ("",)
            ours = [row[name + part] for part in parts]
            np.testing.assert_allclose(ours, expected[: len(parts)], rtol=1e-6, atol=1e-9)
            assert (f"{name}_stderr" in frame) == (len(parts) == 4)
            if mechanism is not None or sampling:
                assert (name in row["measure_caution"]) == (not estimate.is_trusted)


def test_pairs_are_the_measures_of_rules() -> None:
    """Values and errors; the scale of jaccard's interval alone differs."""
    data = bk.Flip(keep=0.9).randomize(BASKETS, rng=bk.Seeded(2))
    found = bk.mine(data, min_support=0.05, max_size=2)
    frame = found.to_frame(measures=["interest", "PS", "IS", "chi-squared", "jaccard"]).set_index("itemsets")
    rules = found.rules(metric="support", min_threshold=0, measures=list(MANY_WAY))
    assert len(rules) > 20
    for row in rules.to_dict("records"):
        pair = frame.loc[[row["antecedents"] | row["consequents"]]].iloc[0]
        for name in MANY_WAY:
            assert pair[name] == pytest.approx(row[name])
            assert pair[f"{name}_stderr"] == pytest.approx(row[f"{name}_stderr"], rel=1e-6)


def test_only_these_measures_have_a_table_of_many() -> None:
    with pytest.raises(bk.ParameterError, match="chi_squared, lift") as caught:
        bk.mine(BASKETS, min_support=0.1).to_frame(measures=["confidence"])
    assert caught.value.parameter == "measures"
    assert "lift" in bk.mine(BASKETS, min_support=0.1).to_frame(measures="lift")
    assert "lift" in bk.mine(BASKETS, min_support=1.0).to_frame(measures=["lift"])


@pytest.mark.parametrize("sampling", [True, False])
def test_noise_alone_is_no_dependence(sampling: bool) -> None:
    """Chi-square of five independent items is 26 on average, its truth 0: never without a caution."""
    rng = np.random.default_rng(3)
    for keep in (1.0, 0.95):
        has = rng.random((5000, 5)) < 0.4
        baskets = bk.Baskets([np.flatnonzero(row).tolist() for row in has], items=range(5))
        reports = bk.Flip(keep=keep).randomize(baskets, rng=bk.Seeded(1))
        frame = bk.mine(reports, min_support=0.001, slack=9).to_frame(measures=["chi_squared"], sampling=sampling)
        large = frame[frame["size"] >= 4]
        assert len(large) > 2
        if sampling or keep < 1:
            assert (large["measure_caution"] == "chi_squared").all()
            table = bk.contingency(reports, {0}, {1}, {2}, {3}, {4}, sampling=sampling)
            assert not table.measure("chi_squared").is_trusted
