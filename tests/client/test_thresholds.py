"""The whole numbers that coins are compared with are those of Python, for any parameter."""

from __future__ import annotations

import json
import subprocess
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from bosket.mechanisms.laws import cumulative
from bosket.mechanisms.questions.hash_kernels import bucket_of
from bosket.mechanisms.questions.responses import gamma_of
from bosket.randomness import Thresholds
from tests.client.node import MODULE, NODE, needs_node

RNG = np.random.Generator(np.random.PCG64(17))
EPSILONS = [*np.geomspace(1e-11, 600, 120).tolist(), 0.1, 1.0, 2.0, 3.0, 0.5, 600.0, 2.0**-40]
LAWS = [RNG.dirichlet(np.full(n, 0.3)).tolist() for n in (1, 2, 3, 7, 40)] + [[0.0, 1.0], [1 / 3] * 3, [0.1] * 10]
CHANCES = [*RNG.random(200).tolist(), *(RNG.random(50) * 2.0**-40).tolist(), 0.0, 1.0, 0.5, 2.0**-54, 3 * 2.0**-54]
KEYS = [(int(RNG.integers(1 << 63)), int(key), 1 << int(bits)) for key, bits in RNG.integers(1, 17, (60, 2))]


def found(tmp_path: Path) -> dict[str, Any]:
    """What the module works out, with its inner names brought out."""
    source = MODULE.read_text("utf-8") + "\nexport { ratio, cumulative, threshold, bucketOf };\n"
    (tmp_path / "inner.mjs").write_text(source, "utf-8")
    program = """
import { readFileSync } from "node:fs";
import { ratio, cumulative, threshold, bucketOf } from "./inner.mjs";
const { epsilons, laws, chances, keys } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify({
  ratios: epsilons.map((one) => ratio(one).map(String)),
  laws: laws.map((law) => cumulative(law).map(String)),
  thresholds: chances.map((one) => String(threshold(one))),
  buckets: keys.map(([seed, key, size]) => bucketOf(BigInt(seed), key, size)),
}));
"""
    (tmp_path / "program.mjs").write_text(program)
    keys = [(str(seed), key, size) for seed, key, size in KEYS]
    given = json.dumps({"epsilons": EPSILONS, "laws": LAWS, "chances": CHANCES, "keys": keys})
    assert NODE is not None
    command = [NODE, str(tmp_path / "program.mjs")]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=120)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@needs_node
def test_the_module_works_out_what_python_does(tmp_path: Path) -> None:
    numbers = found(tmp_path)
    for epsilon, (above, below) in zip(EPSILONS, numbers["ratios"], strict=True):
        assert Fraction(int(above), int(below)) == gamma_of(epsilon), epsilon
    for law, steps in zip(LAWS, numbers["laws"], strict=True):
        assert list(map(int, steps)) == cumulative(law).tolist()
    assert [Fraction(int(one), 1 << 53) for one in numbers["thresholds"]] == [
        Fraction(float(one)) for one in Thresholds(CHANCES).probability
    ]
    assert numbers["buckets"] == [int(bucket_of(np.uint64(seed), key, size)) for seed, key, size in KEYS]


def test_the_ratio_is_at_most_e_to_the_epsilon_and_hardly_less() -> None:
    """By decimals of 400 digits, another way than that of the module and with room for all."""
    with localcontext() as context:
        context.prec = 400
        for epsilon in [*EPSILONS, 1e-300, 1e-30]:
            gamma = gamma_of(epsilon)
            excess = Decimal((gamma - 1).numerator) / Decimal((gamma - 1).denominator)
            true, term, k = Decimal(0), Decimal(epsilon), 1
            while term > true * Decimal(10) ** -80:  # the power series, whose terms are all positive
                true, k = true + term, k + 1
                term *= Decimal(epsilon) / k
            assert excess < true
            assert excess > true * (1 - Decimal(2) ** -49)
