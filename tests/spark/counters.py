"""Counters over frames of a session, for the contract of counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import bosket as bk
from bosket import spark
from bosket.counting import Counter
from bosket.mechanisms.payload import PackedBits
from bosket.spark.report_rows import to_rows
from bosket.spark.reports import SparkReports
from tests.contracts.counters import CounterCase, Make, Records, assert_contract

N_PARTITIONS = 3


def makers(session: Any) -> dict[str, Make]:
    """By name: of raw records, of bitmaps that workers keep, and one that workers make for every look."""

    def of_records(records: Records, n_items: int, strata: list[int] | None) -> Counter:
        lists = pa.array([sorted(record) for record in records], pa.list_(pa.int64()))
        frame = session.createDataFrame(pa.table({"items": lists})).repartition(N_PARTITIONS)
        return spark.baskets(frame, items=range(n_items)).counter()

    def of_reports(look: Callable[[SparkReports], Counter]) -> Make:
        def make(records: Records, n_items: int, strata: list[int] | None) -> Counter:
            domain = bk.Domain(range(max(n_items, 8)))  # of which the strata are sizes
            plan = bk.Plan(domain, bk.Flip(keep=0.9))
            if strata is not None:
                plan = bk.Plan(domain, bk.CutAndPaste(cutoff=3, insert=0.1), bk.PrivacyUnit(max_size=8))
            bits = bk.Baskets(records, items=domain).to_bits()
            batch = PackedBits.batch(bits, None if strata is None else np.array(strata, np.int32))
            rows = pa.Table.from_batches([to_rows(plan, batch)])
            frame = session.createDataFrame(rows).repartition(N_PARTITIONS)
            return look(spark.open_reports(frame, plan))

        return make

    def made(reports: SparkReports) -> Counter:
        payload = reports.channel.payload
        return reports.counter_by("bits", lambda batch, _: payload.counter(batch))

    return {
        "records": of_records,
        "bitmaps": of_reports(lambda reports: reports.counter()),
        "made": of_reports(made),
    }


def assert_contracts(session: Any, cases: list[CounterCase]) -> int:
    """Hold every counter to the contract; raw records have one stratum.  How often that was done."""
    done = 0
    for name, make in makers(session).items():
        for case in cases:
            if name != "records" or case[2] is None:
                assert_contract(make, case)
                done += 1
    return done
