"""Compiled drawing of questions and answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled
from bosket.randomness.kernels import PRECISION, below

_SHIFT = 64 - PRECISION


@compiled
def answer_block(
    bits: Any,
    lanes: Any,
    asked: Any,
    strides: Any,
    answers: Any,
    starts: Any,
    sizes: Any,
    thresholds: Any,
    drawn: Any,
    done: int,
    random: Any,
    question: Any,
    answer: Any,
) -> tuple[int, int]:
    """Draw a question for every row from ``done`` on, and its answer, until the random words run out.

    lanes[j], lanes[j + 1]   the bits of attribute j, one of which is set
    asked, strides           a row per question: its attributes, -1 behind the last, and what a value of each counts for
    answers, starts          the answer of each combination of values, those of question q from starts[q] on
    sizes                    the number of answers of each question
    thresholds               the true answer is given when 53 random bits are below this, else any, all alike
    drawn                    shares of the questions, added up

    Whatever the record and the coins are, as much is drawn.
    """
    n_rows = bits.shape[0]
    total = drawn[drawn.size - 1]
    used = 0
    row = done
    while row < n_rows:
        at, used = below(total, random, used)
        if at < 0 or used >= random.size:
            break
        coin = np.int64(random[used] >> np.uint64(_SHIFT))
        used += 1
        q = np.searchsorted(drawn, at, side="right")
        other, used = below(sizes[q], random, used)
        if other < 0:
            break
        place = np.int64(0)
        for j in range(asked.shape[1]):
            attribute = asked[q, j]
            if attribute < 0:
                break
            value = np.int64(0)
            for lane in range(lanes[attribute], lanes[attribute + 1]):
                has = np.int64((bits[row, lane >> 6] >> np.uint64(lane & 63)) & np.uint64(1))
                value += has * (lane - lanes[attribute])
            place += value * strides[q, j]
        truth = answers[starts[q] + place]
        keeps = np.int64(coin < thresholds[q])
        question[row] = q
        answer[row] = keeps * truth + (1 - keeps) * other
        row += 1
    return row, used
