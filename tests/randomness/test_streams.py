"""The source of chance: exact thresholds, the right law, streams that never repeat, seeds that always do."""

from __future__ import annotations

import copy
import hashlib
import itertools
import math
import os
import pickle
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bosket.errors import ParameterError
from bosket.randomness import Randomness, Secure, Seeded, Thresholds
from bosket.randomness.kernels import EAGER, LEVELS, NEED, PRECISION, RUN, xor_bernoulli_block
from tests.stats import assert_plausible, assert_rejected, binomial, chi_square

pytestmark = pytest.mark.own_chance

ONE = 1 << PRECISION
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]


@pytest.fixture(autouse=True)
def _forks_are_wanted() -> Iterator[None]:
    """Newer Pythons warn of a fork beside threads; here it is the very thing under test."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        yield


def flip(block: Words, ones: Thresholds, zeros: Thresholds, random: Words, eager: int) -> tuple[int, int]:
    result = xor_bernoulli_block(
        block, 0, ones.planes, zeros.planes, ones.always, zeros.always, ones.lanes, random, eager
    )
    return int(result[0]), int(result[1])


@pytest.mark.slow
@given(st.integers(0, ONE), st.integers(0, ONE - 1), st.integers(0, 63), st.booleans())
def test_comparison_is_exact(threshold: int, uniform: int, lane: int, bit: bool) -> None:
    """The bit-sliced comparison is U < T for any U and T, T = 0 and T = 2**53 included."""
    for u in {uniform, max(0, threshold - 1), min(threshold, ONE - 1), min(threshold + 1, ONE - 1)}:
        thresholds = Thresholds(np.where(np.arange(64) == lane, threshold / ONE, 0.5))
        nothing = Thresholds(np.zeros(64))
        random = np.zeros(NEED, np.uint64)
        for level in range(PRECISION):
            random[level] = np.uint64((u >> (PRECISION - 1 - level) & 1) << lane)
        block = np.array([1 << lane if bit else 0], np.uint64)
        ones, zeros = (thresholds, nothing) if bit else (nothing, thresholds)
        flip(block, ones, zeros, random, EAGER)
        flipped = bool(int(block[0]) >> lane & 1) != bit
        assert flipped == (u < threshold)


def flips_by_hand(
    block: list[int], ones: list[int], zeros: list[int], n_words: int, random: list[int], eager: int
) -> tuple[list[int], int, int]:
    """The whole layout in plain integers: which random word serves which word of the block at which level.

    Each lane takes its bits of U from its word's random words in turn, and is flipped if U < T.
    """
    columns = n_words * max(1, RUN // n_words)
    result, done, used = list(block), 0, 0
    while done < len(block) and used + NEED <= len(random):
        n = min(RUN, columns - done % columns, len(block) - done)
        drawn: list[list[int]] = [[] for _ in range(n)]
        thresholds = [
            {
                lane: (ones if block[done + j] >> lane & 1 else zeros)[64 * ((done + j) % n_words) + lane]
                for lane in range(64)
                if 64 * ((done + j) % n_words) + lane < len(ones)
            }
            for j in range(n)
        ]

        def is_open(j: int, drawn: list[list[int]] = drawn, thresholds: list[dict[int, int]] = thresholds) -> bool:
            """Whether some lane's bits of U so far are still those of its T."""
            level = len(drawn[j])
            return any(
                all((word >> lane & 1) == (2 * t >> (LEVELS - 1 - at) & 1) for at, word in enumerate(drawn[j][:level]))
                for lane, t in thresholds[j].items()
            )

        waiting = list(range(n))
        for level in range(LEVELS):
            if level >= eager:
                waiting = [j for j in waiting if is_open(j)]
            for q, j in enumerate(waiting):
                drawn[j].append(random[used + q])
            used += len(waiting)
        for j in range(n):
            for lane, t in thresholds[j].items():
                seen = len(drawn[j])
                u = sum((word >> lane & 1) << (LEVELS - 1 - at) for at, word in enumerate(drawn[j]))
                is_below = u < (2 * t >> (LEVELS - seen) << (LEVELS - seen))
                if is_below or t == ONE:
                    result[done + j] ^= 1 << lane
        done += n
    return result, done, used


@pytest.mark.slow
@pytest.mark.parametrize("eager", [EAGER, LEVELS])
@pytest.mark.parametrize("n_lanes", [1, 70, 197, 64 * 100, 64 * RUN, 64 * RUN + 67])
def test_kernel_is_the_layout_in_plain_integers(n_lanes: int, eager: int) -> None:
    """Narrow rows that are tiled, rows wider than a run, probabilities down to 2**-53: bit for bit, word for word."""
    rng = np.random.default_rng(n_lanes)
    grid = [0, 1, 0.5, 0.25, 0.3, 0.9, 1e-3, 2**-53, 1 - 2**-53, 2**-9, 3 * 2**-12]
    ones, zeros = Thresholds(rng.choice(grid, n_lanes)), Thresholds(rng.choice(grid, n_lanes))
    n_rows = -(-300 // ones.n_words) + 1
    block = rng.integers(0, 1 << 64, (n_rows, ones.n_words), dtype=np.uint64) & ones.lanes
    random = rng.integers(0, 1 << 64, 4 * NEED, dtype=np.uint64)
    set_t, clear_t = ((thresholds.probability * ONE).astype(int).tolist() for thresholds in (ones, zeros))
    expected = flips_by_hand(block.ravel().tolist(), set_t, clear_t, ones.n_words, random.tolist(), eager)
    flat = block.ravel().copy()
    done, used = flip(flat, ones.tiled(RUN), zeros.tiled(RUN), random, eager)
    assert (flat.tolist(), done, used) == expected


def test_wide_rows_follow_their_own_probabilities() -> None:
    """9000 lanes, more than a run holds, each against its own p: the sum of squared z against chi-square.

    At n = 3000, lanes that took the p of others (0.1 for 0.3 in one lane of a thousand) would be caught.
    """
    n, n_lanes = 3000, 9000
    p = np.random.default_rng(6).choice([0.1, 0.3, 0.5, 0.9], n_lanes)
    bits = Seeded(6).bernoulli(Thresholds(p), n)
    counts = np.unpackbits(bits.view(np.uint8).reshape(n, -1), axis=1, bitorder="little").sum(axis=0)[:n_lanes]

    def p_value(of: Floats) -> float:
        return float(stats.chi2.sf(((counts - n * of) ** 2 / (n * of * (1 - of))).sum(), n_lanes))

    assert_plausible(p_value(p))
    wrong = p.copy()
    wrong[np.flatnonzero(p == 0.3)[:9]] = 0.1
    assert_rejected(p_value(wrong))


def test_small_calls_always_do_all_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a lane is decided, together with the report, would tell the truth; on a device it must not show in time."""
    seen: list[tuple[int, int]] = []

    def spy(block: Words, done: int, *rest: Any) -> Any:
        result = xor_bernoulli_block(block, done, *rest)
        seen.append((block.size, int(result[1])))
        return result

    monkeypatch.setattr("bosket.randomness.streams.xor_bernoulli_block", spy)
    for seed in range(20):
        Seeded(seed).bernoulli(Thresholds(np.full(100, 0.75)), 3)
    assert set(seen) == {(6, 6 * LEVELS)}


def test_bits_that_would_be_copied_are_refused() -> None:
    """Flipping a copy would hand the raw bits back unrandomized: the worst that could happen."""
    thresholds = Thresholds(np.full(128, 0.5))
    wide = np.zeros((100, 3), np.uint64)
    for bits in (
        wide[:, :2],
        np.asfortranarray(wide[:, :2]),
        wide,
        np.zeros((100, 2), np.int64),
        np.zeros(2, np.uint64),
    ):
        with pytest.raises(ValueError, match="words"):
            Seeded(1).xor_bernoulli(bits, when_set=thresholds, when_clear=thresholds)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="fit"):
        Seeded(1).xor_bernoulli(wide[:, :2].copy(), when_set=thresholds, when_clear=Thresholds(np.full(127, 0.5)))


def test_realised_probability_is_the_double_asked_for() -> None:
    for p in (0.5, 0.9, 0.7, 1.0, 0.0, 1 - 2**-53, math.nextafter(0.75, 1)):
        assert Thresholds(p).probability[0] == p
    assert Thresholds(1e-17).probability[0] == 0.0  # finer than the grid: rounded, and said so
    assert Thresholds(0.1).probability[0] == pytest.approx(0.1, abs=2**-54)


def test_bits_follow_their_own_probabilities() -> None:
    """Each lane has its own law; off by 0.01 would be caught.  False alarm 1e-9 a lane, 150 lanes, both ways."""
    p = np.linspace(0, 1, 150)
    n = 400_000
    bits = Seeded(1).bernoulli(Thresholds(p), n)
    lanes = np.unpackbits(bits.view(np.uint8).reshape(n, -1), axis=1, bitorder="little")
    assert not lanes[:, 150:].any(), "bits past the last lane must stay clear"
    counts = lanes[:, :150].sum(axis=0)
    assert counts[0] == 0
    assert counts[-1] == n
    for count, probability in zip(counts, p, strict=True):
        assert_plausible(binomial(int(count), n, probability))
        assert_rejected(binomial(int(count), n, probability + (0.01 if probability < 0.5 else -0.01)))


@pytest.mark.parametrize("p", [0.5, 0.1])
def test_neighbouring_bits_are_independent(p: float) -> None:
    """Pairs of adjacent lanes, words and rows against the product law; a correlation of 0.02 would be caught."""
    n = 100_000
    bits = Seeded(2).bernoulli(Thresholds(np.full(128, p)), n)
    lanes = np.unpackbits(bits.view(np.uint8).reshape(n, -1), axis=1, bitorder="little")
    law = np.array([(1 - p) ** 2, p * (1 - p), p * (1 - p), p**2])
    wrong = law + 0.02 * p * (1 - p) * np.array([1, -1, -1, 1])
    for a, b in ((lanes[:, :-1], lanes[:, 1:]), (lanes[:, :64], lanes[:, 64:]), (lanes[:-1], lanes[1:])):
        # each pair of a lane used once, so that the pairs are independent
        table = np.bincount((2 * a + b)[::2, ::2].ravel(), minlength=4)
        assert_plausible(chi_square(table, law))
        assert_rejected(chi_square(table, wrong))


def test_keystream_bytes_are_uniform() -> None:
    """Chi-square on bytes and monobit on bits of 16 MB; one byte value off by 10% would be caught."""
    words = Seeded(0).stream().words(1 << 21)
    counts = np.bincount(words.view(np.uint8), minlength=256)
    uniform = np.full(256, 1 / 256)
    wrong = uniform.copy()
    wrong[0] *= 1.1
    wrong[1] -= 0.1 / 256
    assert_plausible(chi_square(counts, uniform))
    assert_rejected(chi_square(counts, wrong))
    ones = int(np.bitwise_count(words).sum())
    assert_plausible(binomial(ones, 64 * words.size, 0.5))
    assert_rejected(binomial(ones, 64 * words.size, 0.501))


def test_flips_depend_on_the_bit_only_as_told() -> None:
    """Set and clear bits have their own thresholds; n = 400 000 tells 0.2 from 0.21."""
    n = 400_000
    truth = np.full((n, 1), 0x5555555555555555, np.uint64)
    rng = Seeded(3)
    noisy = truth.copy()
    rng.xor_bernoulli(noisy, when_set=Thresholds(np.full(64, 0.2)), when_clear=Thresholds(np.full(64, 0.05)))
    flipped = np.unpackbits((noisy ^ truth).view(np.uint8).reshape(n, -1), axis=1, bitorder="little").sum(axis=0)
    for lane, count in enumerate(flipped.tolist()):
        probability = 0.2 if lane % 2 == 0 else 0.05
        assert_plausible(binomial(count, n, probability))
        assert_rejected(binomial(count, n, probability + 0.01))


def test_integers_and_subsets_are_uniform() -> None:
    """Chi-square at 1e-9; a modulo bias as of 10 over 16 values would be caught by far."""
    rng = Seeded(4)
    n = 60_000
    for bound in (1, 3, 10, 100):
        drawn = rng.integers(bound, n)
        assert drawn.min() >= 0
        assert drawn.max() < bound
        if bound > 1:
            assert_plausible(chi_square(np.bincount(drawn, minlength=bound), np.full(bound, 1 / bound)))
    assert_rejected(chi_square(np.bincount(rng.integers(16, n) % 10, minlength=10), np.full(10, 0.1)))
    subsets = rng.subsets(5, 2, n)
    pairs = list(itertools.combinations(range(5), 2))
    counts = [int((subsets == pair).all(axis=1).sum()) for pair in pairs]
    assert sum(counts) == n, "rows are sorted pairs of different numbers"
    assert_plausible(chi_square(counts, np.full(10, 0.1)))
    assert rng.subsets(3, 0, 4).shape == (4, 0)
    assert (rng.subsets(4, 4, 3) == np.arange(4)).all()


def test_large_bound_is_not_biased() -> None:
    """bound = 3 * 2**60: taking words modulo it would favour the lowest third, 6 to 5 to 5."""
    drawn = Seeded(5).integers(3 << 60, 30_000)
    thirds = np.bincount(drawn // (1 << 60), minlength=3)
    assert_plausible(chi_square(thirds, np.full(3, 1 / 3)))
    assert_rejected(chi_square(thirds, np.array([6, 5, 5]) / 16))


def test_seeded_repeats_byte_for_byte_whatever_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    thresholds = Thresholds(np.full(70, 0.3))

    def draw() -> bytes:
        return Seeded(7).bernoulli(thresholds, 300_000).tobytes()

    first = draw()
    assert first == draw()
    monkeypatch.setattr("bosket.threads.n_threads", lambda: 1)
    assert first == draw()
    assert hashlib.sha256(first).hexdigest()[:16] == GOLDEN_SEED_7
    assert Seeded(8).bernoulli(thresholds, 300_000).tobytes() != first


# sha256 of the draw above; if it changes, every seeded result changes: say so in the changelog
GOLDEN_SEED_7 = "3292d304e14c26d4"


def test_no_two_streams_are_alike() -> None:
    """Within a key, between keys, after a copy, a pickle, a fork."""
    one = Secure()
    sources: list[Randomness] = [
        one,
        one,
        Secure(),
        copy.copy(one),
        copy.deepcopy(one),
        pickle.loads(pickle.dumps(one)),
    ]
    draws = [source.stream().words(4).tobytes() for source in sources]
    draws.append(_draw_in_fork(one))
    draws.append(one.stream().words(4).tobytes())
    assert len(set(draws)) == len(draws)


def _draw_in_fork(rng: Secure) -> bytes:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, rng.stream().words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    data = os.read(read, 64)
    os.close(read)
    os.close(write)
    return data


def test_streams_are_aes_from_their_own_counter() -> None:
    """Stream i is AES-256 of the blocks i * 2**64, i * 2**64 + 1, ...: by the block cipher itself, in any pieces."""
    key = hashlib.sha256(b"bosket.Seeded:9").digest()
    cipher = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()
    rng = Seeded(9)
    for number in range(3):
        expected = b"".join(cipher.update(((number << 64) + block).to_bytes(16, "big")) for block in range(50))
        stream = rng.stream()
        assert b"".join(stream.words(n).tobytes() for n in (1, 3, 64, 32)) == expected


def test_a_stream_does_not_cross_a_fork() -> None:
    stream = Secure().stream()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            stream.words(4)
            os.write(write, b"drew")
        except RuntimeError:
            os.write(write, b"refused")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 16) == b"refused"
    os.close(read)
    os.close(write)
    stream.words(4)


def test_threads_of_a_forked_child_never_share_a_stream() -> None:
    """Two threads that both notice the fork: each goes on with a key of its own, or they share one and its counter."""
    rng = Secure()
    rng._state = (-1, bytes(32), itertools.count())  # as it looks in a child
    with ThreadPoolExecutor(8) as pool:
        draws = list(pool.map(lambda _: rng.stream().words(2).tobytes(), range(2000)))
    assert len(set(draws)) == len(draws)


def test_seeded_says_what_it_is() -> None:
    assert "protects nobody" in Seeded(7).describe()
    assert Secure().describe() == "secure"
    assert not Seeded(7).is_secure
    for bad in (-1, 1.5, "x", True):
        with pytest.raises(ParameterError) as caught:
            Seeded(bad)  # type: ignore[arg-type]
        assert caught.value.parameter == "seed"


class TestSubsets:
    """Choosing among the set bits of a row, and setting clear ones."""

    def test_every_choice_is_equally_likely(self) -> None:
        """3 of 6 items spread over two words: 20 choices, 200 000 draws; one a fifth too likely would be caught."""
        items = [0, 5, 31, 63, 64, 90]
        row = np.zeros(2, np.uint64)
        for item in items:
            row[item // 64] |= np.uint64(1 << item % 64)
        bits = np.tile(row, (200_000, 1))
        Seeded(3).keep_subset(bits, np.full(len(bits), 3, np.int64))
        assert ((bits & ~row) == 0).all()
        assert (np.bitwise_count(bits).sum(axis=1) == 3).all()
        _, counts = np.unique(bits, axis=0, return_counts=True)
        assert len(counts) == 20
        assert_plausible(chi_square(counts, np.full(20, 0.05)))
        wrong = np.concatenate([[0.06], np.full(19, 0.94 / 19)])
        assert_rejected(chi_square(counts, wrong))

    def test_all_or_nothing(self) -> None:
        bits = np.array([[0b1011], [0b1011]], np.uint64)
        Seeded(1).keep_subset(bits, np.array([0, 3]))
        assert bits.tolist() == [[0], [0b1011]]

    def test_blocks_have_streams_of_their_own(self) -> None:
        """Many rows make several blocks; a seed repeats them all and no two blocks are alike."""
        start = np.full((1 << 16, 1), (1 << 40) - 1, np.uint64)
        one, two = start.copy(), start.copy()
        Seeded(1).keep_subset(one, np.full(len(one), 20, np.int64))
        Seeded(1).keep_subset(two, np.full(len(two), 20, np.int64))
        assert (one == two).all()
        assert len(np.unique(one)) > 0.99 * len(one)

    def test_insertions_avoid_what_is_there(self) -> None:
        """Two of the five lanes that are free: 10 choices, equally likely."""
        avoid = np.tile(np.array([0b0000111], np.uint64), (200_000, 1))
        bits = np.zeros_like(avoid)
        Seeded(2).insert_lanes(bits, avoid, np.full(len(bits), 2, np.int64), 8)
        assert ((bits & avoid) == 0).all()
        assert (np.bitwise_count(bits) == 2).all()
        values, counts = np.unique(bits, return_counts=True)
        assert len(values) == 10
        assert_plausible(chi_square(counts, np.full(10, 0.1)))
        assert_rejected(chi_square(counts, np.concatenate([[0.11], np.full(9, 0.89 / 9)])))

    def test_choices_have_their_probabilities(self) -> None:
        one = 1 << 53
        drawn = Seeded(4).choose(np.array([one // 4, one // 4, one], np.uint64), 400_000)
        counts = np.bincount(drawn, minlength=3)
        assert counts[1] == 0
        assert_plausible(chi_square(counts[[0, 2]], [0.25, 0.75]))
        assert_rejected(chi_square(counts[[0, 2]], [0.26, 0.74]))

    def test_copies_are_refused(self) -> None:
        with pytest.raises(ValueError, match="contiguous"):
            Seeded(1).keep_subset(np.zeros((4, 4), np.uint64)[:, ::2], np.zeros(4, np.int64))


class TestMultinomial:
    @pytest.mark.parametrize(
        ("total", "p"),
        [(20, 0.4), (100_000, 1e-5), (100, 0.1), (3000, 0.02), (1_000_000, 0.3), (1000, 0.97), (21, 0.5)],
    )
    def test_a_cell_is_binomial(self, total: int, p: float) -> None:
        """By inversion where few are expected, else by rejection; p off by a fiftieth of an error is caught."""
        n = 400_000
        drawn = Seeded(7).multinomial(total, [p, 1 - p], n)
        assert (drawn.sum(axis=1) == total).all()
        law = stats.binom(total, p)
        edges = np.unique(law.ppf(np.linspace(0.002, 0.998, 60)))
        observed = np.bincount(np.searchsorted(edges, drawn[:, 0]), minlength=len(edges) + 1)
        assert_plausible(chi_square(observed, np.diff([0.0, *law.cdf(edges), 1.0])))
        wrong = stats.binom(total, p + 0.02 * law.std() / total)
        assert_rejected(chi_square(observed, np.diff([0.0, *wrong.cdf(edges), 1.0])))

    def test_cells_together(self) -> None:
        """All outcomes of six things in three cells against the multinomial law."""
        law, n = [0.2, 0.5, 0.3], 200_000
        drawn = Seeded(8).multinomial(6, law, n)
        outcomes = [(a, b, 6 - a - b) for a in range(7) for b in range(7 - a)]
        observed = [int((drawn == outcome).all(axis=1).sum()) for outcome in outcomes]
        assert_plausible(chi_square(observed, [stats.multinomial(6, law).pmf(outcome) for outcome in outcomes]))
        wrong = [stats.multinomial(6, [0.21, 0.5, 0.29]).pmf(outcome) for outcome in outcomes]
        assert_rejected(chi_square(observed, wrong))

    def test_edges(self) -> None:
        rng = Seeded(1)
        assert (rng.multinomial(1000, [0, 3, 0], 5) == [0, 1000, 0]).all()
        assert (rng.multinomial(0, [1, 3], 5) == 0).all()
        assert rng.multinomial(10, [1.0], 0).shape == (0, 1)
        assert rng.multinomial(10**12, [1.0, 1.0, 1e-300], 50)[:, 2].max() == 0

    def test_it_repeats_by_its_seed_alone(self) -> None:
        """More words than one buffer: where one runs out, the draw goes on."""
        one, same, other = (Seeded(seed).multinomial(10_000, [1, 2, 3, 4], 5000) for seed in (1, 1, 2))
        assert (one == same).all()
        assert not (one == other).all()


class TestByRows:
    @pytest.mark.parametrize("keeps_rest", [True, False])
    def test_a_row_that_takes_more_words_than_there_are_gets_them(self, keeps_rest: bool) -> None:
        """It was begun again for ever; with ``keeps_rest`` the words that it had are the first of those it gets."""
        lengths: list[int] = []
        firsts: list[int] = []

        def kernel(start: int, stop: int, done: int, buffer: npt.NDArray[np.uint64]) -> tuple[int, int]:
            assert len(lengths) < 10, "the row is not getting anywhere"
            lengths.append(len(buffer))
            firsts.append(int(buffer[0]))
            row = start + done
            return (row + 1, 60_000) if len(buffer) >= 60_000 else (row, 0)

        Seeded(1).by_rows(np.zeros((2, 1), np.uint64), kernel, keeps_rest=keeps_rest)
        assert lengths == sorted(lengths)
        assert lengths[-1] < 120_000 + lengths[0]
        assert (firsts[0] == firsts[1]) == keeps_rest
