"""What an audit of breaches returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from bosket.threads import slices

_SIZES_A_LINE = 10


@dataclass(frozen=True, eq=False, repr=False)
class Breaches:
    """How often a report that holds an itemset gives an item of it away; made by :func:`bosket.audit.breaches`.

    It was counted in the raw data, so nothing here is private: keep it with the curator.
    """

    table: pd.DataFrame
    """One row per record size and itemset.

    record_size  true size m of the records
    size         number of items of the itemset A
    itemsets     A, a frozenset of labels
    item         the item a of A that is given away most often (of equals the first in the domain)
    reports      how many reports of records of size m hold all of A
    breach       the fraction of these whose raw record holds a
    stderr       binomial standard error, sqrt(breach (1 - breach) / reports)
    low          one-sided exact (Clopper-Pearson) lower bound on the probability that the fraction estimates.  It holds
                 for an itemset and an item named in advance: nothing is corrected for having taken the worst item, nor
                 for looking at many itemsets.
    """
    left_out: int
    """Pairs of a record size and an itemset that too few reports show: not in the table."""
    n_records: int
    about: dict[str, Any]
    """Mechanism, guarantee, parameters and version, so that a table can be understood later."""

    @cached_property
    def by_size(self) -> pd.DataFrame:
        """One row per record size and itemset size: number of itemsets, their average and their worst breach."""
        groups = self.table.groupby(["record_size", "size"])["breach"]
        return groups.agg(itemsets="size", average="mean", worst="max").reset_index()

    def summary(self) -> pd.DataFrame:
        """One row per record size: Tables 4 and 8 of the paper.

        worst_average_size, worst_average  the itemset size whose breaches are worst on average, and that average
        worst_size, worst                  the size of the itemset with the worst breach of all, and that breach
        reports                            how many reports the worst breach was counted in

        Of equals the smallest itemset size.
        """
        average = self.by_size.loc[self.by_size.groupby("record_size")["average"].idxmax()]
        worst = self.table.loc[self.table.groupby("record_size")["breach"].idxmax()]
        return pd.DataFrame(
            {
                "record_size": worst["record_size"].to_numpy(),
                "worst_average_size": average["size"].to_numpy(),
                "worst_average": average["average"].to_numpy(),
                "worst_size": worst["size"].to_numpy(),
                "worst": worst["breach"].to_numpy(),
                "reports": worst["reports"].to_numpy(),
            }
        )

    @property
    def worst(self) -> float:
        """The worst breach of all; NaN if the table is empty, which speaks of too few reports, not of privacy."""
        return float(self.table["breach"].max())

    def __str__(self) -> str:
        """The paper's Table 4: ``4: 44.5%`` says that itemsets of size 4 are the worst, with a breach of 44.5%."""
        summary = self.summary()
        rows = {
            "Record size": summary["record_size"].map(str).tolist(),
            "Worst average": _cells(summary["worst_average_size"], summary["worst_average"]),
            "Worst of the worst": _cells(summary["worst_size"], summary["worst"]),
        }
        least = self.about["min_reports"]
        blocks = [
            "\n".join(f"{name:<18}" + "".join(f"{cell:>12}" for cell in cells[a:b]) for name, cells in rows.items())
            for a, b in slices(len(summary), _SIZES_A_LINE)
        ] or [f"No itemset is held by {least} reports of any one record size."]
        if len(summary):
            blocks[-1] += (
                "\nItemset size: share of the reports showing such an itemset whose record has its worst item."
            )
        blocks[-1] += f"\nLeft out: {self.left_out:,} pairs of record size and itemset with fewer than {least} reports."
        return "\n\n".join(blocks)

    def __repr__(self) -> str:
        return (
            f"Breaches(worst {self.worst:.1%}; {len(self.table)} rows, {self.left_out} left out, "
            f"{self.n_records} records)"
        )


def _cells(sizes: pd.Series[int], values: pd.Series[float]) -> list[str]:
    return [f"{size}: {value:.1%}" for size, value in zip(sizes.tolist(), values.tolist(), strict=True)]
