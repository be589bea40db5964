"""One self-contained HTML page: no scripts, nothing loaded from anywhere, light and dark.

A page is a title and sections of blocks; every text is escaped here and nowhere else: what HTML would read as a tag,
and signs that are not seen, such as those that turn the direction of writing.  Pictures come as SVG from
:mod:`bosket.reporting.pictures`, which escapes what it draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import Protocol

from bosket._version import __version__
from bosket.data.formats.atomic import atomic_path
from bosket.reporting.text import visible


class Block(Protocol):
    """Something that stands in a section."""

    def html(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str

    def html(self) -> str:
        return f"<p>{_escape(self.text)}</p>"


@dataclass(frozen=True, slots=True)
class Warning:
    """What a reader must not overlook."""

    text: str

    def html(self) -> str:
        return f'<p class="warning" role="note">{_escape(self.text)}</p>'


@dataclass(frozen=True, slots=True)
class Tiles:
    """A few numbers to take away, each with what it is."""

    figures: Sequence[tuple[str, str]]

    def html(self) -> str:
        tiles = (f"<div><dt>{_escape(name)}</dt><dd>{_escape(value)}</dd></div>" for name, value in self.figures)
        return f'<dl class="tiles">{"".join(tiles)}</dl>'


@dataclass(frozen=True, slots=True)
class PageTable:
    """Rows of text; the columns from ``text_columns`` on hold numbers, but for the last one where it is a remark."""

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int = 1
    has_remark: bool = False

    def html(self) -> str:
        def cells(row: Sequence[str], tag: str) -> str:
            numbers = range(self.text_columns, len(row) - self.has_remark)
            sides = (' class="number"' if at in numbers else "" for at in range(len(row)))
            return "".join(f"<{tag}{side}>{_escape(cell)}</{tag}>" for side, cell in zip(sides, row, strict=True))

        body = "\n".join(f"<tr>{cells(row, 'td')}</tr>" for row in self.rows)
        kind = "table words" if self.has_remark else "table"
        return (
            f'<div class="{kind}" role="region" tabindex="0" aria-label="{_escape(self.caption)}"><table>'
            f"<caption>{_escape(self.caption)}</caption><thead><tr>{cells(self.headings, 'th')}</tr></thead>"
            f"<tbody>\n{body}\n</tbody></table></div>"
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG element, already escaped, with its caption."""

    svg: str
    caption: str

    def html(self) -> str:
        return f"<figure>{self.svg}<figcaption>{_escape(self.caption)}</figcaption></figure>"


@dataclass(frozen=True, slots=True)
class Card:
    """The lines of :meth:`bosket.LocalGuarantee.card`, with its notes in the background."""

    text: str

    def html(self) -> str:
        head, *lines = self.text.split("\n")
        return f'<div class="card"><h3>{_escape(head)}</h3><ul>{"".join(map(_card_line, lines))}</ul></div>'


def _escape(text: str) -> str:
    return escape(visible(text))


def _card_line(line: str) -> str:
    word, _, rest = line.strip().partition(" ")
    if word == "note:":
        return f'<li class="aside">{_escape(rest)}</li>'
    if word in ("item", "record", "person"):
        numbers, _, unit = rest.strip().partition(": ")
        return f"<li><b>{_escape(word)}</b> {_escape(numbers)}<br><span>{_escape(unit)}</span></li>"
    return f"<li>{_escape(line.strip())}</li>"


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    blocks: Sequence[Block]

    def html(self) -> str:
        inner = "\n".join(block.html() for block in self.blocks)
        return f"<section>\n<h2>{_escape(self.heading)}</h2>\n{inner}\n</section>"


@dataclass(frozen=True, slots=True)
class Page:
    """A title, a sentence under it, blocks that come first, and sections."""

    title: str
    lede: str
    opening: Sequence[Block]
    sections: Sequence[Section]

    def html(self) -> str:
        style = resources.files(__package__).joinpath("page.css").read_text("utf-8")
        opening = "\n".join(block.html() for block in self.opening)
        sections = "\n".join(section.html() for section in self.sections)
        written = (
            f"Written by bosket {__version__}. This page is complete in itself: it runs no script and loads nothing."
        )
        policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="bosket {_escape(__version__)}">
<title>{_escape(self.title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{_escape(self.title)}</h1>
<p class="lede">{_escape(self.lede)}</p>
</header>
<main>
{opening}
{sections}
</main>
<footer>{_escape(written)}</footer>
</body>
</html>
"""

    def write(self, path: str | Path) -> None:
        """Write the page; an existing file is replaced whole or not at all."""
        with atomic_path(path) as temporary:
            temporary.write_text(self.html(), "utf-8")
