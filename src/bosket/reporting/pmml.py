"""PMML 4.4: rules, or itemsets alone, as the AssociationModel of the Data Mining Group (dmg.org/pmml/v4-4).

Written in one pass, an element a line.  What the standard has a place for is in attributes, as other tools expect it:

    Item             a label: text as it is, anything else as JSON.  Text is JSON too where two labels would read alike
                     or XML cannot hold it; the Extension ``label`` has the JSON of whatever is not as it is
    Itemset          every side of a rule once, with its support where the frame knows it
    AssociationRule  support, confidence, lift; leverage, and affinity, which is Jaccard's, where the frame has them

Support, confidence and affinity are probabilities there.  Estimates may lie outside [0, 1]: they are clipped in the
attributes, and only there.  The rest is in Extensions of the extender ``bosket``, which readers may ignore:

    of the header    what ``attrs["about"]`` of the frame says: mechanism, guarantee, randomness and so on, a key each,
                     text as it is and anything else as JSON
    of the model     ``columns``: the columns of the frame, as a JSON list; ``clipped``: how many rows have an attribute
                     that was; ``omitted``: how many rules lacked a support or a confidence and are not in the file
    of a rule        ``row``: its values in these columns, not clipped, with errors and intervals, as a JSON list, where
                     null is no number and "INF" and "-INF" are the infinities

Rows of itemsets stand at the end of the model, the id in front, since R's arules takes whatever is in an Itemset for
an item.  For its sake too all ids are numbers, and a lift or leverage that does not exist is NaN, which the schema
allows, instead of left out.  There is no time stamp: the same frame makes the same file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from bosket._version import __version__
from bosket.data.domain import label_to_json
from bosket.reporting.text import count_text, in_order

if TYPE_CHECKING:
    import pandas as pd

NAMESPACE = "http://www.dmg.org/PMML-4_4"
_SIDES = {"antecedents": "antecedent support", "consequents": "consequent support"}
_PROBABILITIES = {"support": "support", "confidence": "confidence", "affinity": "jaccard"}
_NUMBERS = {"lift": "lift", "leverage": "leverage"}
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
_SIMPLE = re.compile(r"[][\w., -]*", re.ASCII)  # nothing to escape: most of a file
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

SupportById = dict[frozenset[Hashable], float]
"""Supports of itemsets; their places are their ids."""


class _Model(NamedTuple):
    """What differs between rules and itemsets."""

    title: str
    itemsets: SupportById
    attributes: dict[str, str]
    columns: list[str]
    n_omitted: int
    lines: Iterator[str]
    """Those that come after the itemsets."""


def write(frame: pd.DataFrame, file: IO[str]) -> int:
    """Write rules, or itemsets where the frame has no antecedents, and give back how many."""
    if "antecedents" in frame:
        is_number = np.isfinite(frame[["support", "confidence"]].to_numpy(float)).all(axis=1)
        rows = frame if is_number.all() else frame[is_number]
        model = _rules_model(rows, n_omitted=len(frame) - len(rows))
    else:
        rows, model = frame, _itemsets_model(frame)
    file.writelines(f"{line}\n" for line in _document(rows, model))
    return len(rows)


def _rules_model(rules: pd.DataFrame, *, n_omitted: int) -> _Model:
    sides: SupportById = {}
    for side, support in _SIDES.items():
        known = rules[support] if support in rules else [math.nan] * len(rules)
        for itemset, value in zip(rules[side], known, strict=True):
            sides.setdefault(frozenset(itemset), value)
    about = rules.attrs["about"]
    limit = about.get("min_threshold") if about.get("metric") == "confidence" else None
    return _Model(
        title="Association rules",
        itemsets=sides,
        attributes={
            "minimumConfidence": _probability(_least(limit, rules["confidence"])),
            "numberOfRules": str(len(rules)),
        },
        columns=[name for name in rules.columns if name not in _SIDES],
        n_omitted=n_omitted,
        lines=_rule_lines(rules, _numbered(sides)),
    )


def _itemsets_model(frame: pd.DataFrame) -> _Model:
    itemsets = [frozenset(itemset) for itemset in frame["itemsets"]]
    supports: SupportById = dict(zip(itemsets, frame["support"].tolist(), strict=True))
    ids = _numbered(supports)
    columns = [name for name in frame.columns if name != "itemsets"]
    rows = zip((ids[itemset] for itemset in itemsets), *(_values(frame[name]) for name in columns), strict=True)
    return _Model(
        title="Frequent itemsets",
        itemsets=supports,
        attributes={"minimumConfidence": "0", "numberOfRules": "0"},
        columns=["id", *columns],
        n_omitted=0,
        lines=(_extension("row", _json(row)) for row in rows),
    )


def _document(frame: pd.DataFrame, model: _Model) -> Iterator[str]:
    about: dict[str, Any] = frame.attrs["about"]
    texts = _texts({label for itemset in model.itemsets for label in itemset})
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<PMML version="4.4" xmlns="{NAMESPACE}">'
    yield from _header(model.title, about)
    yield '<DataDictionary numberOfFields="2">'
    for field in ("transaction", "item"):
        yield _element("DataField", name=field, optype="categorical", dataType="string")
    yield "</DataDictionary>"
    yield _element(
        "AssociationModel",
        None,
        functionName="associationRules",
        numberOfTransactions=str(int(about["n_records"])),
        minimumSupport=_probability(_least(about.get("min_support"), frame["support"])),
        **({} if about.get("max_size") is None else {"lengthLimit": str(int(about["max_size"]))}),
        numberOfItems=str(max(len(texts), int(about.get("n_items", 0)))),
        numberOfItemsets=str(len(model.itemsets)),
        **model.attributes,
    )
    yield _extension("columns", _json([str(name) for name in model.columns]))
    n_clipped = _count_clipped(frame)
    if n_clipped:
        yield _extension("clipped", str(n_clipped), "rows with a value outside [0, 1] for a probability")
    if model.n_omitted:
        yield _extension("omitted", str(model.n_omitted), "rules whose support or confidence is not a number")
    yield "<MiningSchema>"
    yield _element("MiningField", name="transaction", usageType="group")
    yield _element("MiningField", name="item", usageType="active")
    yield "</MiningSchema>"
    yield from _item_lines(texts)
    yield from _itemset_lines(model.itemsets, _numbered(texts))
    yield from model.lines
    yield "</AssociationModel>"
    yield "</PMML>"


def _header(title: str, about: dict[str, Any]) -> Iterator[str]:
    mechanism = about.get("mechanism")
    records = count_text(int(about["n_records"]), "record")
    kind = "exact" if mechanism is None else f"estimated from what {mechanism} made of them, clipped to [0, 1]"
    yield _element("Header", None, description=f"{title} of {records}, {kind}")
    for key, value in about.items():
        yield _extension(str(key), value if isinstance(value, str) else _json(value))
    yield _element("Application", name="bosket", version=str(about.get("version", __version__)))
    yield "</Header>"


def _item_lines(texts: dict[Hashable, str]) -> Iterator[str]:
    for at, (label, text) in enumerate(texts.items(), 1):
        inner = "" if text == label else _extension("label", _json(label_to_json(label)))
        yield _element("Item", inner, id=str(at), value=text)


def _itemset_lines(itemsets: SupportById, items: dict[Hashable, int]) -> Iterator[str]:
    for at, (itemset, support) in enumerate(itemsets.items(), 1):
        known = {} if math.isnan(support) else {"support": _probability(support)}
        inner = "".join(f'<ItemRef itemRef="{item}"/>' for item in sorted(map(items.__getitem__, itemset)))
        yield _element("Itemset", inner, id=str(at), **known, numberOfItems=str(len(itemset)))


def _rule_lines(rules: pd.DataFrame, ids: dict[Any, int]) -> Iterator[str]:
    probabilities = {
        name: rules[column].tolist()
        for name, column in _PROBABILITIES.items()
        if column in rules and np.isfinite(rules[column]).all()  # affinity for all or none
    }
    numbers = {name: rules[column].tolist() for name, column in _NUMBERS.items() if column in rules}
    columns = [_values(rules[name]) for name in rules.columns if name not in _SIDES]
    for at, (antecedent, consequent) in enumerate(zip(rules["antecedents"], rules["consequents"], strict=True)):
        yield _element(
            "AssociationRule",
            _extension("row", _json([column[at] for column in columns])),
            id=str(at + 1),
            antecedent=str(ids[frozenset(antecedent)]),
            consequent=str(ids[frozenset(consequent)]),
            **{name: _probability(values[at]) for name, values in probabilities.items()},
            **{name: _number(values[at]) for name, values in numbers.items() if not math.isinf(values[at])},
        )


def _count_clipped(frame: pd.DataFrame) -> int:
    values = frame[[column for column in _PROBABILITIES.values() if column in frame]].to_numpy(float)
    return int(((values < 0) | (values > 1)).any(axis=1).sum())


def _least(limit: float | None, values: pd.Series[Any]) -> float:
    """A number that none of the values is below: the limit of the search, the smallest of them if lower, or else 0."""
    return min((value for value in (limit, values.min()) if value is not None and not math.isnan(value)), default=0.0)


def _texts(labels: Iterable[Hashable]) -> dict[Hashable, str]:
    """What stands for each label, no two alike."""
    ordered = in_order(labels)
    exact = {label: _json(label_to_json(label)) for label in ordered}
    plain = {
        label: label if isinstance(label, str) and not _NOT_XML.search(label) else exact[label] for label in ordered
    }
    return plain if len(set(plain.values())) == len(plain) else exact


def _numbered(things: Iterable[Hashable]) -> dict[Any, int]:
    return {thing: at for at, thing in enumerate(things, 1)}


def _element(element: str, inner: str | None = "", /, **attributes: str) -> str:
    """An element and what is in it; without an end where that is None."""
    start = f"<{element}" + "".join(f" {name}={_quoted(value)}" for name, value in attributes.items())
    if inner is None:
        return f"{start}>"
    return f"{start}>{inner}</{element}>" if inner else f"{start}/>"


def _extension(name: str, value: str, content: str = "") -> str:
    return _element("Extension", escape(content), extender="bosket", name=name, value=value)


def _quoted(text: str) -> str:
    return f'"{text}"' if _SIMPLE.fullmatch(text) else quoteattr(_legal(text))


def _legal(text: str) -> str:
    """Signs that XML cannot hold, as JSON would escape them."""
    return _NOT_XML.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def _json(value: Any) -> str:
    return _ENCODER.encode(value)


def _values(column: pd.Series[Any]) -> list[Any]:
    """A column as JSON can hold it."""
    values = column.tolist()
    is_plain = column.dtype.kind in "iub" or (column.dtype.kind == "f" and np.isfinite(column).all())
    return values if is_plain else [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else _number(value)
    return value


def _number(value: float) -> str:
    """As XML Schema writes a float."""
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else ("INF" if value > 0 else "-INF")


def _probability(value: float) -> str:
    """Clipped, and without an exponent: the schema's type was a decimal once."""
    text = repr(min(max(float(value), 0.0), 1.0))
    return np.format_float_positional(float(text), trim="-") if "e" in text else text
