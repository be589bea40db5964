"""The audit of what was collected: could these reports have come from honest people, whatever their records?

No raw record is needed.  What can be said whatever people have:

    numbers    an item is shown by each person with a probability between two that the plan states, so the number of
               reports that show it lies between two binomial ones, in law; likewise two items together, each question,
               each answer, each bit of a seed
    plausible  no report shows so many items, or so few, that no record makes it plausible (:func:`implausible`)
    copies     two reports that were drawn apart are alike with probability pi at most, pi being the largest
               probability of any report of any record.  So n reports hold two blocks of R reports in a row that are
               alike with probability n^2 pi^R / 2 at most, and k reports that are alike with n Pr(B >= k - 1) at most,
               B being binomial with n - 1 and pi
"""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, rel_entr

from bosket.audit.clients.showing import ReportNames, names_of, shown_keys
from bosket.audit.poisons import implausible
from bosket.audit.possible import Chances, chances_of, log_largest, question_shares, seeds_of
from bosket.audit.verdicts import ACQUITTED, CONVICTED, NOT_LOOKED, Finding, Verdict
from bosket.checks import check_between
from bosket.errors import BosketError, DataError
from bosket.mechanisms import RecordChannel
from bosket.plan import Plan
from bosket.reports import Reports
from bosket.statistics.estimates import Floats

_MOST_ITEMS = 512
_MOST_PAIRED = 24
_LONGEST = 2000  # reports in a row

CHANCE = "the chance was secure"
WHOLE = "every report is one of the plan's"
PLAUSIBLE = "no report is implausible for every record"
NUMBERS = "items are shown as often as some records make possible"
QUESTIONS = "questions and seeds were drawn as planned"
COPIES = "reports were not copied"


def collected(reports: Reports | str | Path, *, plan: Plan | None = None, failure: float = 1e-6) -> Verdict:
    """Could these reports, or those of a file, have come from honest people who follow the plan?

    plan     refuse reports of any other plan
    failure  the probability, at most, with which honest reports are convicted, whatever the records are

    What nobody can see in reports is said too: who lies about a record and then follows the protocol, or who draws an
    item with a probability that other records make possible, is not noticed.

    >>> import bosket as bk
    >>> plan = bk.Plan(bk.Domain(range(20)), bk.Flip(keep=0.9))
    >>> reports = plan.randomize(bk.Baskets([[1, 2]] * 1000, items=range(20)))
    >>> bk.audit.collected(reports).is_convicted
    False
    """
    each = check_between("failure", failure, 0, 1) / 4
    if not isinstance(reports, Reports | str | Path):
        raise DataError(f"Reports, or a file of them, can be audited, a {type(reports).__name__} cannot.")
    name = "the reports"
    if not isinstance(reports, Reports):
        path = Path(reports)
        name = f"the reports in {path.name}"
        try:
            reports = Reports.read(path, plan=plan)
        except BosketError as error:
            if not path.exists():
                raise
            words = f"The file cannot be read as reports of its plan: {error}"
            return Verdict(name, (Finding(WHOLE, CONVICTED, words),))
    elif plan is not None and reports.plan.digest != plan.digest:
        words = f"The reports were made under plan {reports.plan.digest[:12]}, not under {plan.digest[:12]}."
        return Verdict(name, (Finding(WHOLE, CONVICTED, words),))
    findings = [
        Finding(WHOLE, ACQUITTED, f"{len(reports):,} reports have the form that the plan gives them."),
        _chance(reports),
        _plausible(reports, each),
        _numbers(reports, each),
        _questions(reports, each),
        _copies(reports, each),
    ]
    about = {"plan": reports.plan.digest, "mechanism": str(reports.plan.mechanism), "reports": len(reports)}
    return Verdict(name, tuple(findings), about)


def _chance(reports: Reports) -> Finding:
    if reports.is_simulation:
        return Finding(CHANCE, CONVICTED, f"The file says that its chance was '{reports.randomness[:80]}'.")
    return Finding(CHANCE, ACQUITTED, "The file says so; nobody can see it in reports.")


def _plausible(reports: Reports, failure: float) -> Finding:
    if not len(reports):
        return Finding(PLAUSIBLE, NOT_LOOKED, "There are no reports.")
    try:
        marked = int(implausible(reports, level=failure).sum())
    except DataError:  # reports of a mechanism from outside, which does not say what is plausible
        return Finding(PLAUSIBLE, NOT_LOOKED, "The mechanism does not say which reports are plausible.")
    if not marked:
        return Finding(PLAUSIBLE, ACQUITTED, "Every report is one that some record makes plausible.", 1, failure)
    words = f"{marked:,} of {len(reports):,} reports are such as no honest person sends, or that too many sent."
    return Finding(PLAUSIBLE, CONVICTED, words, 1, failure, {"marked": marked})


def at_least(number: npt.ArrayLike, of: npt.ArrayLike, probability: npt.ArrayLike) -> Floats:
    """Pr(a binomial number >= number), exact."""
    k, n, p = np.broadcast_arrays(*(np.asarray(part, float) for part in (number, of, probability)))
    found = np.where(k <= 0, 1.0, betainc(np.maximum(k, 1), np.maximum(n - k, 0) + 1, np.clip(p, 0.0, 1.0)))
    return np.asarray(found, float)


def tail(number: npt.ArrayLike, of: npt.ArrayLike, probability: npt.ArrayLike, repeats: int) -> Floats:
    """A bound on the probability of so many, where one person may send ``repeats`` reports, alike by a memo.

    Exact for one; else Chernoff's bound with as many draws as there are people at least: the mean of exp(u X) over
    reports of one person is at most that of exp(u repeats X) to the power 1 / repeats, by Hoelder's inequality.
    """
    if repeats == 1:
        return at_least(number, of, probability)
    k, n, p = np.broadcast_arrays(*(np.asarray(part, float) for part in (number, of, probability)))
    part, p = k / np.maximum(n, 1), np.clip(p, 0.0, 1.0)
    divergence = np.where(part > p, rel_entr(part, p) + rel_entr(1 - part, 1 - p), 0.0)
    return np.asarray(np.exp(-n / repeats * divergence))


def _numbers(reports: Reports, failure: float) -> Finding:
    """By stratum, how often items, and two of them together, are shown against the least and the most."""
    channel, n_items = reports.channel, len(reports.domain)
    if not len(reports):
        return Finding(NUMBERS, NOT_LOOKED, "There are no reports.")
    items = np.unique(np.linspace(0, n_items - 1, min(n_items, _MOST_ITEMS)).astype(np.int64))
    shown = shown_keys(channel, reports.batch, items)
    strata = reports.channel.payload.strata(reports.batch)
    groups = [(_only_stratum(reports), np.arange(len(reports)))]
    if strata is not None:
        groups = [(int(one), np.flatnonzero(strata == one)) for one in np.unique(strata)]
    rows: list[tuple[float, int, int, Chances, str]] = []
    for stratum, where in groups:
        rows += _of_items(reports, shown[where], items, stratum)
    if not rows:
        return Finding(NUMBERS, NOT_LOOKED, "How often items are shown by chance is not stated by the mechanism.")
    alpha = failure / (2 * len(rows))
    worst = min(rows, key=lambda row: row[0])
    chance, number, of, possible, label = worst
    if chance >= alpha:
        words = f"{len(rows):,} numbers of reports are such as some records give."
        return Finding(NUMBERS, ACQUITTED, words, len(rows), failure)
    words = (
        f"{label} shown by {number:,} of {of:,} reports ({number / of:.1%}); whatever people have, it is expected "
        f"between {possible.least:.1%} and {possible.most:.1%}."
    )
    figures = {"shown": number, "reports": of, "least": possible.least, "most": possible.most}
    return Finding(NUMBERS, CONVICTED, words, len(rows), failure, figures)


def _only_stratum(reports: Reports) -> int:
    """The stratum of reports that name none: that of records of a table, which all have one size."""
    channel, groups = reports.channel, reports.domain.groups
    return channel.stratum_of(0 if groups is None else int(groups[-1]) + 1) if isinstance(channel, RecordChannel) else 0


def _of_items(
    reports: Reports, shown: npt.NDArray[np.bool_], items: npt.NDArray[np.int64], stratum: int
) -> list[tuple[float, int, int, Chances, str]]:
    """The probability of each number, or of one further out, at the nearest chance that is possible."""
    n, labels = len(shown), reports.domain.labels
    sets: list[tuple[int, ...]] = [(at,) for at in range(len(items))]
    first = range(min(_MOST_PAIRED, len(items)))
    groups = reports.domain.groups
    sets += [(i, j) for i, j in combinations(first, 2) if groups is None or groups[items[i]] != groups[items[j]]]
    found = []
    for places in sets:
        possible = chances_of(reports.channel, tuple(int(items[at]) for at in places), stratum)
        if possible is None:
            continue
        number = int(shown[:, list(places)].all(axis=1).sum())
        repeats = reports.plan.unit.reports
        high = float(tail(number, n, possible.most, repeats))
        low = float(tail(n - number, n, 1 - possible.least, repeats))
        what = " and ".join(repr(labels[int(items[at])]) for at in places)
        verb = "is" if len(places) == 1 else "are together"
        found.append((min(high, low), number, n, possible, f"{what} {verb}"))
    return found


def _questions(reports: Reports, failure: float) -> Finding:
    """Each question against its share, and each bit of a seed against a half."""
    n = len(reports)
    shares, seeds = question_shares(reports.channel), seeds_of(reports.channel, reports.batch)
    numbers: list[tuple[int, int, float, str]] = []
    if shares is not None and n:
        asked = np.bincount(reports.batch["question"], minlength=len(shares))
        numbers += [
            (int(a), n, float(p), f"question {at}") for at, (a, p) in enumerate(zip(asked, shares, strict=True))
        ]
    if seeds is not None and len(seeds):
        bits = (seeds[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)).sum(axis=0)
        numbers += [(int(b), len(seeds), 0.5, f"bit {at} of the seed") for at, b in enumerate(bits)]
    if not numbers:
        return Finding(QUESTIONS, NOT_LOOKED, "Reports of this plan have no questions and no seeds.")
    k, of, p = (np.array([row[at] for row in numbers], float) for at in range(3))
    repeats = reports.plan.unit.reports
    chance = np.minimum(tail(k, of, p, repeats), tail(of - k, of, 1 - p, repeats))
    at = int(np.argmin(chance))
    if chance[at] >= failure / (2 * len(numbers)):
        return Finding(QUESTIONS, ACQUITTED, f"{len(numbers):,} numbers are as planned.", len(numbers), failure)
    number, total, share, label = numbers[at]
    words = (
        f"{label.capitalize()} came up {number:,} times in {total:,} reports, where {share * total:,.0f} are expected."
    )
    return Finding(QUESTIONS, CONVICTED, words, len(numbers), failure, {"seen": number / total, "expected": share})


def _copies(reports: Reports, failure: float) -> Finding:
    """Blocks of reports that came twice, and single ones that came too often.

    Where one person may send several, a memo makes them alike: blocks then may come again, and so many are one.
    """
    largest = log_largest(reports.plan)
    n = len(reports)
    if largest is None or largest >= 0 or n < 2:
        return Finding(COPIES, NOT_LOOKED, "How alike honest reports may be is not known for this plan.")
    names = names_of(reports.channel, reports.batch)
    length = max(1, math.ceil((2 * math.log(n) - math.log(2) - math.log(failure / 2)) / -largest))
    repeats = reports.plan.unit.reports
    if repeats == 1 and length <= _LONGEST and length < n and (copied := _repeated(names, length)):
        what = "a report" if length == 1 else f"{length} reports in a row"
        words = f"{copied:,} times {what} came again, which honest people's never do."
        return Finding(COPIES, CONVICTED, words, 1, failure, {"blocks": copied, "length": length})
    times = int(np.unique(names, return_counts=True)[1].max())
    most = -(-times // repeats)
    if most > 1 and n * float(at_least(most - 1, n - 1, repeats * math.exp(largest))) < failure / 2:
        words = f"One and the same report came {times:,} times, which is too often for any records."
        return Finding(COPIES, CONVICTED, words, 1, failure, {"times": times})
    if repeats > 1:
        words = f"No report came too often; one person may send {repeats}, alike, so that blocks are not looked for."
        return Finding(COPIES, ACQUITTED, words, 1, failure, {"most_alike": times})
    seen = "single copies" if length == 1 else f"copies of {length} reports in a row or more"
    words = f"There are no {seen}." + ("" if length == 1 else " Shorter ones cannot be seen: reports are too short.")
    return Finding(COPIES, ACQUITTED, words, 2, failure, {"length": length, "most_alike": times})


def _repeated(names: ReportNames, length: int) -> int:
    """How many blocks of so many reports in a row stand at two places or more."""
    total = np.zeros(len(names) - length + 1, np.uint64)
    for step in range(length):
        total = total * np.uint64(0x9E3779B97F4A7C15) + names[step : step + len(total)]
    return len(total) - len(np.unique(total))
