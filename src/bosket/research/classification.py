"""Table 5 of FRAPP: how often a classifier from reports is right, beside one from the records themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bosket._version import __version__
from bosket.checks import check_between, check_integer
from bosket.data import Table
from bosket.learning.base import ReconstructedClassifier
from bosket.learning.by_class import randomize_by_class, split_domain
from bosket.learning.labelled import as_labels
from bosket.learning.tree import ReconstructedTreeClassifier
from bosket.mechanisms import GammaDiagonal
from bosket.randomness import Seeded

from sklearn.base import clone  # isort: skip  # after base, which says how to install it

PAPER = {"FRAPP": (72.88, 27.12), "DIRECT": (75.34, 24.66), "BOTH": (71.34, 23.12)}
"""Table 5 as printed: percent labelled correctly and incorrectly; C4.5, Adult with the attributes of Table 4."""


def table5(
    table: Table,
    label: str,
    *,
    gamma: float = 19.0,
    seeds: int = 10,
    train: float = 0.75,
    classifier: ReconstructedClassifier | None = None,
) -> dict[str, Any]:
    """Percent of test records that are labelled correctly and incorrectly, as in Table 5 (section 9.2).

    FRAPP      learnt from training records randomized by class (label in the clear) with GammaDiagonal(gamma)
    DIRECT     learnt from the training records themselves
    BOTH       the share that both label correctly, and that both label incorrectly
    MAJORITY   the commonest class for everyone: what knowing the labels alone is worth.  Not in the paper

    For each seed the records are split anew, a share ``train`` of them for training, and randomized anew.  Each figure
    is a dictionary: ``mean``, ``sd``, ``min`` and ``max`` over the seeds.  ``classifier`` is a decision tree unless
    given; FRAPP and DIRECT use the same.
    """
    seeds = check_integer("seeds", seeds, least=2)
    train = check_between("train", train, 0, 1)
    domain, attribute = split_domain(table.domain, label)
    model = ReconstructedTreeClassifier() if classifier is None else classifier
    mechanism = GammaDiagonal(gamma)
    runs = [_run(table, attribute.name, mechanism, train, model, Seeded(seed)) for seed in range(seeds)]
    rows: dict[str, Any] = {
        name: {kind: _spread([run[name][at] for run in runs]) for at, kind in enumerate(("correct", "incorrect"))}
        for name in runs[0]
    }
    channel = mechanism.channel(domain)
    return {
        **rows,
        "paper": {name: {"correct": right, "incorrect": wrong} for name, (right, wrong) in PAPER.items()},
        "settings": {
            "label": attribute.name,
            "attributes": list(domain.names),
            "n_records": table.n_records,
            "n_cells": channel.n_cells,
            "gamma": mechanism.gamma,
            "keep": channel.keep,
            "seeds": seeds,
            "train": train,
            "classifier": str(model),
            "version": __version__,
        },
    }


def _run(
    table: Table, label: str, mechanism: GammaDiagonal, train: float, model: ReconstructedClassifier, rng: Seeded
) -> dict[str, tuple[float, float]]:
    """One split and one randomization: percent right and wrong of each row."""
    order = np.argsort(rng.stream().words(table.n_records), kind="stable")
    cut = round(train * table.n_records)
    training, test = table[order[:cut]], table[order[cut:]]
    at = table.domain.position(label)
    truth = as_labels(table.domain.attributes[at].values)[test.codes[:, at]]
    frapp = clone(model).fit(randomize_by_class(training, label, mechanism, rng=rng)).predict(test) == truth
    direct = clone(model).fit(training, label=label).predict(test) == truth
    majority = test.codes[:, at] == np.bincount(training.codes[:, at]).argmax()
    return {
        "FRAPP": (_percent(frapp), _percent(~frapp)),
        "DIRECT": (_percent(direct), _percent(~direct)),
        "BOTH": (_percent(frapp & direct), _percent(~frapp & ~direct)),
        "MAJORITY": (_percent(majority), _percent(~majority)),
    }


def _percent(is_so: npt.NDArray[np.bool_]) -> float:
    return 100.0 * float(is_so.mean())


def _spread(values: list[float]) -> dict[str, float]:
    return {
        "mean": float(np.mean(values)),
        "sd": float(np.std(values, ddof=1)),
        "min": min(values),
        "max": max(values),
    }
