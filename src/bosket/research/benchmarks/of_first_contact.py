"""What a new user waits for: importing the package, its help, and reading a frame."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from functools import partial
from typing import Any

import pandas as pd
from scipy import sparse

from bosket.data import Baskets
from bosket.research.benchmarks.bars import Bar, medians

_REPEATS = 7


def first_contact() -> list[Bar]:
    """Processor time against ``import numpy, pandas``; frames against ``from_scipy`` of the same cells."""
    programs = {
        "peers": ["-c", "import numpy, pandas"],
        "import": ["-c", "import bosket"],
        "help": ["-m", "bosket.cli", "--help"],
        "version": ["-m", "bosket.cli", "--version"],
    }
    times = {name: [_processor_time(program) for _ in range(_REPEATS)] for name, program in programs.items()}
    took = {name: statistics.median(values) for name, values in times.items()}
    detail = {f"{name}_seconds": round(value, 3) for name, value in took.items()}
    return [
        Bar("import bosket, over import numpy, pandas", took["import"] / took["peers"], 0.6, False, detail),
        Bar("bosket --help, over import numpy, pandas", took["help"] / took["peers"], 0.4, False),
        Bar("bosket --version, over import numpy, pandas", took["version"] / took["peers"], 0.4, False),
        *_frames(),
    ]


def _processor_time(program: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *program], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def _frames() -> list[Bar]:
    """Frames of the size of two public data sets."""
    bars = []
    for name, shape, density in (("dense", (28_816, 4_631), 0.003), ("sparse", (88_162, 16_470), 6e-4)):
        cells: Any = sparse.random(*shape, density=density, format="csr", random_state=1)
        cells = cells.astype(bool)
        labels = [f"i{at}" for at in range(shape[1])]
        is_dense = name == "dense"
        whole: Any = pd.DataFrame
        frame = (
            whole(cells.toarray(), columns=labels) if is_dense else whole.sparse.from_spmatrix(cells, columns=labels)
        )
        took = medians({"frame": partial(Baskets.from_frame, frame), "scipy": partial(_by_scipy, frame, labels)})
        detail = {f"{kind}_seconds": round(value, 3) for kind, value in took.items()}
        title = f"a {name} frame of truth values, over from_scipy of the same cells"
        bars.append(Bar(title, took["frame"] / took["scipy"], 1.3, False, detail))
    return bars


def _by_scipy(frame: Any, labels: list[str]) -> Baskets:
    is_sparse = isinstance(frame.dtypes.iloc[0], pd.SparseDtype)
    return Baskets.from_scipy(frame.sparse.to_coo() if is_sparse else sparse.csr_array(frame.to_numpy()), labels)
