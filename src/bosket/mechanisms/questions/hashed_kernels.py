"""Compiled drawing of questions and answers where some questions are answered through a hash function."""

from __future__ import annotations

from typing import Any

import numpy as np

from bosket.compiling import compiled
from bosket.mechanisms.questions.hash_kernels import bucket_of
from bosket.randomness.kernels import PRECISION, below

_SHIFT = 64 - PRECISION


@compiled
def hashed_block(
    bits: Any,
    lanes: Any,
    asked: Any,
    strides: Any,
    answers: Any,
    starts: Any,
    n_values: Any,
    hashed: Any,
    thresholds: Any,
    drawn: Any,
    done: int,
    random: Any,
    question: Any,
    answer: Any,
    seed: Any,
) -> tuple[int, int]:
    """Draw a question for every row from ``done`` on, and what is told, until the random words run out.

    As :func:`bosket.mechanisms.questions.kernels.answer_block`, and

    n_values   the number of answers of each question, or of buckets
    hashed     which questions are hashed: then the bucket of the true answer under a seed is told when 53 random bits
               are below the threshold, else any other bucket, all alike

    The loop over attributes is that of the other kernel, which one function for both would make slower by a quarter.
    A seed is drawn for every row, whatever it is asked, and told where the question is hashed.  So as much is drawn
    whatever the record, the question and the coins are.
    """
    n_rows = bits.shape[0]
    total = drawn[drawn.size - 1]
    used = 0
    row = done
    while row < n_rows:
        at, used = below(total, random, used)
        if at < 0 or used + 2 > random.size:
            break
        coin = np.int64(random[used] >> np.uint64(_SHIFT))
        named = random[used + 1]
        used += 2
        q = np.searchsorted(drawn, at, side="right")
        is_hashed = np.int64(hashed[q])
        other, used = below(n_values[q] - is_hashed, random, used)
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
        if is_hashed:
            truth = bucket_of(named, truth, n_values[q])
            other += np.int64(other >= truth)
            seed[row] = named
        keeps = np.int64(coin < thresholds[q])
        question[row] = q
        answer[row] = keeps * truth + (1 - keeps) * other
        row += 1
    return row, used
