"""What a search allows for beside draws of the coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from bosket.curator.population.literals import Literals
from bosket.curator.population.particles import Number, Population
from bosket.curator.population.search import PopulationSearch


def population_of(leaves: list[int], n_leaves: int) -> Population:
    """Four patterns of two literals, equally many, in these leaves; -1 is none of them."""
    particles = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.uint8)
    told = np.array([[leaf == at for at in range(n_leaves)] for leaf in leaves], np.float32).reshape(4, n_leaves)
    features = np.column_stack([particles.astype(np.float32), told])
    n = features.shape[1]
    return Population(
        particles,
        np.zeros(4),
        features,
        np.eye(n),
        np.zeros(n),
        np.zeros(n),
        np.ones(n),
        Number(100.0, np.zeros(n), 1.0),
        n_leaves,
    )


@pytest.mark.parametrize(
    ("leaves", "n_leaves", "expected"),
    [
        ([-1, -1, -1, -1], 0, 1.0),
        ([0, 1, 2, 3], 4, 0.2),  # each pattern is a leaf, and a part is kept for what was not thought of
        ([0, 0, 1, 1], 2, (1 / 4 / 2 / (3 / 16)) ** 0.5),  # holding both varies in the second leaf alone: 1/2 * 1/4
        ([-1, -1, 0, 0], 1, (1 / 4 / 2 / (3 / 16)) ** 0.5),  # all others are one
    ],
)
def test_leaves_tell_what_pairs_do_not(leaves: list[int], n_leaves: int, expected: float) -> None:
    """The part of a record's own variance that is left within leaves, of the itemset of both items."""
    literals = Literals(np.arange(2, dtype=np.int32), np.zeros(2, bool))
    search = PopulationSearch(population_of(leaves, n_leaves), literals, 0.014, 100, 2)
    assert search._untold(np.array([[0, 1]], np.int32)) == pytest.approx(expected, abs=1e-6)
    (part,) = search._drawn([np.array([[0, 1]], np.int32)])
    assert part.own[0] == pytest.approx(expected * 0.014 * (3 / 16) ** 0.5, rel=1e-5)
