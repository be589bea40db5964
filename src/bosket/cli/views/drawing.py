"""Figures of a paper as .svg files in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bosket.cli.inputs.files import write_text
from bosket.cli.views.console import say
from bosket.errors import ParameterError


def check_folder(folder: Path | None) -> None:
    """Before the work begins: what is there must not be a file."""
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ParameterError(
            f"The '--figures' option must name a directory, and {folder} is a file.", parameter="figures", value=folder
        )


def draw(figures: list[dict[str, Any]], folder: Path) -> None:
    """One file for each figure, named after its number."""
    from bosket.reporting.pictures import curves

    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        name = f"figure-{figure['number']}"
        how = {key: figure[key] for key in ("title", "x_label", "y_label", "x_is_share", "y_is_log", "y_is_share")}
        write_text(curves(figure["x"], figure["curves"], name=name, **how), folder / f"{name}.svg")
    say(f"drew {len(figures)} figures in {folder}")
