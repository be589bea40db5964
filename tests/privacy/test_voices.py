"""The participant's voice: readable, and never a smaller number than the card has."""

from __future__ import annotations

import math
import re

import pytest

import bosket as bk

TABLE = bk.TableDomain([bk.Attribute(name, ["no", "yes"]) for name in "abcdef"])
ITEMS = bk.Domain(range(30))
PROMISES = [
    bk.Ask(bk.Design.pairs(TABLE), gamma=8.142857).guarantee(TABLE),
    bk.Ask(bk.Design.pairs(TABLE), gamma=8.142857).guarantee(TABLE, reports=3),
    bk.Flip(keep=0.9).guarantee(ITEMS),
    bk.Flip(keep=1.0).guarantee(ITEMS),
    bk.CutAndPaste(4, 0.3).guarantee(ITEMS, max_size=6),
    bk.GammaDiagonal(gamma=19).guarantee(TABLE),
    bk.Ask.baskets(ITEMS, epsilon=3).guarantee(ITEMS),
    bk.Mixing(others=2, keep=0.5).guarantee(ITEMS),
]


def syllables(word: str) -> int:
    """Groups of vowels, without a silent e."""
    groups = len(re.findall(r"[aeiouy]+", word.lower()))
    silent = word.lower().endswith("e") and not word.lower().endswith("le") and groups > 1
    return max(1, groups - silent)


def grade(text: str) -> float:
    """Flesch and Kincaid's grade: 0.39 words a sentence + 11.8 syllables a word - 15.59."""
    sentences = [one for one in re.split(r"[.!?:\n]+", text) if one.strip()]
    words = re.findall(r"[A-Za-z]+|\d+", text)
    return 0.39 * len(words) / len(sentences) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59


@pytest.mark.parametrize("promise", PROMISES, ids=lambda one: one.mechanism)
def test_a_pupil_of_twelve_can_read_it(promise: bk.LocalGuarantee) -> None:
    text = promise.for_participants()
    assert grade(text) < 7
    assert not re.search(r"epsilon|gamma|delta|e\+|[0-9]\.[0-9]|prior|posterior|odds ratio", text)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda one: one.mechanism)
def test_no_number_is_smaller_than_that_of_the_card(promise: bk.LocalGuarantee) -> None:
    text = promise.for_participants()
    whole = promise.posterior(0.5) < 0.99
    item = promise.item.repeated(promise.reports, "")
    said = re.findall(r"odds are (\d+) in 100 .* come to think (\d+) in 100", text)
    for before, after in said:
        prior = int(before) / 100
        true = promise.posterior(prior) if whole else item.posterior(prior)
        assert true * 100 - 1e-6 <= int(after) < true * 100 + 1
    assert len(said) == (2 if whole or item.posterior(0.5) < 0.99 else 0)
    assert ("does not hide all of your record" in text) != whole
    for revealed in promise.reveals:
        assert revealed in text


@pytest.mark.parametrize("promise", PROMISES, ids=lambda one: one.mechanism)
def test_the_json_has_what_may_come_to_be_believed(promise: bk.LocalGuarantee) -> None:
    found = promise.to_json()["posteriors"]
    assert isinstance(found, list)
    assert [one["prior"] for one in found] == [0.01, 0.05, 0.2, 0.5]
    for one in found:
        assert one["person"] == promise.posterior(one["prior"])
        assert one["prior"] <= one["item"] <= one["person"] <= 1


def test_the_grade_tells_easy_from_hard() -> None:
    """The opening of a fable, and a sentence as reviewers write them."""
    assert grade("A crow sat in a tree. She had a piece of cheese. A fox saw her. He was hungry.") < 2
    hard = (
        "Local differential privacy of the randomizing operator guarantees a multiplicative indistinguishability of "
        "neighbouring participants, irrespective of auxiliary information available to an adversary."
    )
    assert grade(hard) > 15


def test_mixing_is_said_where_the_card_says_it() -> None:
    assert "the reports of 21000 or more people are mixed first" in PROMISES[0].among(21_000).for_participants()
    assert "mixed" not in PROMISES[0].among(50).for_participants()  # too few to say that much less is learned
    assert "mixed" not in PROMISES[4].for_participants()  # sizes are sent in the clear


def test_nothing_is_called_chance_where_nothing_is_hidden() -> None:
    for promise in PROMISES:
        assert ("Chance is added" in promise.for_participants()) == math.isfinite(promise.item.epsilon)


@pytest.mark.parametrize("unit", [bk.PrivacyUnit(5), bk.PrivacyUnit(5, longer="sample", state_sizes_to=20)], ids=str)
def test_nothing_is_promised_to_be_hidden_from_one_who_knows_the_size_and_the_rest(unit: bk.PrivacyUnit) -> None:
    """Two records that differ in one item, of different sizes, are told apart for certain where sizes are sent."""
    mechanism = bk.CutAndPaste(3, 0.2) if unit.longer == "refuse" else bk.Flip(keep=0.9)
    promise = bk.Plan(ITEMS, mechanism, unit).guarantee
    text = promise.for_participants()
    assert "one single thing is true of you, and knows all the rest" not in text
    assert text.count("knows that, and thinks the odds are") == 2
    assert text.index(promise.reveals[0]) < text.index("Say someone")  # what is known for sure comes first


def test_nobody_is_said_to_be_unsure_of_what_is_sent_as_it_is() -> None:
    text = bk.Plan(ITEMS, bk.CutAndPaste(3, 0.9), bk.PrivacyUnit(max_size=5)).guarantee.for_participants()
    assert "nobody can be sure what else is true of you" in text
    assert "What it tells of you is sure." in text
