"""Options that say how to randomize, which of them belong together, and the mechanism that they make."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from bosket.cli.options import clash, inside, option, probability, whole
from bosket.errors import ParameterError

if TYPE_CHECKING:
    from bosket.data import Domain
    from bosket.mechanisms import Mechanism

_BELONGS_TO = {
    "keep_absent": ("keep", "keep_file"),
    "default": ("keep_file",),
    "insert": ("cutoff",),
    "mix_keep": ("mix",),
    "spread": ("gamma",),
}
"""An option that only makes sense beside one of these."""
_NEEDS = {"cutoff": "insert", "mix": "mix_keep"}


def add_mechanism(command: argparse.ArgumentParser) -> None:
    """One way to randomize, and the options that belong to some of them."""
    group = command.add_argument_group("how to randomize", "one of the first eight; the rest belong to some of them")
    how = group.add_mutually_exclusive_group(required=True)
    how.add_argument("--keep", type=probability("keep"), metavar="P", help="probability that a present item stays")
    how.add_argument(
        "--keep-file",
        type=Path,
        metavar="FILE",
        help="a keep for each item: CSV with columns item,keep[,keep_absent], or JSON",
    )
    how.add_argument(
        "--cutoff",
        type=whole("cutoff", 1),
        metavar="K",
        help="cut and paste: keep 0 to K items, each number equally likely; others come in with --insert",
    )
    how.add_argument(
        "--sizes-file",
        type=Path,
        metavar="FILE",
        help="cut and paste by record size: CSV with columns size,cutoff,insert, or JSON; in JSON also "
        "select a size, with kept in place of cutoff",
    )
    how.add_argument(
        "--replace",
        type=probability("replace"),
        metavar="P",
        help="replace each item, with probability P, by one that the record does not have",
    )
    how.add_argument(
        "--mix",
        type=whole("mix", 1),
        metavar="OTHERS",
        help="unite each record with so many others, and keep items with --mix-keep; needs a curator",
    )
    how.add_argument(
        "--gamma",
        type=inside("gamma", 1, math.inf),
        metavar="G",
        help="for tables: a record stays as it is G times as likely as it becomes any other; with 19, what had 5%% "
        "comes to 50%% at most",
    )
    how.add_argument("--plan", type=Path, metavar="PLAN", help="everything from a plan that was written before")
    group.add_argument(
        "--keep-absent",
        type=probability("keep_absent"),
        metavar="Q",
        help="with --keep or --keep-file: probability that an absent item stays absent",
    )
    group.add_argument(
        "--default",
        type=probability("default"),
        metavar="P",
        help="with --keep-file: the keep of items that it leaves out",
    )
    group.add_argument(
        "--insert",
        type=probability("insert"),
        metavar="RHO",
        help="with --cutoff: probability that an item which was not kept comes in",
    )
    group.add_argument(
        "--mix-keep",
        type=probability("mix_keep"),
        metavar="P",
        help="with --mix: probability that an item of the united records stays",
    )
    group.add_argument(
        "--spread",
        type=probability("spread"),
        metavar="S",
        help="with --gamma: let the probability that a record stays vary by report, by up to this share (default 0)",
    )


def check_mechanism(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together."""
    for name, owners in _BELONGS_TO.items():
        if getattr(options, name) is None:
            continue
        if options.plan is not None:
            raise settled(name, options)
        if all(getattr(options, owner) is None for owner in owners):
            raise clash(name, f"come with {' or '.join(map(option, owners))}", options)
    for name, companion in _NEEDS.items():
        if getattr(options, name) is not None and getattr(options, companion) is None:
            raise clash(name, f"come with {option(companion)}", options)
    if options.gamma is not None and not options.table:
        raise clash("gamma", "come with --table", options)


def settled(name: str, options: argparse.Namespace) -> ParameterError:
    return clash(name, "not come with --plan, which settles it", options)


def make_mechanism(options: argparse.Namespace, domain: Domain) -> Mechanism:
    """The mechanism of these options, for items of this domain."""
    from bosket.cli.plans import read_keep
    from bosket.cli.sizes import read_sizes
    from bosket.mechanisms import CutAndPaste, Flip, GammaDiagonal, Mixing, Replace

    if options.keep_file is not None:
        return read_keep(options.keep_file, domain, keep_absent=options.keep_absent, default=options.default)
    if options.sizes_file is not None:
        return read_sizes(options.sizes_file)
    if options.cutoff is not None:
        return CutAndPaste(cutoff=options.cutoff, insert=options.insert)
    if options.replace is not None:
        return Replace(probability=options.replace)
    if options.gamma is not None:
        return GammaDiagonal(gamma=options.gamma, spread=options.spread or 0.0)
    if options.mix is not None:
        return Mixing(others=options.mix, keep=options.mix_keep)
    return Flip(keep=options.keep, keep_absent=options.keep_absent)
