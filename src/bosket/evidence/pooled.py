"""Answers of several phases, read together: the people of the first count beside those of the second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bosket.collected import Collected
from bosket.errors import DataError, PlanMismatchError
from bosket.evidence.answers import AnswersEvidence, shown_in
from bosket.evidence.base import Evidence
from bosket.evidence.laws import law_of_answers
from bosket.evidence.of import Model, checked_model, provenance_of, without_if_too_large
from bosket.evidence.provenance import Provenance, together
from bosket.evidence.sampled import SampledEvidence
from bosket.mechanisms.questions.answer_reports import Shown
from bosket.mechanisms.questions.ask import Ask
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.designs import Design
from bosket.mechanisms.questions.table_channels import HASHING, RESPONSE
from bosket.reports import refuse_repeated_over


def pool(*phases: Collected, model: Model = "auto") -> Evidence:
    """Evidence from all answers of a study in several phases, each person having answered in one of them.

    ``mine``, ``estimate`` and everything else takes what it returns.  The phases are reports of Ask about one table
    with one gamma; a design that was refined by the answers of another must come with these.  Or they are reports of
    Ask.baskets, those of the first phase first, which no law is fitted to.

    Where reports name their respondents, somebody who answered more often than the strictest of their plans allows,
    over all phases, is refused.  Of tallies and of reports that name nobody that is not known.
    """
    if phases and all(isinstance(getattr(phase, "channel", None), BasketChannel) for phase in phases):
        return SampledEvidence.of(*phases)
    asked = [_ask_of(phase) for phase in phases]
    refuse_repeated_over(phases)
    if not phases:
        raise DataError("There are no answers to pool.")
    _refuse_strangers(phases, asked)
    questions = tuple(question for one in asked for question in one.design.questions)
    parts, words = [], []
    for phase in phases:
        assert isinstance(phase.channel, AskChannel)
        parts.append(shown_in(phase.channel, phase))
        words += [HASHING if is_hashed else RESPONSE for is_hashed in phase.channel.hashed]
    shown = Shown.together(parts)
    assert isinstance(phases[0].channel, AskChannel)
    shift = max(0, int(shown.asked.max()).bit_length() - 32)  # tallies may count more people than a share has bits
    design = Design(questions, np.maximum(shown.asked >> shift, 1).tolist())
    channel = AskChannel(phases[0].channel.domain, design, asked[0].gamma, words)
    unbiased = AnswersEvidence(channel, shown, provenance=_provenance(phases))
    law = checked_model(model)
    if law is None:
        return unbiased
    return without_if_too_large(lambda: law_of_answers(unbiased, law), unbiased, model)


def _ask_of(phase: Collected) -> Ask:
    if not isinstance(phase, Collected) or not isinstance(phase.plan.mechanism, Ask):
        raise DataError(
            "Reports of Ask, or tallies of them, can be pooled, named one after the other: pool(first, second).",
            hint="Batches of one plan are put together with Reports.concat.",
        )
    return phase.plan.mechanism


def _refuse_strangers(phases: tuple[Collected, ...], asked: list[Ask]) -> None:
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


def _provenance(phases: tuple[Collected, ...]) -> Provenance:
    """That of the last phase, with the names of all."""
    every = [provenance_of(phase) for phase in phases]
    return replace(together(every), mechanism=", then ".join(str(one.mechanism) for one in every))
