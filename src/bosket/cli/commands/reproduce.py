"""``bosket reproduce``: the figures and tables of the papers, run again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bosket.cli.inputs.files import check_output, write_json
from bosket.cli.inputs.options import Commands, add_command, add_seed, fraction, not_negative, whole
from bosket.cli.views.console import Work, say
from bosket.cli.views.tables import print_table
from bosket.errors import ParameterError

_ONLY = {
    "records": ("re",),
    "slack": ("re",),
    "figures": ("esag", "frapp", "guo", "zeng"),
    "times": ("esag", "zeng", "coverage", "sieve"),
    "min_support": ("esag",),
    "worst_itemset": ("esag",),
    "versions": ("frapp",),
    "repetitions": ("questions",),
    "quick": ("questions", "sieve"),
    "files": ("sieve",),
    "limits": ("sieve",),
    "ours": ("sieve",),
}
"""Options that belong to some papers."""


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.add_argument(
        "paper",
        choices=("re", "esag", "frapp", "guo", "zeng", "coverage", "questions", "sieve"),
        help="re: Xia, Yang, Chi and Muntz 2004, Tables 2 and 3; esag: Evfimievski, Srikant, Agrawal and Gehrke 2004, "
        "Figs. 1 to 9 and Tables 1 to 4; frapp: Agrawal, Haritsa and Prakash 2009, Figs. 2 to 7, Tables 3 and 5; "
        "guo: Guo, Guo and Wu 2007, Figs. 1 to 3; zeng: Zeng, Naughton and Cai 2012, Figs. 2 to 7; "
        "coverage: how often our own intervals of measures hold the truth; questions: what one answer a person tells "
        "of CENSUS and HEALTH at gamma 19 and 8.14; sieve: the curator's sieve at epsilon 1, pure and with a delta, "
        "against truncation and four rivals",
    )
    command.add_argument("--data", type=Path, metavar="DIR", help="directory of the benchmark files")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="also write the figures to a .json file")
    command.add_argument("--records", type=whole("records", 1), metavar="N", help="re: default 1,000,000")
    command.add_argument(
        "--slack", type=not_negative("slack"), metavar="X", help="re: default 0, which the paper seems to use"
    )
    command.add_argument(
        "--figures", type=Path, metavar="DIR", help="esag, frapp, guo, zeng: draw the figures as .svg files there"
    )
    command.add_argument(
        "--times",
        type=whole("times", 1),
        metavar="N",
        help="esag: randomize every record N times (default 100); coverage: repetitions of each setting (default "
        "2000); zeng, sieve: runs of each method (default 10)",
    )
    command.add_argument("--min-support", type=fraction("min_support"), metavar="S", help="esag: default 0.002")
    command.add_argument(
        "--worst-itemset",
        action="store_true",
        default=None,
        help="esag: plan against the worst itemset that can exist, not against the paper's",
    )
    command.add_argument(
        "--versions",
        type=whole("versions", 1),
        metavar="N",
        help="frapp: versions of each record beside one (default 50)",
    )
    command.add_argument(
        "--repetitions", type=whole("repetitions", 1), metavar="N", help="questions: of each study (default 10)"
    )
    command.add_argument(
        "--quick",
        action="store_true",
        default=None,
        help="questions: CENSUS at gamma 19 alone, twice unless --repetitions says otherwise; sieve: one small file, "
        "twice unless --times says otherwise",
    )
    command.add_argument("--files", nargs="+", metavar="NAME", help="sieve: these files alone, as retail or chess")
    command.add_argument(
        "--limits", nargs="+", type=fraction("limits"), metavar="S", help="sieve: at these limits alone, as 0.005"
    )
    command.add_argument("--ours", action="store_true", default=None, help="sieve: no rivals")
    add_seed(command, default=7, help="of baskets and coins (default 7); a simulation, which protects nobody")


def run(options: argparse.Namespace) -> None:
    for name, papers in _ONLY.items():
        if options.paper not in papers and getattr(options, name) is not None:
            option = "--" + name.replace("_", "-")
            raise ParameterError(
                f"The '{option}' option must come with {' or '.join(papers)}, not with {options.paper}.",
                parameter=name,
                value=getattr(options, name),
            )
    if options.output is not None:
        check_output(options.output, suffixes=(".json",))
    result = _run(options)
    if options.output is not None:
        write_json(result, options.output)
        say(f"wrote {options.output}")


def _run(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.cli.commands import (
        reproduce_coverage,
        reproduce_esag,
        reproduce_frapp,
        reproduce_guo,
        reproduce_questions,
        reproduce_sieve,
        reproduce_zeng,
    )

    others = {
        "esag": reproduce_esag.run,
        "frapp": reproduce_frapp.run,
        "guo": reproduce_guo.run,
        "coverage": reproduce_coverage.run,
        "questions": reproduce_questions.run,
        "sieve": reproduce_sieve.run,
        "zeng": reproduce_zeng.run,
    }
    return _re(options) if options.paper == "re" else others[options.paper](options)


def _re(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.research.reproduce import re as paper

    records = 1_000_000 if options.records is None else options.records
    with Work(options).step("reproducing RE"):
        result = paper.run(data=options.data, records=records, seed=options.seed, slack=options.slack or 0.0, tell=say)
    for table in result["tables"]:
        _show(table, result["paper"][table["data"]])
    if result["missing"]:
        say(result["missing"])
    return result


def _show(table: dict[str, Any], paper: dict[int, tuple[float | None, ...]]) -> None:
    """Ours, and the paper's figure in brackets."""
    settings = list(table["qualities"])
    rows = []
    for place, first in enumerate(table["qualities"][settings[0]]):
        size = first["size"]
        theirs = list(paper.get(size, ()))
        row = [str(size) if size else "all", _beside(first["true"], theirs[:1])]
        for at, setting in enumerate(settings):
            ours = table["qualities"][setting][place]
            names = ("false_positives", "false_negatives", "deviation")
            row += [_beside(ours[name], theirs[1 + 3 * at + k : 2 + 3 * at + k]) for k, name in enumerate(names)]
        rows.append(row)
    measures = [f"{setting} {name}" for setting in settings for name in ("FP", "FN", "DEV%")]
    title = f"{table['title']}; the paper's figures in brackets ({table['seconds']:.0f} s)"
    print_table(title, ["items", "true", *measures], rows, text_columns=0)


def _beside(ours: float | None, theirs: list[float | None]) -> str:
    return _figure(ours) + (f" ({_figure(theirs[0])})" if theirs else "")


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
