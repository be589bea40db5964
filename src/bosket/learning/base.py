"""What the classifiers have in common: scikit-learn's manners; ways in for reports, tables, frames and codes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from bosket.data import Attribute, Table, TableDomain
from bosket.data.tables.domain import Codes
from bosket.errors import DataError, ParameterError
from bosket.learning.by_class import ByClassReports
from bosket.learning.labelled import Labelled, Labels, as_labels, labelled_of
from bosket.reports import Reports
from bosket.statistics.estimates import Floats

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data
except ModuleNotFoundError as problem:
    raise ModuleNotFoundError("Classifiers need scikit-learn: pip install 'bosket[learn]'.") from problem

if TYPE_CHECKING:
    from typing import Self

_MOST_VALUES = 1 << 16


class ReconstructedClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]  # sklearn has no types
    """A classifier that learns from estimated numbers of records.

    Once fitted it has

    classes_         the values of the label
    domain_          the attributes it looks at
    n_features_in_   how many they are; of a frame also ``feature_names_in_``
    label_           the name of the label, where it is an attribute
    guarantee_       what the people in the reports were promised, with a word on their label; None for raw data
    """

    classes_: Labels
    domain_: TableDomain

    @abstractmethod
    def _learn(self, evidence: Labelled) -> None: ...

    @abstractmethod
    def _probabilities(self, codes: Codes) -> Floats:
        """A row of class probabilities for each record."""

    def fit(self, X: Any, y: npt.ArrayLike | None = None, *, label: str | None = None) -> Self:
        """Learn from labelled records.

        X              y         label
        ByClassReports           the label in the clear, the attributes randomized class by class
        Reports        classes   the same, the class of each report beside it
        Reports                  named by ``label``, else the last attribute: randomized as one more attribute
        Table                    likewise, and nothing is randomized: FRAPP's DIRECT
        Table          classes   the class of each record beside it
        frame          classes   the values are those that occur
        whole numbers  classes   codes from 0, a row per record and a column per attribute
        """
        self._goes_by_name = isinstance(X, ByClassReports | Reports | Table)
        if self._goes_by_name:
            evidence = labelled_of(X, y, label=label)
            if hasattr(self, "feature_names_in_"):  # of an earlier fit
                del self.feature_names_in_
            self.n_features_in_ = evidence.domain.n_attributes
        elif label is not None:
            raise ParameterError(
                "The 'label' parameter must name an attribute of reports or of a Table; with a frame or an array give "
                "the classes as y.",
                parameter="label",
                value=label,
            )
        else:
            evidence = self._raw_evidence(X, y)
        self.domain_, self.classes_ = evidence.domain, evidence.classes
        self.label_, self.guarantee_ = evidence.label, evidence.guarantee
        self._learn(evidence)
        return self

    def _raw_evidence(self, X: Any, y: Any) -> Labelled:
        """Of a frame or an array, with the checks that scikit-learn asks for."""
        if _is_frame(X):
            X, y = validate_data(self, X, y, skip_check_array=True)
            check_consistent_length(X, y)
            y = column_or_1d(y, warn=True)
            check_classification_targets(y)
            return labelled_of(Table.from_frame(X), y)
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        codes = _whole(X)
        if codes.min() < 0 or codes.max() >= _MOST_VALUES:
            raise ParameterError(  # beginning as scikit-learn's own message does, by which its checks know the refusal
                f"Negative values in data passed to {type(self).__name__}, or beyond {_MOST_VALUES}: not codes.",
                parameter="X",
                value=(int(codes.min()), int(codes.max())),
            )
        most = codes.max(axis=0).tolist()
        domain = TableDomain([Attribute(f"x{at}", range(max(2, top + 1))) for at, top in enumerate(most)])
        return labelled_of(Table.from_codes(codes, domain), y)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each of ``classes_``, a row per record.

        ``X`` is a Table that has the attributes, a frame with their values, or an array of codes in their order.
        """
        check_is_fitted(self)
        return self._probabilities(self._codes(X))

    def predict(self, X: Any) -> Labels:
        """The likeliest class of each record; of equally likely ones the first."""
        probabilities = self.predict_proba(X)
        result: Labels = self.classes_[np.argmax(probabilities, axis=1)]
        return result

    def score(self, X: Any, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """The share of records whose class is found; that of a Table may be its own attribute."""
        check_is_fitted(self)
        if y is None and isinstance(X, Table) and self.label_ is not None:
            at = X.domain.position(self.label_)
            y = as_labels(X.domain.attributes[at].values)[X.codes[:, at]]
        result: float = super().score(X, y, sample_weight)
        return result

    def _codes(self, X: Any) -> Codes:
        if isinstance(X, ByClassReports | Reports):
            raise DataError(
                "The class of a randomized record cannot be predicted from its report: the report is mostly chance.",
                hint="Predict from raw records, where their owner keeps them.",
            )
        names = self.domain_.names
        if isinstance(X, Table):
            known = set(X.domain.names)
            lacking = [name for name in names if name not in known]
            if lacking:
                raise DataError(f"The table must have the attribute {lacking[0]!r}, from which classes are predicted.")
            return X.select(names).with_domain(self.domain_).codes
        if _is_frame(X):
            if not self._goes_by_name:
                validate_data(self, X, reset=False, skip_check_array=True)
            is_named = self._goes_by_name or hasattr(self, "feature_names_in_")
            columns = names if is_named else tuple(nw.from_native(X).columns)
            values = [attribute.values for attribute in self.domain_.attributes]
            return Table.from_frame(X, columns=columns, values=dict(zip(columns, values, strict=True))).codes
        return Table.from_codes(_whole(validate_data(self, X, reset=False)), self.domain_).codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags


def _is_frame(X: Any) -> bool:
    """Whether it has named columns; pandas frames without are arrays to scikit-learn, and here."""
    is_frame = nw.dependencies.is_into_dataframe(X)
    return is_frame and all(isinstance(name, str) for name in nw.from_native(X).columns)


def _whole(X: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Codes, if need be from floating-point numbers that are whole."""
    codes = X.astype(np.int64)
    if not np.array_equal(codes, X):
        raise ParameterError("The codes of records must be whole numbers.", parameter="X", value=X.dtype)
    return codes
