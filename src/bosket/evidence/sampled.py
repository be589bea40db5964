"""Evidence from one answer a person about baskets, of one phase or of several.

Of the n_t people of phase t, C_t reports show an itemset A that the phase asked about.  With p and q of its channel
(:mod:`bosket.mechanisms.questions.responses`) and delta = p - q,

    f_t = (C_t / n_t - q_t) / delta_t,    Var f_t = r_t (1 - r_t) / (delta_t^2 n_t),   r_t = q_t + delta_t f

estimates the share of A among baskets as cut by the phase, for people drawn from a population.  Phases are pooled by
inverse variances where nobody holds A, n_t delta_t^2 / (q_t (1 - q_t)), which are public: f = sum of a_t f_t.  The
people of a phase are some of all N, so the coins alone, and who is in which phase, leave

    Var(N f) = N^2 sum of a_t^2 Var f_t - N f (1 - f)

and likewise for covariances, with the probability that a report shows both A and B, which the channel states, and with
S_(A u B) - S_A S_B / N.  That is exact where no basket is cut; where some are, fewer hold both than is taken here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bosket.collected import Collected
from bosket.counting.base import Counter, Counts, ItemsetRows
from bosket.counting.distinct_rows import Multiplicities
from bosket.errors import DataError, PlanMismatchError, SingularChannelError
from bosket.evidence.base import Evidence, Family, Observed, of_pairs
from bosket.evidence.carried import Carried
from bosket.evidence.concentration import carried_in_lists
from bosket.evidence.counts import MAX_COUNTS, max_hashes
from bosket.evidence.kept import Kept, Level, Truths
from bosket.evidence.of import evidence_by, provenance_of
from bosket.evidence.provenance import Provenance, together
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.hashing import KEYS_A_SECOND, MOST_HASHES
from bosket.privacy import Accuracy
from bosket.progress import Meter, Progress
from bosket.reports import refuse_repeated_over
from bosket.statistics.estimates import Floats

FEW = 20
"""Reports that show an itemset, below which normal errors are doubtful."""


class KeysTold:
    """A :class:`~bosket.counting.base.Counter` of reports that show a key."""

    strata = (0,)

    def __init__(
        self, channel: BasketChannel, batch: Batch, counts: Counts | None = None, *, max_hashes: int = MOST_HASHES
    ) -> None:
        """``counts`` says how often each report came; one look may take ``max_hashes`` hashes."""
        self.channel, self.batch, self.counts, self.max_hashes = channel, batch, counts, max_hashes
        self.n_records = len(batch) if counts is None else int(counts.sum())

    def supports(self, itemsets: ItemsetRows, *, on_progress: Callable[[int], None] | None = None) -> Counts:
        """Numbers of reports that show each key, of rows that :func:`key_rows` made."""
        if itemsets.shape[1] == 0:
            return np.full((1, len(itemsets)), self.n_records, np.int64)
        keys = np.ascontiguousarray(itemsets).view(np.int64)
        done = None if on_progress is None else lambda part: on_progress(int(part * len(keys)))
        return self.channel.shown(self.batch, keys, self.counts, max_hashes=self.max_hashes, done=done)[None, :]


def key_rows(keys: npt.NDArray[np.int64]) -> ItemsetRows:
    """Keys as rows of two numbers each: there are more keys than items."""
    return np.ascontiguousarray(keys).view(np.int32).reshape(-1, 2)


@dataclass(frozen=True)
class Phase:
    """The reports of one phase."""

    channel: BasketChannel
    told: Counter
    """Counts the reports that show a key."""
    n_rows: int
    """How many different reports are looked at, at most."""
    is_ranking: bool = False
    """Whether baskets are cut to one item, which ranks items but does not tell their supports."""
    cuts: bool = True
    """Whether a basket may hold more keys than are kept of it."""

    @property
    def n_records(self) -> int:
        return self.told.n_records

    @property
    def information(self) -> float:
        """The inverse of the variance of a share, where nobody holds the itemset."""
        return self.n_records / self.channel.response.variance

    @cached_property
    def _counted(self) -> dict[int, int]:
        return {}

    def shown(self, keys: npt.NDArray[np.int64], tell: Callable[[float], None] | None = None) -> Counts:
        """How many reports show each key; each is counted once and kept."""
        new = np.array(sorted({int(key) for key in keys} - self._counted.keys()), np.int64)
        if len(new):
            heard = None if tell is None else lambda done: tell(done / len(new))
            found = self.told.supports(key_rows(new), on_progress=heard)
            self._counted.update(zip(new.tolist(), found[0].tolist(), strict=True))
        return np.array([self._counted[int(key)] for key in keys], np.int64)


@dataclass(frozen=True, slots=True)
class _Told:
    """What the phases say of itemsets of one size: arrays of shape (phases, n)."""

    shown: Counts
    """Numbers of reports; 0 where the phase did not ask."""
    share: Floats
    """a_t: what the phase counts for."""


class SampledEvidence(Evidence):
    """Answers about baskets, of phases with different people."""

    def __init__(self, phases: Sequence[Phase], *, provenance: Provenance | None = None) -> None:
        self.phases = [phase for phase in phases if phase.n_records]
        if not self.phases:
            raise DataError("There are no reports to estimate from.")
        self.domain = self.phases[0].channel.domain
        self.n_records = sum(phase.n_records for phase in self.phases)
        self.only_ranks = all(phase.is_ranking for phase in self.phases)
        if provenance is not None:
            cut = "cut baskets" if any(phase.cuts for phase in self.phases) else provenance.support_of
            self.provenance = replace(provenance, support_of=cut)

    @classmethod
    def of(cls, *parts: Collected) -> SampledEvidence:
        """What the reports of a first phase, and of those that follow it, say together.

        Each but the first must follow the first, whose plan it names by digest; they must be of other people.  Reports
        of one plan are put together by ``Reports.concat`` before.  Where they name their respondents, somebody who
        answered more often than the strictest of their plans allows is refused.

        >>> import bosket as bk
        >>> people = bk.Baskets([["bread", "butter"]] * 3000 + [["tea"]] * 5000, items=["bread", "butter", "tea"])
        >>> first = bk.Ask.baskets(people.domain, epsilon=3, expected_size=1.4)
        >>> answers = first.randomize(people[::2], rng=bk.Seeded(1))
        >>> others = first.refine(answers, top=2).randomize(people[1::2], rng=bk.Seeded(2))
        >>> found = bk.estimate(SampledEvidence.of(answers, others), [{"bread", "butter"}])
        >>> bool(abs(found.value[0] - 3 / 8) < 4 * found.stderr[0])
        True
        """
        if not parts or not all(isinstance(part.channel, BasketChannel) for part in parts):
            raise DataError("SampledEvidence.of takes reports of Ask.baskets, those of the first phase first.")
        refuse_repeated_over(parts)
        first = parts[0]
        if len({part.plan.digest for part in parts}) < len(parts):
            raise PlanMismatchError(
                "The phases of SampledEvidence.of must have different plans, got one twice.",
                hint="Reports.concat puts reports of one plan together, and notices what is given twice.",
            )
        for part in parts[1:]:
            if part.domain != first.domain or getattr(part.plan.mechanism, "follows", None) != first.plan.digest:
                raise PlanMismatchError(
                    f"Reports of plan {part.plan.digest[:12]} do not follow those of plan {first.plan.digest[:12]}.",
                    hint="mechanism.refine(reports) makes the mechanism of the phase that follows.",
                )
        return cls([phase_of(part) for part in parts], provenance=together([provenance_of(part) for part in parts]))

    def sees(self, size: int) -> bool:
        return any(size in phase.channel.sizes for phase in self.phases if self._counts(phase))

    def _counts(self, phase: Phase) -> bool:
        """Whether supports are told: not by ranks, unless there is nothing else, which is refused in the end."""
        return self.only_ranks or not phase.is_ranking

    def covers(self, itemsets: ItemsetRows) -> Truths:
        covered: Truths = np.zeros(len(itemsets), bool)
        for phase in filter(self._counts, self.phases):
            covered |= phase.channel.covers(itemsets)
        return covered

    def supports(
        self, itemsets: ItemsetRows, *, kept: Kept | None = None, on_progress: Progress | None = None
    ) -> Level:
        """Counted phase by phase, which is told: it takes a hash for every report and four of the itemsets."""
        share, size = self._shares(itemsets), itemsets.shape[1]
        for at, phase in enumerate(self.phases):
            keys = phase.channel.keys(itemsets)[share[at] > 0]
            meter = Meter(on_progress, size, "counting", 1.0, work=phase.n_rows * len(keys) / KEYS_A_SECOND)
            phase.shown(keys, meter)
            meter.finish()
        return self.family(itemsets).whole

    def told(self, itemsets: ItemsetRows) -> _Told:
        share = self._shares(itemsets)
        shown = np.zeros(share.shape, np.int64)
        for at, phase in enumerate(self.phases):
            told = share[at] > 0
            shown[at, told] = phase.shown(phase.channel.keys(itemsets)[told])
        return _Told(shown, share)

    def _shares(self, itemsets: ItemsetRows) -> Floats:
        """a_t of each itemset, by the information of the phases that ask about it.

        Who asks about it is chosen by the first phase, so that its estimate of what was barely chosen is too high:
        such itemsets are marked (:attr:`SampledFamily.doubtful`).
        """
        information = np.zeros((len(self.phases), len(itemsets)))
        for at, phase in enumerate(self.phases):
            told = (phase.channel.keys(itemsets) >= 0) & self._counts(phase)
            information[at, told] = phase.information
        total = information.sum(axis=0)
        shares: Floats = np.divide(information, total, out=np.zeros_like(information), where=total > 0)
        return shares

    def accuracy(self, size: int) -> Accuracy | None:
        """Of the itemsets that are told of by some phases: all alike where these are the same.

        Var(N f) / N = (1 - f) A + f B + c f (1 - f), A where nobody holds the itemset and B where everybody does, c for
        who is in which phase; and where baskets are cut for what is left of them, which is drawn too.
        """
        asked = {one for phase in self.phases for one in phase.channel.candidates or () if len(one) == size}
        others = [(item,) for item in range(len(self.domain)) if (item,) not in asked][:1] if size == 1 else []
        shares = self._shares(np.array(sorted(asked) + others, np.int32).reshape(-1, size))
        shares = np.unique(shares[:, shares.any(axis=0)], axis=1)
        if not shares.size:
            return None
        channels = [phase.channel.response for phase in self.phases]
        counts_for = (shares**2).T * (self.n_records / np.array([phase.n_records for phase in self.phases]))
        lacking = counts_for @ [one.q * (1 - one.q) / one.slope**2 for one in channels]
        full = counts_for @ [one.p * (1 - one.p) / one.slope**2 for one in channels]
        whole = 0.0 if any(phase.cuts for phase in self.phases) else 1.0
        drawn = np.maximum(counts_for.sum(axis=1) - whole, 0.0)
        rise = full - lacking + drawn
        top = np.clip(np.divide(rise, 2 * drawn, out=np.ones_like(rise), where=drawn > 0), 0, 1)
        most = np.maximum(np.maximum(lacking, full), lacking + rise * top - drawn * top**2)
        least = np.minimum(lacking, full)
        return Accuracy(size, least=float(least.min()), most=float(most.max()), full=float(full.min()))

    def chosen_items(self) -> ItemsetRows:
        """The single items that a later phase asks about."""
        chosen = {one for phase in self.phases[1:] for one in phase.channel.candidates or () if len(one) == 1}
        return np.array(sorted(chosen), np.int32).reshape(-1, 1)

    def family(self, rows: ItemsetRows, kept: Kept | None = None) -> SampledFamily:
        if kept is None and rows.shape[1]:
            self.refuse_not_covered(rows)
        self._refuse_ranks()
        return SampledFamily(self, rows, kept)

    def _refuse_ranks(self) -> None:
        if self.only_ranks:
            raise SingularChannelError(
                "Supports cannot be estimated: baskets were cut to one item, which ranks items and tells no support.",
                items=(),
                hint="Ask with a length of 2 or more, or declare max_size=1 where baskets have one item; refine() uses "
                "the ranks.",
            )


class SampledFamily(Family):
    evidence: SampledEvidence

    def _members(self, mask: int) -> ItemsetRows:
        places = [place for place in range(self.rows.shape[1]) if mask >> place & 1]
        return np.ascontiguousarray(self.rows[:, places])

    @cached_property
    def _told(self) -> dict[int, _Told]:
        return {}

    def told(self, mask: int) -> _Told:
        if mask not in self._told:
            members = self._members(mask)
            self.evidence.refuse_not_covered(members)  # a pair may be asked about without its items
            self._told[mask] = self.evidence.told(members)
        return self._told[mask]

    def _share(self, mask: int) -> Floats:
        """f, unbiased for itemsets that the later phases were bound to ask about."""
        told = self.told(mask)
        result = np.zeros(len(self.rows))
        for at, phase in enumerate(self.evidence.phases):
            channel = phase.channel.response
            result += told.share[at] * (told.shown[at] / phase.n_records - channel.q) / channel.slope
        return result

    def value(self, mask: int) -> Floats:
        if mask == 0:
            return np.full(len(self.rows), float(self.n_records))
        result: Floats = self.n_records * self._share(mask)
        return result

    @cached_property
    def whole(self) -> Level:
        """With what a few reports carry: those of a phase that few people answered."""
        if not self.full:
            return super().whole
        return replace(super().whole, carried=self._carried())

    def _carried(self) -> Carried:
        """A report of phase t counts N a_t / (n_t delta_t) times 1 - q_t where it shows the itemset, else q_t."""
        told, n, n_phases = self.told(self.full), self.n_records, len(self.evidence.phases)
        weights, counts = np.zeros((2, len(self.rows), n_phases, 2))
        for at, phase in enumerate(self.evidence.phases):
            q, asked = phase.channel.response.q, told.share[at] > 0
            counts_for = n * told.share[at] / (phase.n_records * phase.channel.response.slope)
            weights[:, at] = np.stack([(1 - q) * counts_for, q * counts_for], axis=1)
            counts[:, at] = np.stack([told.shown[at], phase.n_records - told.shown[at]], axis=1) * asked[:, None]
        firsts = np.arange(len(self.rows) + 1) * n_phases
        few = carried_in_lists(firsts, weights.reshape(-1, 2), counts.reshape(-1, 2), n)
        return few.summary(self.rows, n, lambda _: None)

    def covariance(self, masks: Sequence[int]) -> Floats:
        return of_pairs(len(self.rows), masks, self._of_two)

    def _of_two(self, one: int, other: int) -> Floats:
        n = self.n_records
        first, second, together = self._share(one), self._share(other), self._share(one | other)
        cut = any(phase.cuts for phase in self.evidence.phases)
        result: Floats = np.zeros(len(self.rows)) if cut else -n * (together - first * second)
        for at, phase in enumerate(self.evidence.phases):
            channel = phase.channel.response
            r_one, r_other = channel.q + channel.slope * first, channel.q + channel.slope * second
            both = r_one if one == other else channel.both(first, second, together)
            counts_for = self.told(one).share[at] * self.told(other).share[at]
            result += n**2 * counts_for * (both - r_one * r_other) / (channel.slope**2 * phase.n_records)
        return result

    @cached_property
    def doubtful(self) -> Truths:
        """Few reports show it; or it was barely chosen by the first phase, or phases say different things of it."""
        doubtful: Truths = (self.told(self.full).shown.sum(axis=0) < FEW) | self._barely_chosen | self._apart
        return doubtful

    def _by_phase(self, at: int) -> tuple[Floats, Floats]:
        """What one phase alone says of each itemset, with its standard error."""
        phase = self.evidence.phases[at]
        channel = phase.channel.response
        rate = self.told(self.full).shown[at] / phase.n_records
        return (rate - channel.q) / channel.slope, np.sqrt(rate * (1 - rate) / phase.n_records) / channel.slope

    @property
    def _barely_chosen(self) -> Truths:
        """Itemsets of both phases that the first would have left out with three standard errors less."""
        both = self.told(self.full).share[0] > 0
        both &= (self.told(self.full).share[1:] > 0).any(axis=0)
        if not both.any() or self.rows.shape[1] != 1:
            return np.zeros(len(self.rows), bool)
        chosen = self.evidence.chosen_items()
        first = self.evidence.family(chosen)._by_phase(0)[0] if len(chosen) else np.zeros(1)
        share, error = self._by_phase(0)
        barely: Truths = both & (share - 3 * error < first.min())
        return barely

    @property
    def _apart(self) -> Truths:
        """Itemsets of which two phases differ by three standard errors: they cut baskets differently."""
        told = self.told(self.full).share > 0
        apart = np.zeros(len(self.rows), bool)
        share, error = self._by_phase(0)
        for at in range(1, len(self.evidence.phases)):
            other, its_error = self._by_phase(at)
            apart |= told[0] & told[at] & (np.abs(share - other) > 3 * np.hypot(error, its_error))
        return apart

    @cached_property
    def shown(self) -> Observed:
        every = [np.full(len(self.rows), self.n_records)]
        every += [self.told(mask).shown.sum(axis=0) for mask in range(1, self.full + 1)]
        return np.stack(every, axis=1)


def phase_of(reports: Collected, max_counts: int = MAX_COUNTS) -> Phase:
    """The reports of one plan."""
    channel = reports.channel
    assert isinstance(channel, BasketChannel)
    most = reports.plan.unit.max_size
    is_ranking = channel.response.length == 1 < channel.response.n_keys and most != 1
    cuts = channel.cuts(most)
    limit = max_hashes(max_counts)

    def keys_of(batch: Batch, counts: Multiplicities | None) -> KeysTold:
        return KeysTold(channel, batch, counts, max_hashes=limit)

    return Phase(channel, reports.counter_by(("keys", limit), keys_of), reports.n_rows, is_ranking, cuts)


@evidence_by.register(BasketChannel)
def _of_baskets(
    channel: BasketChannel, reports: Collected, items: npt.NDArray[np.int32] | None, max_counts: int
) -> SampledEvidence:
    return SampledEvidence([phase_of(reports, max_counts)], provenance=provenance_of(reports))
