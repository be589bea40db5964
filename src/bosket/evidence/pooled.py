"""Answers of several phases, read together: the people of the first count beside those of the second."""

from __future__ import annotations

from dataclasses import replace

from bosket.errors import DataError, PlanMismatchError
from bosket.evidence.answers import AnswersEvidence
from bosket.evidence.base import Evidence
from bosket.evidence.laws import law_of_answers
from bosket.evidence.of import Model, checked_model, provenance_of, without_if_too_large
from bosket.evidence.provenance import Provenance, together
from bosket.evidence.sampled import SampledEvidence
from bosket.mechanisms.questions.ask import Ask
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.channel import AskChannel, histograms
from bosket.mechanisms.questions.designs import Design
from bosket.reports import Reports
from bosket.tally import Tally


def pool(*phases: Reports | Tally, model: Model = "auto") -> Evidence:
    """Evidence from all answers of a study in several phases, each person having answered in one of them.

    ``mine``, ``estimate`` and everything else takes what it returns.  The phases are reports of Ask about one table
    with one gamma; a design that was refined by the answers of another must come with these.  Or they are reports of
    Ask.baskets, those of the first phase first, which no law is fitted to.
    """
    if phases and all(isinstance(getattr(phase, "channel", None), BasketChannel) for phase in phases):
        return SampledEvidence.of(*phases)
    asked = [_ask_of(phase) for phase in phases]
    if not phases:
        raise DataError("There are no answers to pool.")
    _refuse_strangers(phases, asked)
    questions = tuple(question for one in asked for question in one.design.questions)
    numbers = []
    for phase in phases:
        assert isinstance(phase.channel, AskChannel)
        counts = phase.counts if isinstance(phase, Tally) else None
        numbers += histograms(phase.channel.sizes, phase.batch, counts)
    assert isinstance(phases[0].channel, AskChannel)
    asked_of = [int(one.sum()) for one in numbers]
    shift = max(0, max(asked_of).bit_length() - 32)  # tallies may count more people than a share has bits
    shares = [max(1, number >> shift) for number in asked_of]
    channel = AskChannel(phases[0].channel.domain, Design(questions, shares), asked[0].gamma)
    unbiased = AnswersEvidence(channel, numbers, provenance=_provenance(phases))
    law = checked_model(model)
    if law is None:
        return unbiased
    return without_if_too_large(lambda: law_of_answers(unbiased, law), unbiased, model)


def _ask_of(phase: Reports | Tally) -> Ask:
    if not isinstance(phase, Reports | Tally) or not isinstance(phase.plan.mechanism, Ask):
        raise DataError(
            "Reports of Ask, or tallies of them, can be pooled, named one after the other: pool(first, second).",
            hint="Batches of one plan are put together with Reports.concat.",
        )
    return phase.plan.mechanism


def _refuse_strangers(phases: tuple[Reports | Tally, ...], asked: list[Ask]) -> None:
    digests = [phase.plan.digest for phase in phases]
    if len(set(digests)) < len(digests):
        raise PlanMismatchError(
            "Phases must have a plan each, and two of these have the same.",
            hint="Batches of one plan are put together with Reports.concat.",
        )
    for phase, one in zip(phases, asked, strict=True):
        if phase.domain != phases[0].domain or one.gamma != asked[0].gamma:
            raise PlanMismatchError("Phases of one study must have one table of attributes and one gamma.")
        if one.design.follows is not None and one.design.follows not in digests:
            raise PlanMismatchError(
                f"A design that was refined by the answers of plan {one.design.follows[:12]} must be pooled with them.",
                hint="pool(first, second) takes the reports of both phases.",
            )


def _provenance(phases: tuple[Reports | Tally, ...]) -> Provenance:
    """That of the last phase, with the names of all."""
    every = [provenance_of(phase) for phase in phases]
    return replace(together(every), mechanism=", then ".join(str(one.mechanism) for one in every))
