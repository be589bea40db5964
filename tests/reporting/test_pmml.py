"""PMML: valid by the schema, readable as arules reads it, and nothing of the frame is lost."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from lxml import etree

import bosket as bk
from bosket.data.domain import label_from_json
from bosket.reporting.export import write_itemsets, write_rules
from tests.reporting.conftest import same

SCHEMA = Path(__file__).parents[1] / "golden" / "pmml-4-4-association.xsd"
P = "{http://www.dmg.org/PMML-4_4}"


@pytest.fixture(scope="session")
def schema() -> Any:
    return etree.XMLSchema(etree.parse(SCHEMA))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pmml"


def frame_of(rows: list[tuple[set[Hashable], set[Hashable]]], **columns: list[float]) -> pd.DataFrame:
    """A few rules by hand."""
    sides = {
        "antecedents": [frozenset(antecedent) for antecedent, _ in rows],
        "consequents": [frozenset(consequent) for _, consequent in rows],
    }
    frame = pd.DataFrame({**sides, "support": 0.5, "confidence": 0.5, "lift": 1.0, **columns})
    frame.attrs["about"] = {"n_records": 10, "min_support": 0.1, "version": "1", "mechanism": None}
    return frame


def model_of(path: Path) -> ElementTree.Element:
    model = ElementTree.parse(path).getroot().find(f"{P}AssociationModel")
    assert model is not None
    return model


def labels_of(model: ElementTree.Element) -> dict[str, Hashable]:
    """From the id of an item to its label."""
    found: dict[str, Hashable] = {}
    for item in model.iter(f"{P}Item"):
        exact = item.find(f"{P}Extension")
        found[item.attrib["id"]] = item.attrib["value"] if exact is None else json.loads(exact.attrib["value"])
    return found


def itemsets_of(model: ElementTree.Element) -> dict[str, frozenset[Hashable]]:
    labels = labels_of(model)
    return {
        itemset.attrib["id"]: frozenset(labels[ref.attrib["itemRef"]] for ref in itemset)
        for itemset in model.iter(f"{P}Itemset")
    }


def extensions(element: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in element.findall(f"{P}Extension") if one.attrib["name"] == name]


def rows_of(parents: list[ElementTree.Element], columns: list[str]) -> pd.DataFrame:
    """The frame as the extensions keep it."""
    rows = [json.loads(row.attrib["value"]) for parent in parents for row in extensions(parent, "row")]
    return pd.DataFrame(rows, columns=columns)


def columns_of(model: ElementTree.Element) -> list[str]:
    columns: list[str] = json.loads(extensions(model, "columns")[0].attrib["value"])
    return columns


def test_rules_are_valid_and_parse_back(schema: Any, rules: pd.DataFrame, path: Path) -> None:
    assert write_rules(rules, path) == len(rules) > 100
    schema.assertValid(etree.parse(path))
    model = model_of(path)
    itemsets = itemsets_of(model)
    written = list(model.iter(f"{P}AssociationRule"))
    assert [itemsets[rule.attrib["antecedent"]] for rule in written] == list(rules["antecedents"])
    assert [itemsets[rule.attrib["consequent"]] for rule in written] == list(rules["consequents"])
    for name in ("support", "confidence"):
        assert [float(rule.attrib[name]) for rule in written] == rules[name].clip(0, 1).tolist()
    assert [float(rule.attrib["lift"]) for rule in written] == rules["lift"].tolist()
    back = rows_of(written, columns_of(model))
    same(back.replace({"INF": math.inf, "-INF": -math.inf}), rules[back.columns])
    assert {*back.columns, "antecedents", "consequents"} == set(rules.columns)


def test_the_model_says_what_it_holds(rules: pd.DataFrame, path: Path) -> None:
    write_rules(rules, path)
    model = model_of(path)
    itemsets = {*rules["antecedents"], *rules["consequents"]}
    assert set(itemsets_of(model).values()) == itemsets
    told = model.attrib
    assert told["numberOfTransactions"] == "2000"
    assert told["numberOfRules"] == str(len(rules))
    assert told["numberOfItemsets"] == str(len(itemsets))
    assert told["numberOfItems"] == str(len({label for itemset in itemsets for label in itemset}))
    assert float(told["minimumSupport"]) == min(0.05, rules["support"].min())  # noise leaves subsets below the limit
    assert told["minimumConfidence"] == "0.3"
    supports = dict(zip(rules["antecedents"], rules["antecedent support"], strict=True))
    supports |= dict(zip(rules["consequents"], rules["consequent support"], strict=True))
    labels = itemsets_of(model)
    for element in model.iter(f"{P}Itemset"):
        itemset = labels[element.attrib["id"]]
        assert element.attrib["numberOfItems"] == str(len(element)) == str(len(itemset))
        assert float(element.attrib["support"]) == min(max(supports[itemset], 0), 1)
    clipped = extensions(model, "clipped")
    values = rules.filter(items=["support", "confidence", "jaccard"])
    n_outside = int(((values < 0) | (values > 1)).any(axis=1).sum())
    assert [int(one.attrib["value"]) for one in clipped] == ([n_outside] if n_outside else [])
    assert (n_outside > 0) == (rules.attrs["about"]["mechanism"] is not None)
    assert not extensions(model, "omitted")


def test_what_made_it_is_in_the_header(rules: pd.DataFrame, path: Path) -> None:
    write_rules(rules, path)
    header = ElementTree.parse(path).getroot().find(f"{P}Header")
    assert header is not None
    told = {one.attrib["name"]: one.attrib["value"] for one in header.findall(f"{P}Extension")}
    about = rules.attrs["about"]
    assert told.keys() == about.keys()
    for key, value in about.items():
        assert (told[key] if isinstance(value, str) else json.loads(told[key])) == value
    application = header.find(f"{P}Application")
    assert application is not None
    assert application.attrib == {"name": "bosket", "version": bk.__version__}
    assert header.find(f"{P}Timestamp") is None


def test_itemsets_are_valid_and_parse_back(schema: Any, itemsets: pd.DataFrame, path: Path) -> None:
    assert write_itemsets(itemsets, path) == len(itemsets) > 100
    schema.assertValid(etree.parse(path))
    model = model_of(path)
    assert list(itemsets_of(model).values()) == list(itemsets["itemsets"])
    supports = [float(one.attrib["support"]) for one in model.iter(f"{P}Itemset")]
    assert supports == itemsets["support"].clip(0, 1).tolist()
    assert (model.attrib["numberOfItemsets"], model.attrib["numberOfRules"]) == (str(len(itemsets)), "0")
    back = rows_of([model], columns_of(model))
    assert back.pop("id").tolist() == list(range(1, len(itemsets) + 1))
    same(back, itemsets[back.columns])


def test_nothing_found_is_valid(schema: Any, rules: pd.DataFrame, itemsets: pd.DataFrame, path: Path) -> None:
    assert write_rules(rules.head(0), path) == 0
    schema.assertValid(etree.parse(path))
    assert model_of(path).attrib["minimumConfidence"] == "0.3"
    assert write_itemsets(itemsets.head(0), path) == 0
    schema.assertValid(etree.parse(path))


def test_the_same_frame_makes_the_same_file(rules: pd.DataFrame, path: Path, tmp_path: Path) -> None:
    write_rules(rules, path)
    write_rules(rules, tmp_path / "again.pmml")
    assert path.read_bytes() == (tmp_path / "again.pmml").read_bytes()


MUTANTS: dict[str, Callable[[str], str]] = {
    "no confidence": lambda text: re.sub(r'(<AssociationRule[^>]*) confidence="[^"]*"', r"\1", text, count=1),
    "no support": lambda text: re.sub(r'(<AssociationRule[^>]*) support="[^"]*"', r"\1", text, count=1),
    "a probability above 1": lambda text: re.sub(r' confidence="[^"]*"', ' confidence="1.2"', text, count=1),
    "a probability that is none": lambda text: re.sub(r' confidence="[^"]*"', ' confidence="NaN"', text, count=1),
    "a negative probability": lambda text: re.sub(r' minimumSupport="[^"]*"', ' minimumSupport="-0.1"', text),
    "no value of an item": lambda text: re.sub(r'(<Item [^>]*) value="[^"]*"', r"\1", text, count=1),
    "no number of transactions": lambda text: re.sub(r' numberOfTransactions="[^"]*"', "", text),
    "a number of rules in words": lambda text: re.sub(r' numberOfRules="[^"]*"', ' numberOfRules="many"', text),
    "a misspelt attribute": lambda text: text.replace(" minimumConfidence=", " minConfidence="),
    "a misspelt element": lambda text: text.replace("AssociationRule", "AssocationRule"),
    "another function": lambda text: text.replace('"associationRules"', '"sequences"'),
    "a usage that there is not": lambda text: text.replace('"group"', '"groups"'),
    "no mining schema": lambda text: re.sub(r"<MiningSchema>.*</MiningSchema>", "", text, flags=re.DOTALL),
    "no data dictionary": lambda text: re.sub(r"<DataDictionary.*</DataDictionary>", "", text, flags=re.DOTALL),
    "no header": lambda text: re.sub(r"<Header.*</Header>", "", text, flags=re.DOTALL),
    "no version": lambda text: text.replace('<PMML version="4.4"', "<PMML"),
    "another namespace": lambda text: text.replace("PMML-4_4", "PMML-4_3"),
    "itemsets before items": lambda text: re.sub(r"(<Item .*</Item>\n|<Item [^>]*/>\n)(<Itemset.*\n)", r"\2\1", text),
    "a reference to no itemset": lambda text: re.sub(r'antecedent="\d+"', 'antecedent="x"', text, count=1),
    "a reference to no item": lambda text: re.sub(r'itemRef="\d+"', 'itemRef="x"', text, count=1),
    "two items alike": lambda text: re.sub(r'(<Item id="[12]" value=)"[^"]*"', r'\1"same"', text),
    "prose in a rule": lambda text: text.replace("</AssociationRule>", "so it is</AssociationRule>", 1),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_schema_tells_what_is_wrong(schema: Any, path: Path, mutant: str) -> None:
    write_rules(frame_of([({"a"}, {"b"}), ({"b"}, {"a", "c"})]), path)
    text = path.read_text()
    assert schema.validate(etree.fromstring(text.encode()))
    broken = MUTANTS[mutant](text)
    assert broken != text
    assert not schema.validate(etree.fromstring(broken.encode()))


def test_the_schema_knows_what_others_write(schema: Any) -> None:
    """A time stamp, annotations, itemsets without supports and rules without ids: allowed, if not ours."""
    text = f"""<PMML version="4.4" xmlns="{P[1:-1]}">
    <Header copyright="somebody"><Application name="R"/><Annotation>by hand</Annotation><Timestamp>now</Timestamp>
    </Header>
    <DataDictionary><DataField name="tid" optype="continuous" dataType="integer"/>
      <DataField name="product" optype="categorical" dataType="string"/></DataDictionary>
    <AssociationModel modelName="m" functionName="associationRules" algorithmName="apriori" numberOfTransactions="4"
        numberOfItems="3" minimumSupport="6e-1" minimumConfidence="0.5" numberOfItemsets="2" numberOfRules="1"
        avgNumberOfItemsPerTA="2.5" isScorable="false">
      <MiningSchema><MiningField name="tid" usageType="group"/><MiningField name="product"/></MiningSchema>
      <Item id="i1" value="beer" mappedValue="Beer" weight="2.5"/><Item id="i2" value="crisps"/>
      <Itemset id="s1" numberOfItems="1"><ItemRef itemRef="i1"/></Itemset>
      <Itemset id="s2"><ItemRef itemRef="i2"/></Itemset>
      <AssociationRule support="1" confidence="1.0" antecedent="s1" consequent="s2" lift="INF" affinity="0.9"/>
      <Extension extender="x"><X-Anything at="all"/></Extension>
    </AssociationModel></PMML>"""
    schema.assertValid(etree.fromstring(text))


def test_estimates_are_clipped_and_kept(schema: Any, path: Path) -> None:
    columns = {"support": [-0.01, 1e-7], "confidence": [1.25, 0.5], "jaccard": [1.5, 0.2], "leverage": [-0.1, 0.1]}
    rules = frame_of([({"a"}, {"b"}), ({"b"}, {"a"})], **columns)
    assert write_rules(rules, path) == 2
    schema.assertValid(etree.parse(path))
    model = model_of(path)
    first, second = model.iter(f"{P}AssociationRule")
    assert (first.attrib["support"], first.attrib["confidence"], first.attrib["affinity"]) == ("0.0", "1.0", "1.0")
    assert (second.attrib["support"], second.attrib["affinity"]) == ("0.0000001", "0.2")  # no exponent
    assert [float(rule.attrib["leverage"]) for rule in (first, second)] == [-0.1, 0.1]
    assert rows_of([first, second], columns_of(model))["support"].tolist() == [-0.01, 1e-7]
    assert extensions(model, "clipped")[0].attrib["value"] == "1"
    assert (model.attrib["minimumSupport"], model.attrib["minimumConfidence"]) == ("0.0", "0.5")


def test_rules_without_confidence_are_left_out_and_counted(schema: Any, path: Path) -> None:
    rules = frame_of([({"a"}, {"b"}), ({"b"}, {"c"}), ({"a"}, {"d"})], confidence=[0.7, math.nan, 0.8])
    assert write_rules(rules, path) == 2
    schema.assertValid(etree.parse(path))
    model = model_of(path)
    assert [rule.attrib["confidence"] for rule in model.iter(f"{P}AssociationRule")] == ["0.7", "0.8"]
    assert model.attrib["numberOfRules"] == "2"
    assert set(labels_of(model).values()) == {"a", "b", "d"}
    (omitted,) = extensions(model, "omitted")
    assert omitted.attrib["value"] == "1"
    assert "confidence is not a number" in (omitted.text or "")
    assert write_rules(rules.assign(confidence=math.nan), path) == 0
    schema.assertValid(etree.parse(path))


def test_measures_that_are_no_number(schema: Any, path: Path) -> None:
    """NaN is a float of the schema, infinity is left out, and the row keeps both."""
    columns = {"lift": [math.nan, 2.0], "leverage": [math.inf, -math.inf], "jaccard": [math.nan, 0.5]}
    write_rules(frame_of([({"a"}, {"b"}), ({"b"}, {"a"})], **columns), path)
    schema.assertValid(etree.parse(path))
    model = model_of(path)
    rules = list(model.iter(f"{P}AssociationRule"))
    assert [rule.attrib["lift"] for rule in rules] == ["NaN", "2.0"]
    assert not any("leverage" in rule.attrib or "affinity" in rule.attrib for rule in rules)
    back = rows_of(rules, columns_of(model))
    assert back["leverage"].tolist() == ["INF", "-INF"]
    assert back["jaccard"].isna().tolist() == [True, False]


LABELS: dict[str, set[Hashable]] = {
    "text": {"a", "b"},
    "numbers and their text": {7, "7", "8", 9},
    "quotes that JSON would make": {"7", '"7"', 7},
    "marks and white space": {"<b>&amp;", "a'b\"c", "two\nlines\tand \r more", " spaces  "},
    "what XML cannot hold": {"a\x1b[31m", "a\\u001b[31m", "\ufffe", "nul\0"},
    "other scripts": {"żółw", "🛒", ""},
    "tuples": {("age", 3), "age", 3.5},
    "truth": {True, "True", "true"},
    "NumPy": {np.int64(5), np.str_("5")},
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_parse_back(schema: Any, path: Path, kind: str) -> None:
    labels = LABELS[kind]
    rows = [({label}, labels - {label}) for label in labels]
    write_rules(frame_of(rows), path)
    schema.assertValid(etree.parse(path))  # no two values are alike
    model = model_of(path)
    back = labels_of(model)
    exact = {label_from_json(label) for label in back.values()}
    assert exact == labels
    assert {type(label) for label in exact} == {
        type(label.item() if isinstance(label, np.generic) else label) for label in labels
    }


def test_plain_text_stays_plain(path: Path) -> None:
    write_rules(frame_of([({"milk"}, {"<bread> & butter"}), ({"milk"}, {3})]), path)
    assert {item.attrib["value"] for item in model_of(path).iter(f"{P}Item")} == {"milk", "<bread> & butter", "3"}
    write_rules(frame_of([({"3"}, {"milk"}), ({"milk"}, {3})]), path)
    assert {item.attrib["value"] for item in model_of(path).iter(f"{P}Item")} == {'"milk"', '"3"', "3"}


def test_half_a_surrogate_pair_is_refused(path: Path) -> None:
    path.write_text("old")
    with pytest.raises(bk.DataError, match="surrogate"):
        write_rules(frame_of([({"\ud800"}, {"b"})]), path)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_arules_can_read_it(rules: pd.DataFrame, itemsets: pd.DataFrame, path: Path) -> None:
    """Its read.PMML makes matrices of attributes: the same ones everywhere, with numbers for ids."""
    for write, frame, elements in (
        (write_rules, rules.assign(lift=rules["lift"].where(rules.index != 3)), ("Item", "AssociationRule")),
        (write_itemsets, itemsets, ("Item", "Itemset")),
    ):
        write(frame, path)
        model = model_of(path)
        for name in elements:
            found = list(model.iter(P + name))
            assert len({tuple(element.attrib) for element in found}) == 1
            numbers = set(found[0].attrib) - {"value", "antecedent", "consequent"}
            assert all(math.isfinite(float(one.attrib[key])) for one in found for key in numbers - {"lift"})
        assert {child.tag for itemset in model.iter(f"{P}Itemset") for child in itemset} == {f"{P}ItemRef"}


def test_foreign_frames_need_little(schema: Any, path: Path) -> None:
    rules = frame_of([({"a"}, {"b"})]).drop(columns="lift")
    rules.attrs["about"] = {"n_records": 4}
    assert write_rules(rules, path) == 1
    schema.assertValid(etree.parse(path))
    assert "support" not in next(model_of(path).iter(f"{P}Itemset")).attrib
    assert model_of(path).attrib["minimumSupport"] == "0.5"
