"""``bosket reproduce``: the figures and tables of the papers, run again."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bosket.cli.console import Work, say
from bosket.cli.files import check_output, write_json
from bosket.cli.options import Commands, add_command, add_seed, fraction, not_negative, whole
from bosket.cli.tables import print_table
from bosket.errors import ParameterError

_ONLY = {"re": ("records", "slack"), "esag": ("figures", "times", "min_support", "worst_itemset")}
"""Options that belong to one paper."""


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run, help="Run the experiments of a paper again, beside its figures.")
    command.add_argument(
        "paper",
        choices=tuple(_ONLY),
        help="re: Xia, Yang, Chi and Muntz 2004, Tables 2 and 3; esag: Evfimievski, Srikant, Agrawal and Gehrke 2004, "
        "Figs. 1 to 9 and Tables 1 to 4",
    )
    command.add_argument("--data", type=Path, metavar="DIR", help="directory of the benchmark files")
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help="also write the figures to a .json file")
    command.add_argument("--records", type=whole("records", 1), metavar="N", help="re: default 1,000,000")
    command.add_argument(
        "--slack", type=not_negative("slack"), metavar="X", help="re: default 0, which the paper seems to use"
    )
    command.add_argument("--figures", type=Path, metavar="DIR", help="esag: draw Figs. 1 to 9 as .svg files there")
    command.add_argument(
        "--times", type=whole("times", 1), metavar="N", help="esag: randomize every record N times (default 100)"
    )
    command.add_argument("--min-support", type=fraction("min_support"), metavar="S", help="esag: default 0.002")
    command.add_argument(
        "--worst-itemset",
        action="store_true",
        default=None,
        help="esag: plan against the worst itemset that can exist, not against the paper's",
    )
    add_seed(command, default=7, help="of baskets and coins (default 7); a simulation, which protects nobody")


def run(options: argparse.Namespace) -> None:
    for paper, names in _ONLY.items():
        for name in names:
            if paper != options.paper and getattr(options, name) is not None:
                option = "--" + name.replace("_", "-")
                raise ParameterError(
                    f"The '{option}' option must come with {paper}, not with {options.paper}.",
                    parameter=name,
                    value=getattr(options, name),
                )
    if options.output is not None:
        check_output(options.output, suffixes=(".json",))
    result = _re(options) if options.paper == "re" else _esag(options)
    if options.output is not None:
        write_json(result, options.output)
        say(f"wrote {options.output}")


def _re(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.reproduce import re as paper

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


def _esag(options: argparse.Namespace) -> dict[str, Any]:
    from bosket.reproduce import esag as paper

    if options.figures is not None and options.figures.exists() and not options.figures.is_dir():
        raise ParameterError(
            f"The '--figures' option must name a directory, and {options.figures} is a file.",
            parameter="figures",
            value=options.figures,
        )
    with Work(options).step("reproducing ESAG"):
        result = paper.run(
            data=options.data,
            times=options.times or paper.TIMES,
            min_support=options.min_support or paper.MIN_SUPPORT,
            seed=options.seed,
            worst=bool(options.worst_itemset),
            tell=say,
        )
    if options.figures is not None:
        _draw(result["figures"], options.figures)
    for table in result["tables"]:
        _show_esag(table, result["planned_against"])
    for sentence in result["missing"]:
        say(sentence)
    return result


def _draw(figures: list[dict[str, Any]], folder: Path) -> None:
    from bosket.cli.files import write_text
    from bosket.reporting.pictures import curves

    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        picture = curves(
            figure["x"],
            figure["curves"],
            name=f"figure-{figure['number']}",
            title=figure["title"],
            x_label=figure["x_label"],
            y_label=figure["y_label"],
            x_is_share=figure["x_is_share"],
        )
        write_text(picture, folder / f"figure-{figure['number']}.svg")
    say(f"drew {len(figures)} figures in {folder}")


def _show_esag(table: dict[str, Any], planned_against: str) -> None:
    """Tables 1 to 4 in the paper's own form, and what they were made with."""
    least = table["min_support"]
    name = f"{table['name']}, {table['n_records']:,} records ({table['times']} x the stream), at {least:.2%}"
    print_table(
        f"{name}: parameters at cutoff 7, planned against {planned_against}",
        ["record size", *map(str, table["parameters"])],
        [["rho, %", *(f"{100 * rho:.1f}" for rho in table["parameters"].values())]],
        text_columns=1,
    )
    rows = [
        [
            str(row["size"]),
            *(str(row[key]) for key in ("true", "true_positives", "false_drops", "false_positives")),
            _sigmas(table["sigmas"].get(row["size"])),
            f"{table['lowest_supports'][row['size']]:.3%}",
        ]
        for row in table["found"]
    ]
    headings = ["size", "true itemsets", "true positives", "false drops", "false positives", "sigma", "4 sigmas"]
    print_table(f"Table 1, {table['name']}: results", headings, rows, text_columns=0)
    bands = [f"< {least / 2:.3%}", f"to {0.75 * least:.3%}", f"to {least:.3%}", f">= {least:.3%}"]
    for number, key, what in (
        (2, "false_drops", "false drops: truly frequent itemsets by predicted support"),
        (3, "false_positives", "false positives: itemsets predicted to be frequent by true support"),
    ):
        rows = [
            [str(row["size"]), str(row["itemsets"]), *(str(row[f"band_{band}"]) for band in range(4))]
            for row in table[key]
        ]
        print_table(f"Table {number}, {table['name']}: {what}", ["size", "itemsets", *bands], rows, text_columns=0)
    cells = {
        title: [f"{row[f'{key}_size']}: {row[key]:.1%}" for row in table["breaches"]]
        for title, key in (("worst average", "worst_average"), ("worst of the worst", "worst"))
    }
    print_table(
        f"Table 4, {table['name']}: actual breaches by record size, on {table['breach_records']:,} records "
        f"({table['seconds']:.0f} s in all)",
        ["", *(str(row["record_size"]) for row in table["breaches"])],
        [[title, *values] for title, values in cells.items()],
        text_columns=1,
    )


def _sigmas(ends: tuple[float, float] | None) -> str:
    return "–" if ends is None else f"{ends[0]:.3%} to {ends[1]:.3%}"
