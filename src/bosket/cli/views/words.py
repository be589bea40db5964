"""What the library advises, in the words of the command line.

Options carry the names of the library's arguments, so that ``longer='sample'`` in a hint is ``--longer sample`` here.
"""

from __future__ import annotations

import argparse
import re

_ARGUMENT = re.compile(r"\b([a-z][a-z_]*)=('([^']*)'|True\b|None\b|\.\.\.|(?=[\s,;.)]))")
_PHRASES = (
    ("import its module first", "name it by --mechanism module:Class, which imports its module"),
    ("bosket.measures.CATALOGUE lists them all", "--list-measures lists them all"),
    ("Design.covering asks", "--covering asks"),
    ("Design.pairs and Design.covering need", "--pairs and --covering need"),
)
"""What is called otherwise here, where the command has the option."""


def in_options(hint: str, options: argparse.Namespace) -> str:
    """A hint with arguments of the library as options of the command."""
    for ours, theirs in _PHRASES:
        name = theirs.split("--")[1].split()[0].replace("-", "_")
        if name in options:
            hint = hint.replace(ours, theirs)
    return _ARGUMENT.sub(lambda match: _option(match, options), hint)


def _option(match: re.Match[str], options: argparse.Namespace) -> str:
    name, value, text = match.groups()
    if name not in options:
        return match[0]
    said = "none" if value == "None" else text
    return f"--{name.replace('_', '-')}" + (f" {said}" if said else "")
