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


@compiled
def _place(attributes: Any, start: int, stop: int, wanted: int) -> int:
    """Where an attribute stands among those of a question, which rise; -1 where it does not."""
    while start < stop:
        middle = (start + stop) // 2
        if attributes[middle] < wanted:
            start = middle + 1
        elif attributes[middle] > wanted:
            stop = middle
        else:
            return middle
    return -1


@compiled
def _is_about(attributes: Any, start: int, stop: int, wanted: Any) -> bool:
    """Whether a question is about all of these attributes."""
    for j in range(wanted.size):  # noqa: SIM110  # a plain loop compiles
        if _place(attributes, start, stop, wanted[j]) < 0:
            return False
    return True


@compiled
def _shortest(wanted: Any, by_starts: Any) -> int:
    """The one of these attributes that fewest questions are about."""
    best: int = wanted[0]
    for j in range(1, wanted.size):
        if by_starts[wanted[j] + 1] - by_starts[wanted[j]] < by_starts[best + 1] - by_starts[best]:
            best = wanted[j]
    return best


@compiled
def _are_alike(one: Any, other: Any) -> bool:
    for j in range(one.size):  # noqa: SIM110  # a plain loop compiles
        if one[j] != other[j]:
            return False
    return True


@compiled
def count_tellers(
    groups: Any, attributes: Any, starts: Any, cells: Any, sizes: Any, by: Any, by_starts: Any, among: Any, number: Any,
    work: Any,
) -> None:  # fmt: skip
    """For rows of attributes, rising: the questions about all of them, and the combinations of values to look at.

    attributes, sizes, starts   the attributes of question q and their numbers of values, from starts[q] on
    cells                       where its combinations of values begin
    by, by_starts               the questions about attribute j, from by_starts[j] on
    among                       the questions that count
    """
    for r in range(groups.shape[0]):
        wanted = groups[r]
        number[r] = 0
        work[r] = 0
        if wanted.size == 0:
            continue
        if r > 0 and _are_alike(wanted, groups[r - 1]):
            number[r] = number[r - 1]
            work[r] = work[r - 1]
            continue
        best = _shortest(wanted, by_starts)
        for at in range(by_starts[best], by_starts[best + 1]):
            q = by[at]
            if among[q] and _is_about(attributes, starts[q], starts[q + 1], wanted):
                left = cells[q + 1] - cells[q]
                for j in range(wanted.size):
                    if j == 0 or wanted[j] != wanted[j - 1]:
                        left //= sizes[_place(attributes, starts[q], starts[q + 1], wanted[j])]
                number[r] += 1
                work[r] += left


@compiled
def list_tellers(
    groups: Any, attributes: Any, starts: Any, by: Any, by_starts: Any, among: Any, firsts: Any, found: Any
) -> None:
    """For rows of attributes: the questions about all of them, those of row r from firsts[r] on."""
    for r in range(groups.shape[0]):
        wanted = groups[r]
        at = firsts[r]
        if at == firsts[r + 1]:
            continue
        if r > 0 and _are_alike(wanted, groups[r - 1]):
            for earlier in range(firsts[r - 1], firsts[r]):
                found[at] = found[earlier]
                at += 1
            continue
        best = _shortest(wanted, by_starts)
        for place in range(by_starts[best], by_starts[best + 1]):
            q = by[place]
            if among[q] and _is_about(attributes, starts[q], starts[q + 1], wanted):
                found[at] = q
                at += 1


@compiled
def answers_within(
    groups: Any, values: Any, attributes: Any, sizes: Any, strides: Any, starts: Any, cells: Any, answers: Any,
    whole: Any, answer_starts: Any, plain: Any, numbers: Any, firsts: Any, tellers: Any, n_answers: Any, shown: Any,
) -> None:  # fmt: skip
    """The answers of questions that stand for rows of values, and how many people gave one of them.

    groups, values        rows of attributes, rising, and of one value of each
    answers, cells        the answer of each combination of values, those of question q from cells[q] on
    whole, answer_starts  how many combinations each answer stands for, those of q from answer_starts[q] on
    plain                 whether every combination is an answer of its own
    numbers               how many people gave each answer; none are counted where it is empty
    firsts, tellers       the questions of row r, from firsts[r] on
    n_answers             becomes their number; 0 where an answer stands for some of the combinations of a row that has
                          these values and for others too: then the question does not tell
    """
    seen = np.zeros(max(1, np.max(answer_starts[1:] - answer_starts[:-1])), np.int64)
    widest = max(1, np.max(starts[1:] - starts[:-1]))
    size, stride, digit = np.empty(widest, np.int64), np.empty(widest, np.int64), np.empty(widest, np.int64)
    counted = numbers.size > 0
    for r in range(groups.shape[0]):
        clashes = False
        for j in range(1, groups.shape[1]):
            if groups[r, j] == groups[r, j - 1]:
                clashes = True
        for entry in range(firsts[r], firsts[r + 1]):
            n_answers[entry] = 0
            shown[entry] = 0
            if clashes:
                continue
            q = tellers[entry]
            cell = cells[q]
            free = 0
            left = 1
            j = 0
            for place in range(starts[q], starts[q + 1]):
                if j < groups.shape[1] and attributes[place] == groups[r, j]:
                    cell += values[r, j] * strides[place]
                    j += 1
                elif sizes[place] > 1:
                    size[free] = sizes[place]
                    stride[free] = strides[place]
                    digit[free] = 0
                    left *= sizes[place]
                    free += 1
            if plain[q] and not counted:
                n_answers[entry] = left
                continue
            first = answer_starts[q]
            begun = 0
            for turn in range(1 if plain[q] else 2):  # the second one wipes what was seen
                for _ in range(left):
                    answer = answers[cell]
                    if turn == 1:
                        seen[answer] = 0
                    else:
                        seen[answer] += 0 if plain[q] else 1
                        begun += 1 if seen[answer] == 1 else 0
                        if plain[q] or seen[answer] == whole[first + answer]:
                            n_answers[entry] += 1
                            shown[entry] += numbers[first + answer] if counted else 0
                    at = free - 1
                    while at >= 0:
                        digit[at] += 1
                        cell += stride[at]
                        if digit[at] < size[at]:
                            break
                        cell -= digit[at] * stride[at]
                        digit[at] = 0
                        at -= 1
            if not plain[q] and begun != n_answers[entry]:
                n_answers[entry] = 0
                shown[entry] = 0
