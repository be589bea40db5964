"""A decision tree on reconstructed frequencies.

FRAPP, section 8.2: reconstruct the distribution of the attributes in each class, make frequencies of it (8.2.1), and
hand it to an off-the-shelf learner of trees.  There it is C4.5 (Quinlan 1993); here scikit-learn's
DecisionTreeClassifier, with the cells as records and their frequencies as weights.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from bosket.checks import check_not_negative
from bosket.data import TableDomain
from bosket.data.tables.domain import Codes
from bosket.errors import DataError
from bosket.learning.base import ReconstructedClassifier
from bosket.learning.labelled import Labelled
from bosket.learning.reconstruction import scale_down
from bosket.statistics.estimates import Floats
from bosket.threads import apart, slices

from sklearn.tree import DecisionTreeClassifier  # isort: skip  # after base, which says how to install it

MOST_STEPS = 1 << 32
"""Steps that a tree may take, about 0.1 microseconds each on one core: some seven minutes."""
MOST_SHARES = 1 << 25
"""Leaves times classes: a tree keeps a number for each class in each node, half a gigabyte at this limit."""
_AT_ONCE = 1 << 22  # ones of the records whose class is predicted at once


class ReconstructedTreeClassifier(ReconstructedClassifier):
    """A decision tree from reports of a table, or from the table itself.

    min_leaf       the least number of effective records in a leaf; C4.5's -M is 2
    ccp_alpha      the price of a leaf in minimal cost-complexity pruning (Breiman et al. 1984), in bits of entropy per
                   record; None for Akaike's, phi / (N ln 2)
    max_depth      of the tree; None for any
    random_state   decides between equally good splits, and nothing else

    Effective records.  A reconstructed frequency varies more than a count does.  With the variances of all frequencies
    under the coins summed,

        phi = 1 + sum of Var / N

    a frequency f tells about as much as f / phi records would: the overdispersion of quasi-likelihood (McCullagh and
    Nelder 1989, section 4.5), with QAIC's price for a leaf.  phi is 1 for a raw table; for gamma-diagonal it is about
    (s / kappa)^2 with s the scale factor of 8.2.1.  Without it the tree grows a leaf for every accident of the coins:
    that tree is ``ccp_alpha=0, min_leaf=0``, and on Adult it is as often right as FRAPP's Table 5 says of C4.5, less
    often than the commonest class alone.

    Not as in C4.5: the gain is that of information, not its ratio; every split asks for one value of one attribute
    (one-hot columns, so that the order of values plays no part), where C4.5 has a branch for each; pruning is by cost
    and complexity with Akaike's price, not by the errors' upper bound at 25% confidence.  Both are lenient.

    A tree that could take more than ``MOST_STEPS`` steps, or a table of leaves by classes beyond ``MOST_SHARES``, is
    refused before it is grown, by its limits: cells with a frequency above 0, ``min_leaf``, ``max_depth``.

    Fitted, it has ``dispersion_`` (phi) and ``tree_``, the DecisionTreeClassifier, whose columns are the items of
    ``domain_`` and whose classes are numbers of ``classes_``.  For rules, ``sklearn.tree.export_text(model.tree_,
    feature_names=list(model.domain_.labels))``.

    >>> import bosket as bk
    >>> from bosket.learning import ReconstructedTreeClassifier, randomize_by_class
    >>> people = [("young", "town", "no"), ("old", "town", "yes"), ("old", "land", "no")] * 2000
    >>> table = bk.Table([dict(zip(("age", "home", "owner"), one)) for one in people])
    >>> reports = randomize_by_class(table, "owner", bk.GammaDiagonal(19), rng=bk.Seeded(1))
    >>> model = ReconstructedTreeClassifier().fit(reports)
    >>> model.score(table)
    1.0
    """

    def __init__(
        self,
        *,
        min_leaf: float = 2.0,
        ccp_alpha: float | None = None,
        max_depth: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.min_leaf = min_leaf
        self.ccp_alpha = ccp_alpha
        self.max_depth = max_depth
        self.random_state = random_state

    def _learn(self, evidence: Labelled) -> None:
        n = evidence.n_records
        min_leaf = check_not_negative("min_leaf", self.min_leaf, of=type(self).__name__)
        totals = scale_down(evidence.class_counts(), n)
        counts = evidence.cells()
        parts = [part.frequencies(total) for part, total in zip(counts, totals, strict=True)]
        self.dispersion_ = 1.0 + sum(part.variance for part in parts) / n
        alpha = self.dispersion_ / (n * math.log(2)) if self.ccp_alpha is None else self.ccp_alpha
        weights = np.concatenate([part.value for part in parts])
        codes = np.concatenate([part.codes for part in counts])
        classes = np.repeat(np.arange(len(counts)), [len(part.codes) for part in counts])
        kept = weights > 0
        fraction = min(0.5, min_leaf * self.dispersion_ / n)
        _check_size(int(kept.sum()), evidence.domain, len(counts), fraction, self.max_depth)
        tree = DecisionTreeClassifier(
            criterion="entropy",
            max_depth=self.max_depth,
            min_weight_fraction_leaf=fraction,
            ccp_alpha=check_not_negative("ccp_alpha", alpha, of=type(self).__name__),
            random_state=self.random_state,
        )
        records = one_hot(codes[kept], evidence.domain)
        self.tree_ = apart(lambda: tree.fit(records, classes[kept], sample_weight=weights[kept]))

    def _probabilities(self, codes: Codes) -> Floats:
        result = np.zeros((len(codes), len(self.classes_)))
        for start, stop in slices(len(codes), max(1, _AT_ONCE // max(1, codes.shape[1]))):
            records = one_hot(codes[start:stop], self.domain_)
            result[start:stop, self.tree_.classes_] = apart(partial(self.tree_.predict_proba, records))
        return result


def _check_size(cells: int, domain: TableDomain, classes: int, fraction: float, max_depth: int | None) -> None:
    """Refuse a tree that could take too long or too much memory.

    A node is looked at for each item, and each of its cells for each attribute.  A leaf has at least ``fraction`` of
    the weight; a path asks for an item once.
    """
    leaves = int(1 / fraction) if fraction * cells > 1 else cells
    depth = min(leaves, len(domain))
    if isinstance(max_depth, int) and 0 < max_depth < depth:  # scikit-learn says what else is wrong with it
        depth, leaves = max_depth, min(leaves, 1 << max_depth)
    steps = 2 * leaves * len(domain) * (1 + classes // 64) + (1 + depth) * cells * domain.n_attributes
    if steps > MOST_STEPS or leaves * classes > MOST_SHARES:
        raise DataError(
            f"A tree of up to {leaves:,} leaves over {cells:,} cells, {len(domain):,} values and {classes:,} classes "
            "takes too long, or too much memory.",
            hint="Give a max_depth or a larger min_leaf, group values, or use ReconstructedNaiveBayes.",
        )


def one_hot(codes: Codes, domain: TableDomain) -> csr_array[np.float32]:
    """A column for every item, 1 where the record has it; in the types that trees use, and without the zeros."""
    ones, (n, k) = codes + domain.offsets[:-1], codes.shape
    starts = np.arange(n + 1, dtype=np.int32) * np.int32(k)
    return csr_array((np.ones(n * k, np.float32), ones.ravel().astype(np.int32), starts), shape=(n, len(domain)))
