"""Items made of the 86 columns of CoIL Challenge 2000 (insurance customers): the paper does not say how it did.

Columns 1 to 43 are codes of the neighbourhood (mostly classes from 0 to 9), 44 to 64 classes of contributions, 65 to 85
numbers of policies, 86 whether there is a caravan policy.  "Each item is considered as one dichotomous variable
(0 = absence, 1 = presence)" (section 2.1) reads most naturally as value > 0, which is ours, though six of the columns
begin at 1 and so are items that all records have, and a contribution is above 0 just where its number of policies is.
:data:`CODINGS` has what else was tried.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from bosket.data import Baskets
from bosket.research.reproduce.datasets import find

TRAIN, EVALUATION = "coil2000_train.csv.gz", "coil2000_eval.csv.gz"
FIRST_PRODUCT, FIRST_NUMBER = 43, 64

CHOSEN = "value > 0"
CODINGS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    CHOSEN: lambda table: table > 0,
    "value > 0, without numbers of policies": lambda table: table.drop(columns=table.columns[FIRST_NUMBER:-1]) > 0,
    "above the column's least value": lambda table: table > table.min(),
    "above the column's median": lambda table: table > table.median(),
    "above the column's mean": lambda table: table > table.mean(),
    "above the middle of its range": lambda table: table > (table.min() + table.max()) / 2,
    "neighbourhood alone, above the mean": lambda table: table.iloc[:, :FIRST_PRODUCT] > table.mean()[:FIRST_PRODUCT],
    "products alone, value > 0": lambda table: table.iloc[:, FIRST_PRODUCT:] > 0,
    "an item for each value": lambda table: pd.get_dummies(table.astype(str), prefix_sep="="),
}
"""What was tried, by name: from the numbers of the file to a column of truth values for each item."""


def table(data: str | Path | None = None, *, evaluation: bool = False) -> pd.DataFrame:
    """The numbers of the 5822 training records; with ``evaluation``, of the 4000 others too."""
    names = (TRAIN, EVALUATION) if evaluation else (TRAIN,)
    return pd.concat([pd.read_csv(find(name, data)) for name in names], ignore_index=True)


def items(table: pd.DataFrame, coding: str = CHOSEN) -> Baskets:
    """The records as baskets."""
    return Baskets.from_frame(CODINGS[coding](table).astype(np.uint8), layout="one-hot")
