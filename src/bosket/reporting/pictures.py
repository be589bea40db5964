"""Pictures as SVG text, drawn without pyplot and its global state.

Colours are written as CSS variables with the light colour as fallback, so that a picture inside a page follows its
light or dark scheme and still stands alone.  Text stays text: it can be selected, read aloud, and shown in any script
the reader's browser knows.  Labels come from users, so none of them is read as mathematics.
"""

from __future__ import annotations

import html
import io
import re
import threading
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from bosket.reporting.text import label_text, rule_text, visible
from bosket.statistics.estimates import Floats

COLOURS = {
    "ink": "#21302a",
    "muted": "#5f6f67",
    "grid": "#dfe5df",
    "found": "#2b7a57",
    "missed": "#c4701a",
    "false": "#a8437a",
    "band": "#e7f0ea",
    "step-1": "#a9b8ae",
    "step-2": "#6fae8e",
    "step-3": "#3d8f6c",
    "step-4": "#1f6a63",
    "step-5": "#143f5c",
}
"""The light scheme; a page's style sheet gives the dark one under the same names."""

_STATUS = {"found": "o", "missed": "v", "false": "s"}
_LINES = ("found", "missed", "false", "step-5")
_MARKERS = ("o", "v", "s", "D")
_DASHES = ("-", "--", ":")  # for more lines than there are colours
_LIFTS = (1.0, 2.0, 5.0, 20.0)
_MOST_POINTS = 600
_SETTINGS = threading.Lock()  # matplotlib reads some settings from a global place: one picture at a time
MOST_RULES = 300


def _axes(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = [figure.add_subplot(1, columns, number + 1) for number in range(columns)]
    for part in axes:
        part.set_axisbelow(True)
        part.grid(True, color=COLOURS["grid"], linewidth=0.8)
        for side in ("top", "right"):
            part.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            part.spines[side].set_color(COLOURS["muted"])
            part.spines[side].set_linewidth(0.8)
        part.tick_params(colors=COLOURS["muted"], labelcolor=COLOURS["ink"], labelsize=9, length=3)
    return figure, axes


def _name(axes: Axes, x: str, y: str = "") -> None:
    axes.set_xlabel(x, color=COLOURS["ink"], fontsize=9.5, labelpad=7)
    axes.set_ylabel(y, color=COLOURS["ink"], fontsize=9.5, labelpad=7)


def _legend(axes: Axes, place: Literal["upper left", "best"]) -> None:
    axes.legend(loc=place, frameon=False, fontsize=9, labelcolor=COLOURS["ink"], handletextpad=0.5, borderaxespad=0.6)


def _svg(figure: Figure, name: str, alt: str) -> str:
    """The figure as an ``svg`` element; ``name`` keeps its ids apart from those of other pictures on a page."""
    figure.patch.set_alpha(0.0)
    for axes in figure.axes:
        axes.patch.set_alpha(0.0)
    text = io.StringIO()
    settings = mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bosket"})
    with _SETTINGS, settings, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # only for measuring: the browser has the glyph
        figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    result = text.getvalue()
    result = result[result.index("<svg") :]
    result = re.sub("<[^>]*>", lambda tag: _themed(tag.group(), name), result)  # tags alone: labels stay as they are
    return result.replace("<svg", f'<svg role="img" aria-label="{html.escape(visible(alt))}"', 1)


def _themed(tag: str, name: str) -> str:
    for variable, colour in COLOURS.items():
        tag = tag.replace(colour, f"var(--{variable}, {colour})")
    tag = re.sub(r'\bid="', f'id="{name}-', tag)
    return re.sub(r'(xlink:href="|url\()#', rf"\g<1>#{name}-", tag)


def _percent(axis_value: float, _position: int | None = None) -> str:
    return f"{100 * axis_value:.6g}%"


def _spread(frame: pd.DataFrame, most: int, by: str) -> pd.DataFrame:
    """At most ``most`` rows, evenly spread over the ranks of a column."""
    if len(frame) <= most:
        return frame
    order = np.argsort(frame[by].to_numpy(), kind="stable")
    return frame.iloc[np.sort(order[np.linspace(0, len(frame) - 1, most).round().astype(int)])]


def support_against_truth(frame: pd.DataFrame, *, min_support: float) -> str:
    """Estimated against true support with error bars, on logarithmic axes.

    ``frame`` is that of a :class:`~bosket.reporting.comparison.Comparison`.  At most 600 itemsets are drawn, and what
    lies below a tenth of ``min_support`` is drawn at that end of the axes.
    """
    shown = pd.concat(
        [_spread(frame[frame["status"] == status], _MOST_POINTS // len(_STATUS), "truth") for status in _STATUS]
    )
    figure, (axes,) = _axes(7.2, 5.4)
    columns = [shown[column].to_numpy(float) for column in ("truth", "support", "low", "high")]
    lowest, highest = min_support / 10, max(2 * min_support, *(column.max(initial=0) for column in columns))
    truth, value, low, high = (np.maximum(column, lowest) for column in columns)
    lowest = max(lowest, min(min_support / 2, truth.min(initial=1), value.min(initial=1)))
    ends = (lowest / 1.1, highest * 1.15)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(_percent))
        axis.set_minor_locator(NullLocator())
    axes.plot(ends, ends, color=COLOURS["muted"], linewidth=1, label="estimate = truth")
    for line in (axes.axhline, axes.axvline):
        line(min_support, color=COLOURS["muted"], linewidth=1, linestyle=(0, (3, 3)))
    for status, marker in _STATUS.items():
        own = (shown["status"] == status).to_numpy()
        if own.any():
            reach = np.stack([value[own] - low[own], high[own] - value[own]])
            axes.errorbar(
                truth[own], value[own], yerr=reach, fmt=marker, markersize=3.4, linewidth=0.9, alpha=0.75,
                color=COLOURS[status], markeredgewidth=0, label=_counted(frame, status),
            )  # fmt: skip
    _name(axes, "true support", "estimated support")
    _legend(axes, "upper left")
    alt = (
        f"Estimated against true support of {len(shown)} itemsets with their intervals. Points lie along the line "
        f"where the estimate equals the truth; dashed lines mark the minimum support of {_percent(min_support)}."
    )
    return _svg(figure, "truth", alt)


def _counted(frame: pd.DataFrame, status: str) -> str:
    return f"{status} ({int((frame['status'] == status).sum()):,})"


def error_by_size(frame: pd.DataFrame, *, quantile: float) -> str:
    """Two panels by itemset size: the error in standard errors, and relative to the truth.

    ``frame`` is that of the truly frequent itemsets of a Comparison; ``quantile`` is the z of its intervals, drawn as a
    band.
    """
    sizes = sorted({int(size) for size in frame["size"]})
    error = (frame["support"] - frame["truth"]).to_numpy(float)
    truth, stderr = frame["truth"].to_numpy(float), frame["stderr"].to_numpy(float)
    size = frame["size"].to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        scores, relative = error / stderr, np.abs(error) / truth
    figure, (left, right) = _axes(7.8, 4.0, columns=2)
    left.axhspan(-quantile, quantile, color=COLOURS["band"], linewidth=0, zorder=0)
    left.axhline(0, color=COLOURS["muted"], linewidth=1)
    _boxes(left, [scores[(size == k) & np.isfinite(scores)] for k in sizes], sizes)
    _boxes(right, [relative[(size == k) & np.isfinite(relative)] for k in sizes], sizes)
    right.yaxis.set_major_formatter(FuncFormatter(_percent))
    right.set_ylim(bottom=0)
    _name(left, "items in the itemset", "error / standard error")
    _name(right, "items in the itemset", "|error| / true support")
    alt = (
        f"Error by itemset size, sizes {', '.join(map(str, sizes))}. Left: the error divided by its standard error, "
        "which should spread alike around 0 at every size. Right: the error as a share of the true support."
    )
    return _svg(figure, "size", alt)


def _boxes(axes: Axes, groups: Sequence[Floats], sizes: Sequence[int]) -> None:
    """Boxes from quartile to quartile with a line at the median, whiskers to 2.5% and 97.5%, the rest as dots."""
    line = {"color": COLOURS["found"], "linewidth": 1.2}
    dots = {"marker": "o", "markersize": 2.4, "markerfacecolor": COLOURS["found"], "markeredgewidth": 0, "alpha": 0.6}
    for at, group in enumerate(groups):
        if not len(group):
            continue
        axes.boxplot(
            [group], positions=[at], widths=0.55, whis=(2.5, 97.5), patch_artist=True, manage_ticks=False,
            boxprops={"facecolor": COLOURS["band"], "edgecolor": COLOURS["found"], "linewidth": 1.2},
            medianprops={"color": COLOURS["found"], "linewidth": 2}, whiskerprops=line, capprops=line,
            flierprops=dots,
        )  # fmt: skip
    axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axes.set_xlim(-0.6, len(sizes) - 0.4)
    axes.grid(False, axis="x")
    axes.yaxis.set_major_locator(MaxNLocator(6))


def intervals(
    labels: Sequence[str],
    frame: pd.DataFrame,
    *,
    column: str,
    x: str,
    name: str,
    threshold: float | None = None,
) -> str:
    """One row per label: the estimate in ``column`` with its interval, and the ``truth`` if the frame has it.

    The interval is read from ``low`` and ``high``, or from ``column_low`` and ``column_high``; exact data have none.
    """
    value = frame[column].to_numpy(float)
    ends = ("low", "high") if f"{column}_low" not in frame else (f"{column}_low", f"{column}_high")
    low, high = (frame[end].to_numpy(float) if end in frame else value for end in ends)
    rows = np.arange(len(frame))
    figure, (axes,) = _axes(7.8, 0.9 + 0.27 * max(3, len(frame)))
    if threshold is not None:
        axes.axvline(threshold, color=COLOURS["muted"], linewidth=1, linestyle=(0, (3, 3)))
    bars = np.maximum(np.stack([value - low, high - value]), 0)
    axes.errorbar(
        value, rows, xerr=np.nan_to_num(bars), fmt="o", markersize=5, linewidth=2, color=COLOURS["found"],
        markeredgewidth=0, label="estimate and interval",
    )  # fmt: skip
    if "truth" in frame:
        axes.plot(
            frame["truth"].to_numpy(float), rows, linestyle="none", marker="D", markersize=5, markerfacecolor="none",
            markeredgecolor=COLOURS["missed"], markeredgewidth=1.4, label="truth", zorder=4,
        )  # fmt: skip
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=9, labelcolor=COLOURS["ink"]
        )
    axes.set_yticks(rows, [_short(label) for label in labels], parse_math=False)
    axes.set_ylim(len(frame) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(FuncFormatter(_percent))
    _name(axes, x)
    truth = ", each with the truth" if "truth" in frame else ""
    return _svg(figure, name, f"{x} of {len(frame)} rows with intervals{truth}; the table nearby gives the numbers.")


def _short(label: str) -> str:
    return label if len(label) <= 42 else label[:41] + "…"


def rules_scatter(rules: pd.DataFrame) -> str:
    """Confidence against support with error bars, coloured by lift; of more than 300 rules an even selection."""
    known = np.isfinite(rules["confidence"].to_numpy(float)) & np.isfinite(rules["lift"].to_numpy(float))
    shown = _spread(rules[known], MOST_RULES, "confidence")
    figure, (axes,) = _axes(7.2, 4.8)
    classes = np.digitize(shown["lift"].to_numpy(float), _LIFTS)
    names = ["lift below 1", *(f"lift {low:g} to {high:g}" for low, high in pairwise(_LIFTS))]
    names.append(f"lift above {_LIFTS[-1]:g}")
    for number, title in enumerate(names):
        own = shown[classes == number]
        if len(own):
            axes.errorbar(
                own["support"], own["confidence"], xerr=_bars(own, "support"), yerr=_bars(own, "confidence"),
                fmt="o", markersize=4, linewidth=0.8, alpha=0.8, color=COLOURS[f"step-{number + 1}"],
                markeredgewidth=0, label=title,
            )  # fmt: skip
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(_percent))
        axis.set_major_locator(MaxNLocator(7))
    _name(axes, "support", "confidence")
    if len(shown):
        _legend(axes, "best")
    best = ""
    if len(shown):
        first = shown.iloc[0]
        best = f" The first of them is {label_text(rule_text(first['antecedents'], first['consequents']))}."
    return _svg(
        figure, "rules", f"Confidence against support of {len(shown)} rules with intervals, coloured by lift.{best}"
    )


def _bars(frame: pd.DataFrame, measure: str) -> Floats:
    value = frame[measure].to_numpy(float)
    ends = (f"{measure}_low", f"{measure}_high")
    low, high = (frame[end].to_numpy(float) if end in frame else value for end in ends)  # exact data have no interval
    result: Floats = np.nan_to_num(np.maximum(np.stack([value - low, high - value]), 0))
    return result


def curves(
    x: Sequence[float],
    lines: dict[str, Sequence[float | None]],
    *,
    name: str,
    title: str,
    x_label: str,
    y_label: str,
    x_is_share: bool,
    y_is_log: bool = True,
    y_is_share: bool = True,
) -> str:
    """Lines over a common x; y a share or a number, on a logarithmic axis or a plain one; None breaks a line."""
    figure, (axes,) = _axes(6.4, 4.2)
    if y_is_log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_percent if y_is_share else lambda value, _: f"{value:,.6g}"))
    whole = all(float(value).is_integer() for value in x)
    plain = (lambda value, _: f"{value:,.0f}") if whole else (lambda value, _: f"{value:g}")
    axes.xaxis.set_major_formatter(FuncFormatter(_percent if x_is_share else plain))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=whole))
    for place, (label, y) in enumerate(lines.items()):
        values = np.array([np.nan if value is None else value for value in y])
        axes.plot(
            x, values, label=label, color=COLOURS[_LINES[place % len(_LINES)]], marker=_MARKERS[place % len(_MARKERS)],
            markersize=4, linewidth=1.6, linestyle=_DASHES[place // len(_LINES) % len(_DASHES)],
        )  # fmt: skip
    if not y_is_log:
        axes.set_ylim(bottom=0)
    axes.set_title(title, color=COLOURS["ink"], fontsize=10.5, loc="left", pad=10)
    _name(axes, x_label, y_label)
    _legend(axes, "best")
    return _svg(figure, name, f"{title}: {y_label} against {x_label}, a line each for {', '.join(lines)}.")
