"""scikit-learn's own checks of estimators, one test each.

They fit raw codes, X and y, as FRAPP's DIRECT.  All that apply to a classifier of categories pass; none is expected to
fail.  One skips itself: ``check_array_api_input`` wants SCIPY_ARRAY_API to be set.  One cannot run before scikit-learn
1.7: ``check_positive_only_tag_during_fit`` takes a mean off whole numbers, in place.  By our tags (categories, not
negative) scikit-learn rounds its data to whole numbers first, and leaves out what is about missing values, sparse
matrices, several outputs and sample weights, none of which is taken.
"""

from __future__ import annotations

from typing import Any

import pytest
import sklearn
from sklearn.utils.estimator_checks import estimator_checks_generator

from bosket.learning import ReconstructedNaiveBayes, ReconstructedTreeClassifier

CHECKS = [
    pytest.param(estimator, check, id=f"{type(one).__name__}-{check.func.__name__}")
    for one in (ReconstructedTreeClassifier(), ReconstructedNaiveBayes())
    for estimator, check in estimator_checks_generator(one)
]


@pytest.mark.parametrize("estimator, check", CHECKS)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    if check.func.__name__ == "check_positive_only_tag_during_fit" and sklearn.__version__.startswith("1.6."):
        pytest.skip("this check of scikit-learn 1.6 cannot run on whole numbers")
    check(estimator)
