"""What a curator's release will say, and which way to make it is best: as a table, as JSON, and as a page."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bosket._version import __version__
from bosket.cli.views.plans import VERSION
from bosket.cli.views.tables import print_lines, print_table, standard_output

if TYPE_CHECKING:
    from bosket.planning import Curator, ReleaseForesight, ReleaseRanking
    from bosket.reporting.page import Page

_WAYS = ("way", "F", "missed", "listed by mistake", "why")
_HEADINGS = ("items", "frequent", "missed", "listed by mistake", "error at the limit", "released 9 in 10 from")


def show_release(found: ReleaseRanking) -> None:
    """A sentence, a row for each way to make the release, and of the best one for each size of itemsets."""
    print_lines(release_sentence(found.best))
    if found.best.rehearsed.refused < found.best.rehearsed.n_releases:
        print_table(_rehearsed(found.best), _WAYS, _ways(found), has_remark=True)
        print_table(f"{found.best.curator}, by size", _HEADINGS, _sizes(found.best), text_columns=0)


def _ways(found: ReleaseRanking) -> list[list[str]]:
    """Texts of a ranking."""
    from bosket.planning.releases.ranking import why

    return [
        [
            way_text(row["curator"]),
            f"{row['f']:.2f}",
            f"{row['false_negatives']:,.1f}",
            f"{row['false_positives']:,.1f}",
            why(row["curator"]),
        ]
        for row in found.to_frame().to_dict("records")
    ]


def way_text(asked: Curator) -> str:
    """How a release is made, in a word or two."""
    return f"{asked.method}, delta {asked.delta:g}" if asked.delta else asked.method


def curate_command(asked: Curator) -> str:
    """What makes this release."""
    delta = f" --delta {_as_asked(asked.delta)}" if asked.delta else ""
    method = "" if asked.method == "sieve" else f" --method {asked.method}"
    limit = _as_asked(asked.min_support)
    return f"bosket curate RAW --epsilon {_as_asked(asked.epsilon)}{delta} --min-support {limit}{method}"


def _as_asked(number: float) -> str:
    """The very number, in few signs where these are enough: a command must not spend more than was planned."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def _sizes(seen: ReleaseForesight) -> list[list[str]]:
    return [
        [
            f"{row['size']:,.0f}",
            f"{row['frequent']:,.0f}",
            f"{row['false_negatives']:,.1f}",
            f"{row['false_positives']:,.1f}",
            "none" if math.isinf(row["stderr"]) else f"{row['stderr']:.2g}",
            percent(row["lowest_support"]),
        ]
        for row in _by_size(seen)
    ]


def percent(support: float) -> str:
    return "none" if math.isinf(support) else f"{100 * support:.3g}%"


def release_ranking_page(found: ReleaseRanking, scores: Scores) -> Page:
    """A page with the F of every way by epsilon."""
    from bosket.reporting.page import PageTable
    from bosket.reporting.planned import release_plan_page

    best = found.best
    return release_plan_page(
        PageTable("Ways to make the release, the largest F first", _WAYS, _ways(found), has_remark=True),
        PageTable(f"The best of them by size: {best.curator}", _HEADINGS, _sizes(best), text_columns=0),
        sentence=release_sentence(best),
        figures=[
            ("records", f"{best.people:,}"),
            ("epsilon", f"{best.curator.epsilon:g}"),
            *([("delta", f"{best.curator.delta:g}")] if best.curator.delta else []),
            ("the best", way_text(best.curator)),
            ("its F", f"{best.f:.2f}"),
        ],
        epsilons=scores.epsilons,
        scores=scores.by_way,
        rehearsed=_rehearsed(best),
        releases=scores.releases,
        guarantee=best.guarantee,
    )


@dataclass(frozen=True)
class Scores:
    """Mean F of every way to make a release, by epsilon."""

    epsilons: list[float]
    by_way: dict[str, list[float | None]]
    releases: int
    """Rehearsals of each, beside the epsilon that was asked for."""


def release_sentence(seen: ReleaseForesight) -> str:
    """What will be released, in words."""
    done, asked = seen.rehearsed, seen.curator
    if done.refused == done.n_releases:
        return (
            f"Not with {seen.people:,} records: a release at epsilon {asked.epsilon:g} would be refused, as only noise "
            "would be said. It takes more records, a larger epsilon or a larger limit."
        )
    deepest = seen.deepest(min(1.0, 2 * asked.min_support))
    mistakes = seen.mistakes()
    frequent, missed, false = (
        float(mistakes[name].sum()) for name in ("frequent", "false_negatives", "false_positives")
    )
    together = {0: "no itemsets", 1: "items"}.get(deepest, f"itemsets of up to {deepest} items")
    return (
        f"A release has an F of about {seen.f:.2f}: of {frequent:,.0f} frequent itemsets some {missed:,.0f} are "
        f"missed, and {false:,.0f} others are listed. Of supports of twice the limit, {together} are released nine "
        "times in ten."
    )


def show_least_epsilon(asked: Curator, epsilon: float, f: float, people: int) -> None:
    """The other way round, in words."""
    delta = f" and a delta of {asked.delta:g}" if asked.delta else ""
    if math.isinf(epsilon):
        print_lines(f"No epsilon up to 51{delta} gives releases of {people:,} records an F of {f:g}.")
        return
    print_lines(f"Releases of {people:,} records have an F of {f:g} from an epsilon of about {epsilon:.2g}{delta} on.")


def print_release_json(found: ReleaseRanking) -> None:
    with standard_output() as stream:
        stream.write(json.dumps(_json(found), indent=2, ensure_ascii=False) + "\n")


def _json(found: ReleaseRanking) -> dict[str, Any]:
    """The whole answer: of the best way, and a row for each."""
    seen = found.best
    asked = seen.curator
    return {
        "version": VERSION,
        "bosket": __version__,
        "request": {name: value for name, value in asdict(asked).items() if name != "settings"},
        "records": seen.people,
        "rehearsed_on": "simulated baskets" if seen.is_simulated else "a pilot",
        "releases": seen.rehearsed.n_releases,
        "refused": seen.rehearsed.refused,
        "f": seen.f,
        "sentence": release_sentence(seen),
        "sizes": [
            {name: (_plain(value) if isinstance(value, float) else value) for name, value in row.items()}
            for row in _by_size(seen)
        ],
        "options": [
            {str(name): (_plain(value) if isinstance(value, float) else value) for name, value in row.items()}
            for row in found.to_frame().drop(columns="curator").to_dict("records")
        ],
        "command": curate_command(asked),
        "is_protected": False,  # what is foreseen: exact numbers of the pilot
        "guarantee_of_the_release": None if seen.guarantee is None else seen.guarantee.to_json(),
    }


def _by_size(seen: ReleaseForesight) -> list[dict[str, Any]]:
    """By size: mistakes, the error of a support at the limit, and the least support that is mostly released."""
    limit = seen.curator.min_support
    return [
        {str(name): value for name, value in row.items()}
        | {"stderr": seen.stderr(row["size"], limit), "lowest_support": seen.lowest_support(row["size"])}
        for row in seen.mistakes().to_dict("records")
    ]


def _rehearsed(seen: ReleaseForesight) -> str:
    kind = "simulated baskets" if seen.is_simulated else "records as in the pilot"
    return f"{seen.rehearsed.n_releases} releases of {seen.people:,} {kind}"


def _plain(value: float) -> float | str | None:
    return "infinite" if math.isinf(value) else None if math.isnan(value) else value
