"""The audit of a client: does what leaves a person follow the plan?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bosket.audit.clients.comparing import Difference, against_law, against_other, following, repetition
from bosket.audit.clients.estimating import estimates_of
from bosket.audit.clients.features import Claims, expected_alone
from bosket.audit.clients.pairs import Pair, sizes_of
from bosket.audit.clients.paths import ClientPath, Command, Record, Sent, by_client, by_library, refuse_many
from bosket.audit.clients.promised import LEAST_TRIALS, PILOT, promise_kept, worst_pairs
from bosket.audit.clients.showing import wire_bits
from bosket.audit.verdicts import ACQUITTED, CONVICTED, NOT_LOOKED, Finding, Verdict
from bosket.checks import check_between, check_integer
from bosket.data import TableDomain
from bosket.errors import ParameterError
from bosket.mechanisms.base import Mechanism
from bosket.plan import Plan
from bosket.randomness import Randomness, Secure, check_randomness

_TIMES = 8  # reports of our own client for one of the client's
_MOST_SIZES = 5  # of records beside the worst


def client(
    plan: Plan,
    client: ClientPath | Command | None = None,
    *,
    trials: int = 40_000,
    failure: float = 1e-6,
    rng: Randomness | None = None,
) -> Verdict:
    """Does a client draw its reports as the plan says, and keep the promise of the plan's card?

    client   a function of one record (a list of items; of a table a mapping from attribute to value) that returns the
             bytes of its report, a :class:`Command`, or None: this library's own
    trials   reports of each of a few records: those that are told apart the best, and some of other sizes
    failure  the probability, at most, with which an honest client is convicted
    rng      the chance of our own client; secure unless ``Seeded``

    Looked at is whether every report is one of the plan's; whether claims about reports are true as often as in
    reports of our own client, and as by the law that the mechanism states; whether estimates from them are right;
    whether reports depend on those before, or come back; and how well the two records can be told apart
    (:mod:`bosket.audit.clients.attack`), against what the card promises.

    >>> import bosket as bk
    >>> plan = bk.Plan(bk.Domain(["a", "b", "c"]), bk.Flip(keep=0.8))
    >>> bk.audit.client(plan, rng=bk.Seeded(1), trials=4000).is_convicted
    False
    >>> def of_ones(record): return bytes([7])
    >>> bk.audit.client(plan, of_ones, rng=bk.Seeded(1), trials=2000).is_convicted
    True
    """
    _check(plan, client)
    n = check_integer("trials", trials, least=LEAST_TRIALS)
    each = check_between("failure", failure, 0, 1) / 6
    chance = Secure() if rng is None else check_randomness(rng)
    refuse_many(plan, n)
    pairs = worst_pairs(plan, chance)
    records = list(dict.fromkeys([*(r for pair in pairs for r in (pair.one, pair.other)), *_others(plan)]))
    refuse_many(plan, n * len(records))
    pilot = by_library(plan, records, PILOT, chance).batch
    features = Claims.settled(plan.channel, records, pilot)
    sent = by_library(plan, records, n, chance) if client is None else by_client(plan, client, records, n)
    whole = _whole(sent, n * len(records), plan)
    findings = [whole]
    if sent.wrong < n * len(records):
        findings += _findings(plan, features, pairs, sent, _own_counts(plan, features, n, chance), each)
    subject = f"this library's client of {plan.mechanism}" if client is None else f"the client of {plan.mechanism}"
    about = {"plan": plan.digest, "trials": n, "records": len(records)}
    return Verdict(subject, tuple(findings), about)


def _own_counts(plan: Plan, features: Claims, n: int, rng: Randomness) -> npt.NDArray[np.int64]:
    """How often claims are true of reports of our own client, ``_TIMES`` as many, made piece by piece."""
    total = np.zeros((len(features.records), 0), np.int64)
    for _ in range(_TIMES):
        batch = by_library(plan, features.records, n, rng).batch
        found = features.counts(batch, features.shown(batch))
        total = found if not total.size else total + found
    return total


def _check(plan: Plan, client: object) -> None:
    if not isinstance(plan, Plan):
        raise ParameterError(
            f"The 'plan' parameter must be a Plan, got a {type(plan).__name__}.",
            parameter="plan",
            value=plan,
            hint="Plan(domain, mechanism) makes one." if isinstance(plan, Mechanism) else None,
        )
    if client is not None and plan.mechanism.needs_curator:
        raise ParameterError(
            f"The 'client' parameter must not be given: {plan.mechanism} takes the records of several people.",
            parameter="client",
            value=client,
        )
    if not (client is None or callable(client) or isinstance(client, Command)):
        raise ParameterError(
            "The 'client' parameter must be a function of a record that returns bytes, or a Command.",
            parameter="client",
            value=client,
        )


def _others(plan: Plan) -> list[Record]:
    """Records beside those of the worst pairs: of other sizes, or with values in turn."""
    if isinstance(plan.domain, TableDomain):
        offsets, sizes = plan.domain.offsets.tolist(), plan.domain.sizes.tolist()
        return [tuple(first + (at + step) % size for at, (first, size) in enumerate(zip(offsets, sizes, strict=False)))
                for step in (0, 1)]  # fmt: skip
    sizes = sizes_of(plan)
    chosen = sorted({sizes[round(at)] for at in np.linspace(0, len(sizes) - 1, _MOST_SIZES)})
    return [tuple(range(size)) for size in chosen]


def _whole(sent: Sent, n: int, plan: Plan) -> Finding:
    """Whether each record gave one report of the plan."""
    check = "every report is one of the plan's"
    figures = {"wrong": sent.wrong, "reports": n}
    if sent.wrong:
        words = f"{sent.wrong:,} of {n:,} records did not give one report of the plan: {sent.why}"
        return Finding(check, CONVICTED, words, n, 0.0, figures)
    said = sorted(note for note in sent.notes if note not in ("", "secure"))
    if said:
        words = f"Reports say that their chance is '{said[0][:60]}', which protects nobody."
        return Finding(check, CONVICTED, words, n, 0.0, figures | {"note": said[0][:60]})
    return Finding(check, ACQUITTED, f"{n:,} records gave a report each.", n, 0.0, figures)


def _findings(
    plan: Plan,
    features: Claims,
    pairs: Sequence[Pair],
    sent: Sent,
    others: npt.NDArray[np.int64],
    failure: float,
) -> list[Finding]:
    n_records = len(features.records)
    shown = features.shown(sent.batch)
    n = len(sent.batch) // n_records
    counts = features.counts(sent.batch, shown)
    found = [_said(features, against_other(counts, n, others, n * _TIMES, failure), failure)]
    found.append(_by_law(features, shown, failure))
    found.append(estimates_of(plan, features.records, sent.batch, failure))
    bits = wire_bits(plan.channel, sent.batch, features.bits)
    found.append(_in_a_row(bits, n_records, failure))
    found.append(_again(bits, n_records, failure))
    found.append(promise_kept(plan, features, pairs, sent, failure))
    return found


def _said(features: Claims, found: Difference, failure: float) -> Finding:
    check = "reports are as frequent as those of this library's client"
    if not found.is_found:
        words = f"{found.tests:,} claims about reports are true about as often."
        return Finding(check, ACQUITTED, words, found.tests, failure)
    what = features.name(found.place[1])
    words = f"Of one record, {what} in {found.seen:.2%} of its reports, and in {found.expected:.2%} by the plan."
    figures = {"claim": what, "seen": found.seen, "expected": found.expected}
    return Finding(check, CONVICTED, words, found.tests, failure, figures)


def _by_law(features: Claims, shown: object, failure: float) -> Finding:
    check = "items are shown as often as the mechanism's law says"
    channel, truths = features.channel, np.asarray(shown)
    laws = [expected_alone(channel, record, features.keys) for record in features.records]
    if any(law is None for law in laws):
        return Finding(check, NOT_LOOKED, "The mechanism states no law of single items.")
    counts = np.stack([truths[at :: len(laws)].sum(axis=0) for at in range(len(laws))])
    found = against_law(counts, len(truths) // len(laws), np.array(laws), failure)
    figures = {"seen": found.seen, "expected": found.expected}
    if not found.is_found:
        words = f"{found.tests:,} frequencies of items are as stated."
        return Finding(check, ACQUITTED, words, found.tests, failure)
    label = features.name(len(features.bits) + found.place[1])
    words = f"Of one record, {label} in {found.seen:.2%} of its reports, and in {found.expected:.2%} by the law."
    return Finding(check, CONVICTED, words, found.tests, failure, figures | {"claim": label})


def _in_a_row(bits: object, n_records: int, failure: float) -> Finding:
    """Reports of different records come in turn: each must be drawn anew.  No report is in two of a test's pairs."""
    check = "reports do not depend on those before"
    truths = np.asarray(bits)
    apart = max(2, n_records)
    n = len(truths) // apart - 1
    tests = []
    for at in range(n_records):
        first = np.arange(n) * apart + at
        tests.append(following(truths[first], truths[first + 1], failure / n_records))
    worst = max(tests, key=lambda one: one.is_found)
    total = sum(one.tests for one in tests)
    if not worst.is_found:
        return Finding(check, ACQUITTED, "No bit of a report foretells that of the next.", total, failure)
    words = (
        f"A bit of a report is set with {worst.seen:.1%} where it was set in the report before, and with "
        f"{worst.expected:.1%} where it was not: coins were used twice."
    )
    return Finding(check, CONVICTED, words, total, failure, {"after": worst.seen, "otherwise": worst.expected})


def _again(bits: object, n_records: int, failure: float) -> Finding:
    check = "reports do not come back"
    truths = np.asarray(bits)
    found = [repetition(truths[at::n_records], failure / n_records) for at in range(n_records)]
    worst, lag = max(found, key=lambda one: one[0].is_found)
    total = sum(one.tests for one, _ in found)
    if not worst.is_found:
        return Finding(check, ACQUITTED, "No report foretells a later one of the same record.", total, failure)
    words = f"Reports of a record depend on those {lag:,} before: coins come back."
    return Finding(check, CONVICTED, words, total, failure, {"distance": lag})
