"""Classifiers from randomized tables: the class label in the clear (ByClass), or randomized as one more attribute."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bosket.learning.by_class import ByClassReports, label_guarantee, randomize_by_class, randomize_with_label
from bosket.learning.labelled import Labelled, labelled_of
from bosket.learning.reconstruction import CellCounts, cell_counts, scale_down

if TYPE_CHECKING:
    from bosket.learning.naive_bayes import ReconstructedNaiveBayes
    from bosket.learning.tree import ReconstructedTreeClassifier

__all__ = [
    "ByClassReports",
    "CellCounts",
    "Labelled",
    "ReconstructedNaiveBayes",
    "ReconstructedTreeClassifier",
    "cell_counts",
    "label_guarantee",
    "labelled_of",
    "randomize_by_class",
    "randomize_with_label",
    "scale_down",
]

_NEED_SKLEARN = {
    "ReconstructedNaiveBayes": "naive_bayes",
    "ReconstructedTreeClassifier": "tree",
}


def __getattr__(name: str) -> Any:
    """Classes that need scikit-learn are imported on first use: randomizing does without it."""
    if name in _NEED_SKLEARN:
        return getattr(import_module(f"bosket.learning.{_NEED_SKLEARN[name]}"), name)
    raise AttributeError(f"module 'bosket.learning' has no attribute {name!r}")
