"""Digests of seeded results: a change that only moves code leaves every one as it is.

``python -m tests.test_golden`` writes them anew; a commit that does so says in the changelog which results changed.
Bits, counts and texts enter as they are; of real numbers, nine digits of the largest of their column do, since another
processor may add them in another order.  Frames enter by named columns and in the order of their labels, so that
columns may be added and rows sorted otherwise.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bosket as bk
from bosket import learning
from bosket.audit import breaches, poisoning

FILE = Path(__file__).parent / "golden" / "digests.json"
ITEMS = 40
KEPT = {size: [0.5 / size] * size + [0.5] if size else [1.0] for size in range(7)}
MEASURES = (
    "antecedent support, consequent support, support, confidence, lift, representativity, leverage, conviction, "
    "zhangs_metric, jaccard, certainty, kulczynski, count, cosine, all_confidence, max_confidence, imbalance, "
    "laplace, certainty_factor, added_value, klosgen, difference_of_confidence, relative_risk, importance, "
    "rule_power_factor, sebag, counterexample, confirmed_confidence, least_contradiction, casual_confidence, "
    "casual_support, ralambondrainy, implication_index, varying_liaison, correlation, chi_squared, "
    "standardized_residue, odds_ratio, yule_q, yule_y, kappa, collective_strength, rld, mutual_information, g2, "
    "uncertainty_coefficient, normalized_mutual_information, j_measure, gini, goodman_kruskal_lambda, fisher, "
    "hyper_confidence, hyper_lift"
)
"""Those that digests of rules are made of; one that is added to the catalogue changes none of them."""
MECHANISMS: dict[str, bk.Mechanism] = {
    "flip": bk.Flip(keep=0.9),
    "flip two ways": bk.Flip(keep=0.7, keep_absent=0.97),
    "flip by item": bk.Flip(keep={6: 0.8, 22: 0.7}, default=0.9, keep_absent={29: 0.99}),
    "select-a-size": bk.SelectASize(kept=KEPT, insert=0.05),
    "cut-and-paste": bk.CutAndPaste(cutoff=5, insert=0.03),
    "replace": bk.Replace(probability=0.2),
    "mixing": bk.Mixing(others=2, keep=0.7),
}
TABLES: dict[str, bk.Mechanism] = {
    "flip": bk.Flip(keep=0.8),
    "gamma-diagonal": bk.GammaDiagonal(gamma=19),
    "gamma-diagonal spread": bk.GammaDiagonal(gamma=19, spread=0.1),
    "replace": bk.Replace(probability=0.2),
}


def baskets() -> bk.Baskets:
    data = bk.quest(records=4000, items=ITEMS, patterns=30, mean_size=4, mean_pattern=2, seed=11)
    records = [sorted(item for item in record if isinstance(item, int))[:6] for record in data]
    return bk.Baskets(records, items=range(ITEMS))


def table() -> bk.Table:
    chance = np.random.default_rng(5)
    n = 3000
    a = chance.choice(3, n, p=[0.5, 0.3, 0.2])
    b = (a + chance.choice(2, n, p=[0.8, 0.2])) % 2
    c = np.where(chance.random(n) < 0.7, b, chance.choice(2, n))
    frame = pd.DataFrame({"a": a, "b": np.array(["no", "yes"])[b], "c": c.astype(bool)})
    return bk.Table.from_frame(frame, values={"a": [0, 1, 2], "b": ["no", "yes"], "c": [False, True]})


def digest(*parts: Any) -> str:
    """Of arrays, texts and numbers, in their order."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, list | str):
            total.update(json.dumps(part, sort_keys=True).encode())
            continue
        array = np.asarray(part)
        if array.dtype.kind == "f":
            total.update(_digits(array))
        elif array.dtype.kind in "iub":
            total.update(
                f"{array.shape}{array.astype(int if array.dtype.kind == 'i' else array.dtype).tolist()}".encode()
            )
        else:
            total.update(json.dumps(array.tolist(), sort_keys=True).encode())
    return total.hexdigest()[:16]


def _digits(array: np.ndarray[Any, Any]) -> bytes:
    finite = np.abs(array[np.isfinite(array)])
    unit = 10.0 ** (np.floor(np.log10(finite.max())) - 8) if finite.size and finite.max() > 0 else 1.0
    with np.errstate(invalid="ignore"):
        rounded = np.round(array / unit) + 0.0
    return f"{array.shape}{unit:.0e}{rounded.tolist()}".encode()


def columns(frame: pd.DataFrame, labels: Iterable[str], numbers: Iterable[str]) -> list[Any]:
    names = list(labels)
    keys = [tuple(sorted(map(str, frame[name].iloc[at])) for name in names) for at in range(len(frame))]
    order = sorted(range(len(frame)), key=keys.__getitem__)
    return [[list(keys[at]) for at in order], *(frame[name].to_numpy()[order] for name in numbers)]


def reports_of(data: bk.Baskets | bk.Table, mechanism: bk.Mechanism) -> bk.Reports:
    return mechanism.randomize(data, rng=bk.Seeded(2024), max_size=6 if isinstance(data, bk.Baskets) else None)


def searching(data: Any, min_support: float, adjust: str | None = "by") -> dict[str, str]:
    """What a search and its rules give."""
    found = bk.mine(data, min_support=min_support, max_size=4)
    estimated = ("support", "stderr", "low", "high", "observed")
    coins, sampling = whole(found.to_frame()), whole(found.to_frame(sampling=True, measures="all"))
    measured = [name for name in map(str, sampling) if name.startswith(("lift", "chi", "cosine"))]
    rules = found.rules(min_threshold=0.3, measures=MEASURES, sampling=True, adjust=adjust)
    sure = whole(found.rules(min_threshold=0.5, bias=True))
    sides = ("antecedents", "consequents")
    numbers = [name for name in map(str, rules) if rules[name].dtype.kind == "f"]
    return {
        "itemsets": digest(*columns(coins, ["itemsets"], ["size", *estimated])),
        "itemsets, sampling": digest(*columns(sampling, ["itemsets"], [*estimated, *measured])),
        "rules": digest(*columns(rules, sides, numbers)),
        "cautions": digest(*columns(rules, sides, ["caution"])),
        "rules, coins": digest(*columns(sure, sides, ["lift", "lift_stderr"])),
    }


def whole(frame: pd.DataFrame) -> pd.DataFrame:
    """With the errors of exact data, which their frame leaves out."""
    support = frame["support"]
    missing = {
        "stderr": 0.0 * support,
        "low": support,
        "high": support,
        "observed": support,
        "lift_stderr": 0.0 * support,
    }
    return frame.assign(**{name: column for name, column in missing.items() if name not in frame})


def naming(data: Any, itemsets: list[set[Any]]) -> dict[str, str]:
    """What is estimated of itemsets named in advance."""
    one, other = itemsets[0], itemsets[1] - itemsets[0]
    result: dict[str, str] = {}
    for sampling in (False, True):
        found = bk.estimate(data, itemsets, sampling=sampling)
        cross = bk.contingency(data, one, other, sampling=sampling)
        partial = bk.partial_supports(data, one, other, sampling=sampling)
        sure = bk.confidence(data, one, other, sampling=sampling)
        parts = {
            "estimate": (found.value, found.variance, found.covariance, found.least_variance, found.caution),
            "contingency": (cross.value, cross.covariance),
            "measures": [
                np.array([cross.measure(name).value, cross.measure(name).stderr]) for name in ("lift", "correlation")
            ],
            "partial": (partial.value, partial.stderr),
            "confidence": (sure.value, sure.interval()[0], sure.interval()[1]),
        }
        result |= {f"{name}, sampling {sampling}": digest(*values) for name, values in parts.items()}
    drawn = bk.contingency(data, one, other, sampling=True).bootstrap("lift", replicates=50, rng=bk.Seeded(3))
    return result | {"bootstrap": digest(drawn.values)}


def of_baskets(name: str) -> dict[str, str]:
    reports = reports_of(baskets(), MECHANISMS[name])
    card = reports.plan.guarantee.to_json()
    card.pop("accuracy")  # stated since; held to the law of reports in tests/contracts/test_accuracy.py
    return {
        "plan": reports.plan.digest,
        "card": digest(json.dumps(card, sort_keys=True, default=str)),
        "bits": digest(reports.bits.ravel()),
        "strata": digest([] if reports.strata is None else reports.strata),
        "poisoning": digest(poisoning(reports).select_dtypes("number").to_numpy(float).ravel()),
        **searching(reports, 0.04, None if MECHANISMS[name].needs_curator else "by"),
        **naming(reports, [{6, 22}, {29}, {6}, {6, 11, 25}]),
    }


def of_table(name: str) -> dict[str, str]:
    reports = reports_of(table(), TABLES[name])
    a, b, c = (reports.domain.labels[place] for place in (0, 3, 5))
    return {
        "plan": reports.plan.digest,
        "bits": digest(reports.bits.ravel()),
        **searching(reports, 0.05),
        **naming(reports, [{a, b}, {c}, {a}]),
    }


def of_questions() -> dict[str, str]:
    """Answers, and what they say without a law; the first two as they were before there was another channel."""
    data = table()
    merged = bk.Question(("a", "b"), (0, 1, 2, 2, 2, 2))
    designs = {"pairs": bk.Design.pairs(data.domain), "shares": bk.Design([merged, bk.Question(("c",))], [3, 1])}
    asks = {name: bk.Ask(design, gamma=19) for name, design in designs.items()}
    asks["hashed"] = bk.Ask(designs["pairs"], 19, "hashing")
    asks["some hashed"] = bk.Ask([["a", "b", "c"], ["b"]], gamma=2.5)
    results = {}
    for name, mechanism in asks.items():
        reports = reports_of(data, mechanism)
        found = bk.estimate(reports, [{"a=0", "b=no"}], model=None)
        results[f"{name}, plan"] = reports.plan.digest
        results[f"{name}, answers"] = digest(*(reports.batch[column] for column in sorted(reports.batch.columns)))
        results[f"{name}, estimate"] = digest(found.value, found.variance, found.least_variance)
    return results


def of_raw() -> dict[str, str]:
    return {
        **{f"baskets, {name}": value for name, value in searching(baskets(), 0.02).items()},
        **{f"table, {name}": value for name, value in searching(table(), 0.05).items()},
        **naming(baskets(), [{6, 22}, {29}, {6}, {6, 11, 25}]),
        "quest": digest(baskets().indptr, baskets().indices),
        "pairs": digest(
            *columns(bk.dependent_pairs(baskets()), ["antecedents", "consequents"], ["p_value", "p_adjusted"])
        ),
    }


def of_pairs() -> dict[str, str]:
    reports = reports_of(baskets(), MECHANISMS["flip"])
    frame = bk.dependent_pairs(reports)
    numbers = ["p_value", "p_adjusted", "correlation_at_least", "correlation", "g2"]
    return {"pairs": digest(*columns(frame, ["antecedents", "consequents"], numbers))}


def of_audits() -> dict[str, str]:
    data = baskets()
    found = breaches(data, reports_of(data, MECHANISMS["cut-and-paste"]), min_support=0.05, max_size=2)
    return {"breaches": digest(found.worst, found.summary().select_dtypes("number").to_numpy(float).ravel())}


def of_learning() -> dict[str, str]:
    data, results = table(), {}
    for name in ("flip", "gamma-diagonal"):
        both = learning.randomize_with_label(data, TABLES[name], rng=bk.Seeded(8))
        apart = learning.randomize_by_class(data, "c", TABLES[name], rng=bk.Seeded(8))
        for kind, reports in (("label too", both), ("by class", apart)):
            bayes = learning.ReconstructedNaiveBayes().fit(reports, label="c")
            tree = learning.ReconstructedTreeClassifier(random_state=0).fit(reports, label="c")
            raw = data.to_frame().drop(columns="c").head(50)
            results[f"{name}, {kind}"] = digest(bayes.predict_proba(raw), tree.predict_proba(raw))
    return results


def of_chance() -> dict[str, str]:
    rng = bk.Seeded(77)
    return {
        "integers": digest(rng.integers(1000, 200)),
        "multinomial": digest(rng.multinomial(1000, np.array([0.2, 0.3, 0.5]), 20)),
        "subsets": digest(rng.subsets(50, 3, 100)),
    }


CASES: dict[str, Callable[[], dict[str, str]]] = {
    **{f"baskets by {name}": lambda name=name: of_baskets(name) for name in MECHANISMS},  # type: ignore[misc]
    **{f"a table by {name}": lambda name=name: of_table(name) for name in TABLES},  # type: ignore[misc]
    "questions": of_questions,
    "raw data": of_raw,
    "dependent pairs": of_pairs,
    "audits": of_audits,
    "classifiers": of_learning,
    "chance": of_chance,
}


@pytest.mark.filterwarnings("ignore::bosket.InfluenceWarning")
@pytest.mark.parametrize("case", CASES)
def test_seeded_results_are_what_they_were(case: str) -> None:
    assert CASES[case]() == json.loads(FILE.read_text())[case]


def test_every_case_is_written_down() -> None:
    assert sorted(json.loads(FILE.read_text())) == sorted(CASES)


if __name__ == "__main__":
    warnings.simplefilter("ignore", bk.InfluenceWarning)
    FILE.write_text(json.dumps({name: case() for name, case in CASES.items()}, indent=1, sort_keys=True) + "\n")
