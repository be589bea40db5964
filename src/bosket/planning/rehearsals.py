"""Mistakes of a search by doing it: studies of people like those of a pilot, randomized and mined."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd

from bosket.checks import check_fraction, check_integer
from bosket.data import Baskets, Table
from bosket.errors import BosketWarning, ParameterError
from bosket.mining import mine
from bosket.planning.discoveries import check_pilot
from bosket.planning.foresight import Foresight
from bosket.randomness import Seeded


def simulated_errors(
    foresight: Foresight,
    pilot: Baskets | Table,
    *,
    min_support: float,
    max_size: int = 3,
    studies: int = 20,
    seed: int = 0,
    model: str | None = None,
) -> pd.DataFrame:
    """The same by doing it: so many studies of people drawn from the pilot, randomized under the plan and mined.

    Slower than :func:`expected_errors`, and right for every mechanism and for fitted laws (``model="auto"``), whose
    itemsets depend on each other.  ``false_negatives`` and ``false_positives`` are means over the studies, and
    ``fn_stderr`` and ``fp_stderr`` their standard errors.
    """
    limit = check_fraction("min_support", min_support)
    max_size = check_integer("max_size", max_size, least=1)
    studies = check_integer("studies", studies, least=2)
    check_pilot(foresight, pilot)
    if not pilot.n_records:
        raise ParameterError("The 'pilot' parameter must have records, got none.", parameter="pilot", value=0)
    truth = {itemset for itemset, _ in mine(pilot, min_support=limit, max_size=max_size)}
    rng = Seeded(check_integer("seed", seed, least=0))
    missed, false = np.zeros((studies, max_size)), np.zeros((studies, max_size))
    for study in range(studies):
        people = pilot
        if foresight.people != pilot.n_records:
            people = pilot[np.sort(rng.integers(pilot.n_records, foresight.people))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BosketWarning)
            reports = foresight.plan.randomize(people, rng=rng)
            found = {itemset for itemset, _ in mine(reports, min_support=limit, max_size=max_size, model=model)}
        for numbers, sets in ((missed, truth - found), (false, found - truth)):
            for itemset in sets:
                numbers[study, len(itemset) - 1] += 1
    sizes = range(1, max_size + 1)
    return pd.DataFrame(
        {
            "size": list(sizes),
            "frequent": [sum(len(itemset) == size for itemset in truth) for size in sizes],
            "false_negatives": missed.mean(axis=0),
            "false_positives": false.mean(axis=0),
            "fn_stderr": missed.std(axis=0, ddof=1) / math.sqrt(studies),
            "fp_stderr": false.std(axis=0, ddof=1) / math.sqrt(studies),
        }
    )
