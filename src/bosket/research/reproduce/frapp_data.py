"""The tables of FRAPP: CENSUS from UCI Adult, and a stand-in for HEALTH.

CENSUS has the attributes and bins of the paper's Table 1 (its third bin of fnlwgt, printed [1e5, 3e5), is [2e5, 3e5)),
training and test records together.  HEALTH is not to be had; in its place stand seven attributes of the 2015 survey of
the Behavioral Risk Factor Surveillance System with the same numbers of values, 2 5 2 3 5 5 5.  It is other data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bosket.data import Table
from bosket.research.reproduce.datasets import find

RACES = ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]
COUNTRY = {"United-States": ["United-States"], "Other": "*"}
AGE = [15, 35, 55, 75]
HOURS = [0, 20, 40, 60, 80]
WORK = [
    "Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov", "Without-pay",
    "Never-worked",
]  # fmt: skip


def census(data: str | Path | None = None) -> Table:
    """Table 1: race, sex, native-country, age, fnlwgt, hours-per-week; 48 842 records, 2000 cells.

    A country that is not stated is another one than the United States, as it seems to be in the paper.
    """
    return adult(
        data,
        columns=["race", "sex", "native-country", "age", "fnlwgt", "hours-per-week"],
        bins={"age": AGE, "fnlwgt": [0, 1e5, 2e5, 3e5, 4e5], "hours-per-week": HOURS},
        values={"race": RACES, "sex": ["Female", "Male"], "native-country": COUNTRY},
        missing={"native-country": "Other"},
    )


def work(data: str | Path | None = None) -> Table:
    """Table 4: native-country, age, type of employment, hours-per-week, and the income to be told from them.

    A type of employment that is not stated is a category of its own.
    """
    return adult(
        data,
        columns=["native-country", "age", "workclass", "hours-per-week", "income"],
        bins={"age": AGE, "hours-per-week": HOURS},
        values={"native-country": COUNTRY, "workclass": WORK, "income": ["<=50K", ">50K"]},
        missing={"native-country": "Other", "workclass": "Unknown"},
    )


def adult(data: str | Path | None, **how: Any) -> Table:
    parts = [Table.read(find(name, data), **how) for name in ("adult_train.csv.gz", "adult_test.csv.gz")]
    return Table.from_codes(np.concatenate([part.codes for part in parts]), parts[0].domain)


def health(data: str | Path | None = None) -> Table:
    """Income (below or above 35 000 dollars), general health, sex, education in three groups, age in five, and the days
    of bad physical and mental health in the last thirty in five groups each; 7500 cells.
    """
    days = [0, 1, 7, 15, 30]
    return Table.read(
        find("brfss2015_diabetes.csv.gz", data),
        columns=["Income", "GenHlth", "Sex", "Education", "Age", "PhysHlth", "MentHlth"],
        bins={"Income": [1, 6], "GenHlth": [1, 2, 3, 4, 5], "Sex": [0, 1], "Education": [1, 4, 6],
              "Age": [1, 4, 7, 10, 13], "PhysHlth": days, "MentHlth": days},
    )  # fmt: skip


def survey(data: str | Path | None = None) -> Table:
    """Seven other attributes of the same survey, with the same numbers of values in another order, 2 5 2 3 5 5 5.

    High blood pressure, general health, sex, body mass index below 25, below 30 and above, and the codes of age,
    education and income in five groups each; 7500 cells.
    """
    return Table.read(
        find("brfss2015_diabetes.csv.gz", data),
        columns=["HighBP", "GenHlth", "Sex", "BMI", "Age", "Education", "Income"],
        bins={"HighBP": [0, 1], "GenHlth": [1, 2, 3, 4, 5], "Sex": [0, 1], "BMI": [0, 25, 30],
              "Age": [1, 4, 7, 9, 11], "Education": [1, 3, 4, 5, 6], "Income": [1, 4, 6, 7, 8]},
    )  # fmt: skip
