"""The audit of an estimator: studies under the plan, again and again, against the truth that they were made from.

Three claims are tested for every itemset, over S studies of the same people with fresh coins:

    bias       the mean of the estimates is the truth: Student's t with S - 1 degrees
    spread     the variance of the estimates is the mean of those that are stated: chi-square with S - 1 degrees
    coverage   intervals of 95% hold the truth in 95% of the studies or more: binomial

Estimates from thousands of people are near normal, so the stated rates of false alarm are near the true ones; those of
coverage are a little generous (half a percent), as intervals are normal ones too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable
from itertools import combinations

import numpy as np
from scipy import stats

from bosket.audit.clients.pairs import sizes_of
from bosket.audit.clients.paths import records_of
from bosket.audit.possible import question_shares
from bosket.audit.verdicts import ACQUITTED, CONVICTED, NOT_LOOKED, Finding, Verdict
from bosket.checks import check_between, check_integer
from bosket.counting.bitmaps import Bitmaps
from bosket.data import Baskets, Table, TableDomain
from bosket.errors import BosketError
from bosket.mining import estimate
from bosket.plan import Plan
from bosket.randomness import Randomness, Seeded, check_randomness
from bosket.reports import Reports
from bosket.statistics.estimates import Estimates, Floats

Respond = Callable[[Baskets | Table], Reports]
ReportReader = Callable[[Reports, list[tuple[Hashable, ...]]], Estimates]

LEVEL = 0.95
_SLACK = 0.005  # of coverage: intervals are normal, estimates nearly so
_LARGEST = 3  # items of itemsets
_EACH = 8  # itemsets of each size
_KINDS = 40  # different records of people who are made up
_LEAST_STUDIES = 20
_PEOPLE, _PEOPLE_A_QUESTION = 4000, 50
_DOUBTED = 0.02  # share of studies with a caution up to which an itemset is looked at


def estimator(
    plan: Plan,
    people: int | Baskets | Table | None = None,
    *,
    studies: int = 200,
    failure: float = 1e-6,
    rng: Randomness | None = None,
    randomize: Respond | None = None,
    by: ReportReader | None = None,
) -> Verdict:
    """Are estimates under a plan right on average, as far from the truth as they say, and within their intervals?

    people     raw records of others, which must be public or of people who agreed; or a number of people to make up,
               by default 4000, or 50 for each question of a design
    studies    how often they are asked again
    rng        the chance of the studies: it protects nobody here, and is ``Seeded(1)`` unless given
    randomize  a client of all records at once, in the place of the plan's own
    by         an estimator of reports and itemsets; ``bk.estimate(reports, itemsets, model=None)`` unless given

    Itemsets whose estimates carry a caution are left out, and counted in ``about``: they say themselves that their
    intervals are not to be trusted.
    """
    n = check_integer("studies", studies, least=_LEAST_STUDIES)
    each = check_between("failure", failure, 0, 1) / 3
    chance = Seeded(1) if rng is None else check_randomness(rng)
    if people is None:
        shares = question_shares(plan.channel)
        people = _PEOPLE if shares is None else max(_PEOPLE, _PEOPLE_A_QUESTION * len(shares))
    records = people if isinstance(people, Baskets | Table) else made_up(plan, people, chance)
    wanted, truth = _wanted(plan, records)
    subject = f"the estimator of {plan.mechanism}"
    about = {"plan": plan.digest, "studies": n, "people": records.n_records, "itemsets": len(wanted)}
    if not wanted:
        nothing = Finding("estimates have no bias", NOT_LOOKED, "Reports of this plan tell of no itemset.")
        return Verdict(subject, (nothing,), about)
    client = (lambda data: plan.randomize(data, rng=chance)) if randomize is None else randomize
    read = _plain if by is None else by
    values, stderrs, covered, doubted = (np.empty((n, len(wanted))) for _ in range(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is what is tested
        for at in range(n):
            found = read(client(records), wanted)
            interval = found.interval(LEVEL)
            values[at], stderrs[at] = found.value, found.stderr
            covered[at] = (interval[:, 0] <= truth) & (truth <= interval[:, 1])
            doubted[at] = found.caution
    trusted = np.flatnonzero(doubted.mean(axis=0) <= _DOUBTED)
    about["left_out"] = len(wanted) - len(trusted)
    if not len(trusted):
        nothing = Finding(
            "estimates have no bias", NOT_LOOKED, "All estimates carry a caution: more people are needed."
        )
        return Verdict(subject, (nothing,), about)
    wanted, truth = [wanted[at] for at in trusted], truth[trusted]
    findings = (
        _bias(values[:, trusted], truth, wanted, each),
        _spread(values[:, trusted], stderrs[:, trusted], wanted, each),
        _coverage(covered[:, trusted], wanted, each),
    )
    return Verdict(subject, findings, about)


def _plain(reports: Reports, itemsets: list[tuple[Hashable, ...]]) -> Estimates:
    return estimate(reports, itemsets, model=None)


def made_up(plan: Plan, people: int, rng: Randomness) -> Baskets | Table:
    """People with a few dozen different records, some of which many have; items depend on each other."""
    n = check_integer("people", people, least=100)
    domain, kinds = plan.domain, _KINDS
    if isinstance(domain, TableDomain):
        values = [rng.integers(int(size), kinds) for size in domain.sizes]
        codes = np.stack(values, axis=1) + np.asarray(domain.offsets, np.int64)[: len(values)]
        records = [tuple(int(item) for item in row) for row in codes]
    else:
        sizes = [size for size in sizes_of(plan) if size > 0][:12] or [0]
        most = min(len(domain), max(4, 2 * sizes[-1]))  # common items, so that sets of them are common too
        records = []
        for size in rng.integers(len(sizes), kinds).tolist():
            order = np.argsort(rng.integers(1 << 30, most))
            records.append(tuple(sorted(order[: min(sizes[size], most)].tolist())))
    which = np.minimum(rng.integers(kinds, n), rng.integers(kinds, n))  # the first are common
    return records_of(plan, [records[at] for at in np.sort(which).tolist()])


def _wanted(plan: Plan, records: Baskets | Table) -> tuple[list[tuple[Hashable, ...]], Floats]:
    """The commonest itemsets of one, two and three items that reports tell of, and their supports."""
    domain, channel = plan.domain, plan.channel
    counter = Bitmaps.from_rows(records.to_bits(), len(domain))
    single = counter.supports(np.arange(len(domain), dtype=np.int32)[:, None])[0]
    common = np.argsort(-single, kind="stable")[:_EACH].tolist()
    strata = {int(size) for size in np.unique(records.sizes)}
    wanted, truth = [], []
    for size in range(1, _LARGEST + 1):
        rows = np.array(sorted(tuple(sorted(s)) for s in combinations(common, size)), np.int32).reshape(-1, size)
        if domain.groups is not None and len(rows):
            rows = rows[(np.diff(np.sort(np.asarray(domain.groups)[rows], axis=1), axis=1) > 0).all(axis=1)]
        covered = channel.covers(rows) if len(rows) else None
        rows = rows if covered is None else rows[covered]
        if not len(rows) or not _tells(plan, size, strata):
            continue
        support = counter.supports(np.ascontiguousarray(rows))[0] / records.n_records
        for at in np.argsort(-support, kind="stable")[:_EACH]:
            wanted.append(tuple(domain.labels[item] for item in rows[at].tolist()))
            truth.append(float(support[at]))
    return wanted, np.array(truth)


def _tells(plan: Plan, size: int, sizes: Iterable[int]) -> bool:
    """Whether reports of such records tell of itemsets of a size, and an error of them is known."""
    if plan.support_of == "cut records":
        return False  # supports are those of what is left
    try:
        strata = list(sizes) if plan.mechanism.sends_sizes and plan.domain.groups is None else []
        return plan.channel.recovers(size, strata) or plan.channel.recovers(size, ())
    except BosketError:
        return False


def _bias(values: Floats, truth: Floats, wanted: list[tuple[Hashable, ...]], failure: float) -> Finding:
    check = "estimates have no bias"
    n = len(values)
    spread = values.std(axis=0, ddof=1)
    away = np.divide(values.mean(axis=0) - truth, spread / np.sqrt(n), out=np.zeros(len(truth)), where=spread > 0)
    exact = (spread == 0) & (np.abs(values.mean(axis=0) - truth) > 1e-9)
    limit = float(stats.t.isf(failure / (2 * len(truth)), n - 1))
    at = int(np.argmax(np.abs(away) + np.where(exact, np.inf, 0.0)))
    figures = {"worst": float(np.abs(away).max()), "limit": limit}
    if np.abs(away).max() <= limit and not exact.any():
        words = f"The means of {n} studies are those of the truth, for {len(truth)} itemsets."
        return Finding(check, ACQUITTED, words, len(truth), failure, figures)
    what = " and ".join(map(repr, wanted[at]))
    words = f"The support of {what} is {truth[at]:.4f}, and {values[:, at].mean():.4f} on average of {n} studies."
    return Finding(check, CONVICTED, words, len(truth), failure, figures)


def _spread(values: Floats, stderrs: Floats, wanted: list[tuple[Hashable, ...]], failure: float) -> Finding:
    check = "estimates are as far from the truth as they say"
    n = len(values)
    stated = (stderrs**2).mean(axis=0)
    seen = values.var(axis=0, ddof=1)
    ratio = np.divide(seen, stated, out=np.ones(len(wanted)), where=stated > 0)
    each = failure / (2 * len(wanted))
    low, high = (float(part) / (n - 1) for part in (stats.chi2.ppf(each, n - 1), stats.chi2.isf(each, n - 1)))
    at = int(np.argmax(np.abs(np.log(np.maximum(ratio, 1e-300)))))
    figures = {"least": float(ratio.min()), "most": float(ratio.max()), "low": low, "high": high}
    if ratio.min() >= low and ratio.max() <= high:
        words = f"Variances are {ratio.min():.2f} to {ratio.max():.2f} times those stated, within chance."
        return Finding(check, ACQUITTED, words, len(wanted), failure, figures)
    what = " and ".join(map(repr, wanted[at]))
    words = f"Estimates of {what} vary {np.sqrt(ratio[at]):.2f} times as much as their standard errors say."
    return Finding(check, CONVICTED, words, len(wanted), failure, figures)


def _coverage(covered: Floats, wanted: list[tuple[Hashable, ...]], failure: float) -> Finding:
    check = f"intervals of {LEVEL:.0%} hold the truth"
    n, hits = len(covered), covered.sum(axis=0)
    chance = stats.binom.cdf(hits, n, LEVEL - _SLACK)
    at = int(np.argmin(chance))
    figures = {"least": float(hits.min() / n), "mean": float(covered.mean())}
    if chance[at] >= failure / len(wanted):
        words = f"They do in {covered.mean():.1%} of all studies, in {hits.min() / n:.1%} for the worst itemset."
        return Finding(check, ACQUITTED, words, len(wanted), failure, figures)
    words = f"Those of {' and '.join(map(repr, wanted[at]))} do in {hits[at] / n:.1%} of {n} studies."
    return Finding(check, CONVICTED, words, len(wanted), failure, figures)
