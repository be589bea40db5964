"""The compiled inner loop of :mod:`bosket.randomness`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bosket.compiling import compiled, popcount

PRECISION = 53
LEVELS = 54  # an even number, since levels are done in pairs: below the last bit a threshold goes on with a 0
EAGER = 8  # levels done for every word of a run, without a branch; one word in five is undecided after them
RUN = 128  # words in a run
NEED = RUN * LEVELS  # random words that a run can use at most


@compiled
def xor_bernoulli_block(
    block: Any,
    done: int,
    set_planes: Any,
    clear_planes: Any,
    set_always: Any,
    clear_always: Any,
    lanes: Any,
    random: Any,
    eager: int,
) -> tuple[int, int]:
    """Flip the words of ``block`` from ``done`` on, until it ends or ``random`` might run out.

    Returns how far it came and how many random words it used.  Word i holds the lanes of column i mod n_columns; row
    ``level`` of the planes holds one bit of every threshold, the most significant first.  ``below`` collects the lanes
    with U < T: at the first level where U and T differ, T has the 1.  ``eager`` levels, an even number, are done for
    every word.  The words still undecided then are listed and the list is thinned out level by level: no branch
    depends on a single random word, since it would be mispredicted half the time.
    """
    n_columns = lanes.size
    undecided = np.empty(RUN, np.uint64)
    below = np.empty(RUN, np.uint64)
    waiting = np.empty(RUN + 1, np.int64)
    used = 0
    i = done
    while i < block.size and used + NEED <= random.size:
        first = i % n_columns
        n = min(RUN, n_columns - first, block.size - i)
        x = block[i : i + n]
        lane = lanes[first : first + n]
        undecided[:n] = lane
        below[:n] = 0
        for level in range(0, eager, 2):  # two levels a pass: half the loads and stores
            ones, ones2 = set_planes[level, first : first + n], set_planes[level + 1, first : first + n]
            zeros, zeros2 = clear_planes[level, first : first + n], clear_planes[level + 1, first : first + n]
            u, u2 = random[used : used + n], random[used + n : used + 2 * n]
            used += 2 * n
            for j in range(n):
                left = undecided[j]
                bit = (x[j] & ones[j]) | (~x[j] & zeros[j])
                differ = u[j] ^ bit
                under = below[j] | (left & differ & bit)
                left &= ~differ
                bit = (x[j] & ones2[j]) | (~x[j] & zeros2[j])
                differ = u2[j] ^ bit
                below[j] = under | (left & differ & bit)
                undecided[j] = left & ~differ
        m = 0
        for j in range(n):
            waiting[m] = j
            m += undecided[j] != 0
        level = eager
        while m > 0 and level < LEVELS:
            ones, zeros = set_planes[level, first : first + n], clear_planes[level, first : first + n]
            still = 0
            for q in range(m):
                j = waiting[q]
                bit = (x[j] & ones[j]) | (~x[j] & zeros[j])
                differ = random[used + q] ^ bit
                left = undecided[j]
                below[j] |= left & differ & bit
                left &= ~differ
                undecided[j] = left
                waiting[still] = j
                still += left != 0
            used += m
            m = still
            level += 1
        ones, zeros = set_always[first : first + n], clear_always[first : first + n]
        for j in range(n):
            x[j] ^= (below[j] | (x[j] & ones[j]) | (~x[j] & zeros[j])) & lane[j]
        i += n
    return i, used


@compiled
def below(bound: Any, random: Any, used: int) -> tuple[Any, int]:
    """A uniform number in [0, bound) and the words used so far; without bias, by rejection.

    Returns -1 when the random words run out.
    """
    period = np.uint64(bound)
    while used < random.size:
        word = random[used]
        used += 1
        if word >= period or word >= (np.uint64(0) - period) % period:  # 2**64 mod bound words are too many
            return np.int64(word % period), used
    return -1, used


@compiled
def keep_subset_block(bits: Any, keep: Any, done: int, random: Any) -> tuple[int, int]:
    """Of the set bits of each row, from row ``done`` on, keep keep[row], until the random words run out.

    Selection sampling: with ``left`` items still to come and ``need`` still to be kept, the next one stays with
    probability need / left.  A row is written only when it is complete, so that it can be begun again.
    """
    n_rows, n_words = bits.shape
    chosen = np.empty(n_words, np.uint64)
    one = np.uint64(1)
    used = 0
    row = done
    while row < n_rows:
        left = np.int64(0)
        for w in range(n_words):
            left += popcount(bits[row, w])
        need = keep[row]
        ran_out = False
        for w in range(n_words):
            word = bits[row, w]
            kept = np.uint64(0)
            while word != 0 and not ran_out:
                lowest = word & (~word + one)
                word ^= lowest
                drawn, used = below(left, random, used)
                ran_out = drawn < 0
                stays = drawn < need
                kept |= lowest * np.uint64(stays)
                need -= np.int64(stays)
                left -= 1
            chosen[w] = kept
        if ran_out:
            break
        bits[row] = chosen
        row += 1
    return row, used


@compiled
def insert_lanes_block(bits: Any, avoid: Any, count: Any, n_lanes: int, done: int, random: Any) -> tuple[int, int]:
    """Set count[row] lanes outside avoid[row] in each row, from row ``done`` on, until the random words run out."""
    n_rows, n_words = bits.shape
    taken = np.empty(n_words, np.uint64)
    added = np.empty(n_words, np.uint64)
    used = 0
    row = done
    while row < n_rows:
        draws = np.int64(0)
        for w in range(n_words):
            taken[w] = avoid[row, w]
            added[w] = 0
            draws += popcount(avoid[row, w])
        number = np.int64(0)
        ran_out = False
        while number < draws and not ran_out:
            lane, used = below(n_lanes, random, used)
            if lane < 0:
                ran_out = True
            else:
                w = lane >> 6
                bit = np.uint64(1) << np.uint64(lane & 63)
                if taken[w] & bit == 0:
                    taken[w] |= bit
                    added[w] |= bit * np.uint64(number < count[row])
                    number += 1
        if ran_out:
            break
        bits[row] |= added
        row += 1
    return row, used


@compiled
def row_sizes(bits: Any, sizes: Any) -> None:
    """sizes[r] = the number of set bits of row r."""
    for row in range(bits.shape[0]):
        total = np.int64(0)
        for word in bits[row]:
            total += popcount(word)
        sizes[row] = total


@compiled
def binomial_by_inversion(n: int, p: float, word: Any) -> int:
    """The number whose distribution function first passes one uniform number; for n p below 10 and p up to 1/2."""
    left = (np.float64(word >> np.uint64(11)) + 0.5) / 9007199254740992.0
    mass = math.exp(n * math.log1p(-p))
    k = 0
    while left > mass and k < n and mass > 0.0:
        left -= mass
        k += 1
        mass *= (n - k + 1) / k * (p / (1.0 - p))
    return k


@compiled
def binomial_by_rejection(n: int, p: float, random: Any, used: int) -> tuple[int, int]:
    """A binomial number for n p of at least 10 and p up to 1/2, and how many random words are used then; -1 when they
    run out, and the draw goes on with fresh ones: what was rejected has no part in it.

    Hoermann (1993), "The generation of binomial random variates", algorithm BTRS: transformed rejection, exact up to
    rounding.
    """
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * spread
    mode = math.floor((n + 1) * p)
    at_mode = math.lgamma(mode + 1.0) + math.lgamma(n - mode + 1.0)
    log_odds = math.log(p / (1.0 - p))
    while used + 2 <= random.size:
        u = (np.float64(random[used] >> np.uint64(11)) + 0.5) / 9007199254740992.0 - 0.5
        v = (np.float64(random[used + 1] >> np.uint64(11)) + 0.5) / 9007199254740992.0
        used += 2
        near = 0.5 - abs(u)
        k = math.floor((2.0 * a / near + b) * u + n * p + 0.5)
        if 0.0 <= k <= n:
            if near >= 0.07 and v <= 0.92 - 4.2 / b:
                return int(k), used
            log_ratio = at_mode - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0) + (k - mode) * log_odds
            if math.log(v * alpha / (a / (near * near) + b)) <= log_ratio:
                return int(k), used
    return -1, used


@compiled
def multinomial_block(counts: Any, total: int, conditional: Any, done: int, random: Any) -> int:
    """Fill the cells of ``counts`` from number ``done`` on, row by row, until the random words run out.

    Cell j of a row is binomial among what the cells before it have left, with probability conditional[j].  Returns the
    number of cells that are filled.
    """
    n_rows, n_cells = counts.shape
    cell, used = done, 0
    while cell < n_rows * n_cells:
        row, column = cell // n_cells, cell % n_cells
        left = total
        for before in range(column):
            left -= counts[row, before]
        p = min(conditional[column], 1.0 - conditional[column])
        k = 0
        if p <= 0.0 or left == 0:
            k = 0
        elif left * p < 10.0:
            if used >= random.size:
                return cell
            k = binomial_by_inversion(left, p, random[used])
            used += 1
        else:
            k, used = binomial_by_rejection(left, p, random, used)
            if k < 0:
                return cell
        counts[row, column] = k if conditional[column] <= 0.5 else left - k
        cell += 1
    return cell
