"""Key phrases: counted as plain Python counts them."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.phrases import LONGEST, Phrases, find_phrases

SENTENCES = st.lists(
    st.lists(st.sampled_from(["harp", "lyre", "tuba", "the", ","]), max_size=9).map(" ".join),
    max_size=6,
)


def by_key(phrases: Phrases) -> dict[str, dict[int, int]]:
    """How often by passage, by key."""
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for phrase, passage, count in phrases.occurrences.tolist():
        found[phrases.key(phrase)][passage] = count
    return dict(found)


def counted(texts: list[str]) -> dict[str, dict[int, int]]:
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for place, text in enumerate(texts):
        words = text.split()
        for length in range(2, LONGEST + 1):
            for start in range(len(words) - length + 1):
                run = words[start : start + length]
                if not {"the", ","} & set(run):
                    counts[" ".join(run)][place] += 1
    return {key: dict(held) for key, held in counts.items() if len(held) >= 2}


@given(SENTENCES)
def test_phrases_are_those_that_counting_finds(texts: list[str]) -> None:
    phrases = find_phrases(texts)
    assert by_key(phrases) == counted(texts)
    lengths = [len(phrases.key(i).split()) for i in range(len(phrases.lengths))]
    assert phrases.lengths.tolist() == lengths
    assert phrases.occurrences.tolist() == sorted(phrases.occurrences.tolist())
    assert ((phrases.independence >= 0) & (phrases.independence <= 1)).all()


def test_words_of_one_stem_make_one_phrase_named_as_most_word_it() -> None:
    texts = ["A neural network.", "Neural networks learn.", "Two neural networks."]
    phrases = find_phrases(texts)
    assert [phrases.name(i) for i in range(len(phrases.lengths))] == ["neural network"]
    assert phrases.occurrences.tolist() == [[0, 0, 1], [0, 1, 1], [0, 2, 1]]


@pytest.mark.parametrize(
    "text",
    [
        "the harp of lyres",  # a stop word between
        "harp, lyre",
        "harp. Lyre",
        "harp 2023",
        "film directed",  # half of a phrase
        "really harp",
        "myself harp",
        "竖琴的弦 竖琴的弦",  # written without spaces
    ],
)
def test_what_is_no_phrase_is_none(text: str) -> None:
    assert len(find_phrases([text, text]).lengths) == 0


def test_what_stands_only_inside_a_longer_phrase_counts_nothing() -> None:
    """C-value by hand: `gas turbine` twice alone and twice in one of two longer phrases."""
    texts = [
        "gas turbine engine",
        "gas turbine engine",
        "gas turbine blade",
        "gas turbine blade",
        "gas turbine",
        "gas turbine",
    ]
    phrases = find_phrases(texts)
    shares = {phrases.key(i): phrases.independence[i] for i in range(len(phrases.lengths))}
    assert shares["turbin engin"] == 0  # 1 - 2 / (1 · 2)
    assert shares["gas turbin"] == pytest.approx(1 - 4 / (2 * 6))
    assert shares["gas turbin engin"] == 1


def test_no_texts_have_no_phrases() -> None:
    for texts in ([], [""], ["", "harp"]):
        phrases = find_phrases(texts)
        assert (len(phrases.lengths), phrases.occurrences.shape) == (0, (0, 3))
        assert phrases.independence.dtype == np.float64


def test_parts_of_longer_phrases_and_copies_are_not_varied() -> None:
    grown = ["A rare harp maker sang.", "No rare harp maker wept.", "The rare harp maker slept."]
    copied = ["He met the oil painter there."] * 3
    free = ["The wood frame broke.", "A wood frame held."]
    phrases = find_phrases([*grown, *copied, *free])
    varied = {
        phrases.name(number): bool(phrases.is_varied[number])
        for number in range(len(phrases.lengths))
    }
    assert varied["rare harp maker"]
    assert varied["wood frame"]
    assert not varied["harp maker"]
    assert not varied["oil painter"]


NOUNS_AND_VERBS = [
    "The list of packages is short. A package has a version.",
    "To install the packages, they install a tool. You can install it.",
    "The tool installs the packages. It installs a version.",
]


@pytest.mark.parametrize(
    ("text", "is_nominal"),
    [
        ("See package list.", True),
        ("install source tree", False),  # what is done
        ("They build source tree again", False),
        ("The build tree again", True),
        ("of the install tree", True),  # told otherwise where it stands
        ("package installs files", False),  # a whole sentence
        ("package list", True),
    ],
)
def test_what_is_done_is_no_phrase(text: str, is_nominal: bool) -> None:
    texts = [*NOUNS_AND_VERBS, text, text]
    phrases = find_phrases(texts)
    held = phrases.occurrences[phrases.occurrences[:, 1] == len(texts) - 1, 0]
    longest = held[np.argmax(phrases.lengths[held])]
    assert bool(phrases.is_nominal(np.ones(len(texts), dtype=bool))[longest]) == is_nominal


def test_words_are_judged_by_the_texts_that_are_read() -> None:
    texts = [*NOUNS_AND_VERBS, "install tree", "install tree"]
    phrases = find_phrases(texts)
    number = [phrases.name(i) for i in range(len(phrases.lengths))].index("install tree")
    assert not phrases.is_nominal(np.ones(len(texts), dtype=bool))[number]
    assert phrases.is_nominal(np.zeros(len(texts), dtype=bool))[number]


def test_words_that_meet_by_chance_are_no_phrase() -> None:
    """`gas turbine` always stands together; `file name` as often as the words of the text meet."""
    texts = ["gas turbine here"] * 3
    texts += ["file name", "file name", *["file of a name, file or file, name"] * 40]
    phrases = find_phrases(texts)
    together = {phrases.name(i): bool(phrases.is_together[i]) for i in range(len(phrases.lengths))}
    assert together == {"gas turbine": True, "file name": False}
