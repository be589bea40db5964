"""What the supports of a result are of, where records may have been cut before they were randomized."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bosket.evidence import Provenance


def support_of_column(provenance: Provenance, n: int) -> dict[str, pd.Categorical[str]]:
    """The column ``support_of`` of ``n`` rows; none where no record is cut."""
    what = provenance.support_of
    return {} if what is None else {"support_of": pd.Categorical.from_codes(np.zeros(n, np.int8), pd.Index([what]))}
