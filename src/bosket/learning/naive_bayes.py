"""Naive Bayes on reconstructed marginals."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from bosket.checks import check_between
from bosket.data.tables.domain import Codes
from bosket.learning.base import ReconstructedClassifier
from bosket.learning.labelled import Labelled
from bosket.learning.reconstruction import reconstruct, scale_down
from bosket.statistics.estimates import Floats


class ReconstructedNaiveBayes(ReconstructedClassifier):
    """Naive Bayes from reports of a table, or from the table itself.

    It needs the distribution of one attribute at a time in each class.  This is estimated directly, as the support of
    single values (of pairs with the label, where that was randomized too), so the domain may be as large as it likes
    and the noise is that of few values, not of many cells.  With n_cv the numbers of records of class c and value v of
    an attribute of m values, clipped and scaled to the number n_c of the class as in FRAPP's section 8.2.1,

        Pr(v | c) = (n_cv + alpha phi) / (n_c + alpha phi m),    Pr(c) = n_c / N

    alpha   of Laplace's rule, in effective records, above 0.  phi = 1 + sum over v of Var n_cv / n_c is what one of
            them weighs in this attribute and class; see :class:`ReconstructedTreeClassifier`.  Of a raw table it is 1,
            and this is scikit-learn's CategoricalNB.

    Fitted, it has ``class_log_prior_`` and ``feature_log_prob_``, an array of classes by values for each attribute.

    >>> import bosket as bk
    >>> from bosket.learning import ReconstructedNaiveBayes, randomize_with_label
    >>> people = [("young", "town", "no"), ("old", "town", "yes"), ("old", "land", "no")] * 2000
    >>> table = bk.Table([dict(zip(("age", "home", "owner"), one)) for one in people])
    >>> reports = randomize_with_label(table, bk.GammaDiagonal(19), rng=bk.Seeded(1))
    >>> model = ReconstructedNaiveBayes().fit(reports, label="owner")
    >>> model.score(table)
    1.0
    >>> print(model.guarantee_.assumptions[-1])
    the class label 'owner' is randomized as one more attribute, and protected like the others
    """

    def __init__(self, *, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def _learn(self, evidence: Labelled) -> None:
        alpha = check_between("alpha", self.alpha, 0, math.inf, of=type(self).__name__)
        totals = scale_down(evidence.class_counts(), evidence.n_records)
        value, variance = evidence.marginals()
        offsets = evidence.domain.offsets.tolist()
        logs = np.empty(value.shape)
        for row, total in enumerate(totals.tolist()):
            for start, stop in pairwise(offsets):
                noise = max(0.0, float(variance[row, start:stop].sum()))
                found = reconstruct(value[row, start:stop], noise, total)
                smoothed = found.value + alpha * (1.0 + (found.variance / total if total > 0 else 0.0))
                logs[row, start:stop] = np.log(smoothed / smoothed.sum())
        with np.errstate(divide="ignore"):  # a class without records is never predicted
            self.class_log_prior_ = np.log(totals / evidence.n_records)
        self.feature_log_prob_ = [logs[:, start:stop] for start, stop in pairwise(offsets)]

    def _probabilities(self, codes: Codes) -> Floats:
        scores = np.tile(self.class_log_prior_, (len(codes), 1))
        for column, logs in zip(codes.T, self.feature_log_prob_, strict=True):
            scores += logs[:, column].T
        result: Floats = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
        return result
