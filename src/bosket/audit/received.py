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
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bosket.audit.clients.showing import names_of, shown_keys
from bosket.audit.poisons import implausible
from bosket.audit.possible import Chances, chances_of, log_largest, question_shares, seeds_of
from bosket.audit.verdicts import ACQUITTED, CONVICTED, NOT_LOOKED, Finding, Verdict
from bosket.checks import check_between
from bosket.data.formats.sources import MAX_BYTES
from bosket.errors import BosketError, DataError
from bosket.mechanisms import RecordChannel
from bosket.plan import Plan
from bosket.report_files import BeyondCapError
from bosket.reports import Reports
from bosket.statistics.binomial_tails import at_least, at_least_of_people
from bosket.threads import slices

_MOST_ITEMS = 512
_MOST_PAIRED = 24
_MOST_STRATA = 64
_AT_ONCE = 1 << 14  # reports that are looked at together
_WEIGHT = np.uint64(0x9E3779B97F4A7C15)
_COMPARED = 1000  # blocks of one sum, of which chance makes hardly one
_LONGEST = 2000  # reports in a row

CHANCE = "the chance was secure"
WHOLE = "every report is one of the plan's"
PLAUSIBLE = "no report is implausible for every record"
NUMBERS = "items are shown as often as some records make possible"
QUESTIONS = "questions and seeds were drawn as planned"
COPIES = "reports were not copied"


def collected(
    reports: Reports | str | Path,
    *,
    plan: Plan | None = None,
    failure: float = 1e-6,
    max_bytes: int | None = MAX_BYTES,
) -> Verdict:
    """Could these reports, or those of a file, have come from honest people who follow the plan?

    plan       refuse reports of any other plan
    failure    the probability, at most, with which honest reports are convicted, whatever the records are
    max_bytes  of memory that the reports of a file may take; a file beyond it, or one that cannot be opened, is an
               error and no verdict

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
            reports = Reports.read(path, plan=plan, max_bytes=max_bytes)
        except BeyondCapError:
            raise
        except BosketError as error:
            if not (path.is_file() and os.access(path, os.R_OK)):
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


def _numbers(reports: Reports, failure: float) -> Finding:
    """By stratum, how often items, and two of them together, are shown against the least and the most."""
    if not len(reports):
        return Finding(NUMBERS, NOT_LOOKED, "There are no reports.")
    rows: list[tuple[float, int, int, Chances, str]] = []
    for stratum, where in _strata(reports):
        rows += _of_items(reports, where, stratum)
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


def _strata(reports: Reports) -> list[tuple[int, npt.NDArray[np.intp]]]:
    """The reports of each stratum; of many strata, those with most reports, which no coin decides."""
    strata = reports.channel.payload.strata(reports.batch)
    if strata is None:
        return [(_only_stratum(reports), np.arange(len(reports)))]
    known, sizes = np.unique(strata, return_counts=True)
    largest = np.sort(np.argsort(-sizes, kind="stable")[:_MOST_STRATA])
    return [(int(one), np.flatnonzero(strata == one)) for one in known[largest]]


def _only_stratum(reports: Reports) -> int:
    """The stratum of reports that name none: that of records of a table, which all have one size."""
    channel, groups = reports.channel, reports.domain.groups
    return channel.stratum_of(0 if groups is None else int(groups[-1]) + 1) if isinstance(channel, RecordChannel) else 0


def _of_items(
    reports: Reports, where: npt.NDArray[np.intp], stratum: int
) -> list[tuple[float, int, int, Chances, str]]:
    """The probability of each number, or of one further out, at the nearest chance that is possible."""
    channel, labels, groups = reports.channel, reports.domain.labels, reports.domain.groups
    n_items = len(reports.domain)
    items = np.unique(np.linspace(0, n_items - 1, min(n_items, _MOST_ITEMS)).astype(np.int64))
    first = range(min(_MOST_PAIRED, len(items)))
    pairs = [(i, j) for i, j in combinations(first, 2) if groups is None or groups[items[i]] != groups[items[j]]]
    single, both = np.zeros(len(items), np.int64), np.zeros((len(first), len(first)), np.int64)
    for start, stop in slices(len(where), _AT_ONCE):
        shown = shown_keys(channel, reports.batch.take(where[start:stop]), items)
        few = shown[:, : len(first)].astype(np.float32)  # of which sums up to 2^24 are exact
        single += shown.sum(axis=0)
        both += np.rint(few.T @ few).astype(np.int64)
    found = []
    known: dict[tuple[int, ...] | int, Chances | None] = {}
    for places in [*((at,) for at in range(len(items))), *pairs]:
        itemset = tuple(int(items[at]) for at in places)
        kind = len(itemset) if channel.items_alike else itemset
        if kind not in known:
            known[kind] = chances_of(channel, itemset, stratum)
        possible = known[kind]
        if possible is None:
            continue
        number = int(single[places[0]] if len(places) == 1 else both[places])
        repeats = reports.plan.unit.reports
        high = float(at_least_of_people(number, len(where), possible.most, repeats=repeats))
        low = float(at_least_of_people(len(where) - number, len(where), 1 - possible.least, repeats=repeats))
        what = " and ".join(repr(labels[int(items[at])]) for at in places)
        verb = "is" if len(places) == 1 else "are together"
        found.append((min(high, low), number, len(where), possible, f"{what} {verb}"))
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
        bits = [int((seeds >> np.uint64(at) & np.uint64(1)).sum()) for at in range(64)]
        numbers += [(b, len(seeds), 0.5, f"bit {at} of the seed") for at, b in enumerate(bits)]
    if not numbers:
        return Finding(QUESTIONS, NOT_LOOKED, "Reports of this plan have no questions and no seeds.")
    k, of, p = (np.array([row[at] for row in numbers], float) for at in range(3))
    repeats = reports.plan.unit.reports
    high, low = (at_least_of_people(m, of, q, repeats=repeats) for m, q in ((k, p), (of - k, 1 - p)))
    chance = np.minimum(high, low)
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
    strata = reports.channel.payload.strata(reports.batch)
    largest = log_largest(reports.plan, None if strata is None else np.unique(strata).tolist())
    n = len(reports)
    if largest is None or largest >= 0 or n < 2:
        return Finding(COPIES, NOT_LOOKED, "How alike honest reports may be is not known for this plan.")
    names = _told_apart(reports)
    length = max(1, math.ceil((2 * math.log(n) - math.log(2) - math.log(failure / 2)) / -largest))
    repeats = reports.plan.unit.reports
    if repeats == 1 and length <= _LONGEST and length < n and (copied := _repeated(names, length)):
        what = "a report" if length == 1 else f"{length} reports in a row"
        words = f"{copied:,} times {what} came again, which honest people's never do."
        return Finding(COPIES, CONVICTED, words, 1, failure, {"blocks": copied, "length": length})
    times = int(np.bincount(names).max())
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


def _told_apart(reports: Reports) -> npt.NDArray[np.int64]:
    """A number for each report, the same for those that are alike and for no others.

    Of 10^7 honest reports, two have one name of 64 bits with probability 3e-6, which is more than audits promise to
    convict with: so reports of one name are looked at.
    """
    _, first, which = np.unique(names_of(reports.channel, reports.batch), return_index=True, return_inverse=True)
    rows, alike = reports.channel.payload.to_rows(reports.batch), first[which]
    is_alike = all((rows[start:stop] == rows[alike[start:stop]]).all() for start, stop in slices(len(rows), _AT_ONCE))
    return which.ravel() if is_alike else np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def _repeated(names: npt.NDArray[np.int64], length: int) -> int:
    """How many blocks of so many reports in a row stand at two places or more: the least that is certain.

    By sums of names with weights, from those of half the length; blocks of one sum are then compared.
    """
    total, done = names.astype(np.uint64), 1
    total *= _WEIGHT  # names are small numbers
    for bit in bin(length)[3:]:
        weight = np.uint64(pow(int(_WEIGHT), done, 1 << 64))
        total, done = total[:-done] * weight + total[done:], 2 * done
        if bit == "1":
            total, done = total[:-1] * _WEIGHT + names[done:].astype(np.uint64) * _WEIGHT, done + 1
    order = np.argsort(total, kind="stable")
    twice = np.flatnonzero(total[order][1:] == total[order][:-1])
    for at in twice[:_COMPARED].tolist():
        one, other = int(order[at]), int(order[at + 1])
        if (names[one : one + length] == names[other : other + length]).all():
            return len(twice)
    return 0
