"""Passages that say the same come as one hit, with the others named."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.cli.output import PlainPage
from clew.cli.render import print_passages
from clew.testing.fakes import HashEmbedder
from clew.text import hashes, says_as_much, shingles, sketch
from tests.unit.asked import add

LICENCE = """Permission is hereby granted, free of charge, to any person who obtains a copy of this
software and its documentation, to deal in the software without restriction, which includes the
rights to use, copy, modify, merge, publish, distribute, sublicense and sell copies, and to permit
persons to whom the software is furnished to do so, subject to the following conditions. The notice
above shall be included in all copies or substantial portions of the software."""
TRANSLATION = """Hiermit wird jeder Person, die eine Kopie dieser Software und ihrer Dokumentation
erhält, kostenlos die Erlaubnis erteilt, ohne Einschränkung mit der Software zu handeln, was die
Rechte einschließt, sie zu benutzen, zu kopieren, zu ändern, zusammenzuführen und zu verbreiten."""
HOLDERS = ["Ada Morn", "Piet Oss", "Corwin Hale", "Ilse Marrable"]

WORDS = st.lists(st.sampled_from([f"w{chr(97 + i)}" for i in range(26)] + ["7", "12"]), max_size=60)


def licence(holder: str, year: int) -> str:
    return f"Copyright (c) {year} {holder}. All rights reserved.\n\n{LICENCE}"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        yield engine


def says(shown: str, other: str) -> bool:
    return says_as_much(shingles(shown), shingles(other))


# --- texts


@given(WORDS)
def test_a_text_says_what_it_says(words: list[str]) -> None:
    text = " ".join(words)
    assert says(text, text) == (len(words) >= 20)
    assert bool(sketch(text)) == (len(words) >= 20)
    assert says(f"Before. {text} After.", text) == (len(words) >= 20)


@given(WORDS, WORDS)
def test_whatever_is_left_out_is_said_by_what_is_shown(shown: list[str], other: list[str]) -> None:
    if says(" ".join(shown), " ".join(other)):
        held = set(zip(shown, shown[1:], shown[2:], strict=False))
        asked = set(zip(other, other[1:], other[2:], strict=False))
        missing = asked - held
        assert len(missing) <= 0.15 * len(asked)
        assert not any(word in ("7", "12") for shingle in missing for word in shingle)


def test_another_number_is_another_statement() -> None:
    text = f"{LICENCE} Notice is given {{}} days before."
    assert not says(text.format(30), text.format(60))
    assert says(text.format(30), text.format(30).upper())


@pytest.mark.parametrize("other", [TRANSLATION, LICENCE[:150], "", "Notice is given."])
def test_other_texts_are_others(other: str) -> None:
    assert not says(TRANSLATION if other != TRANSLATION else LICENCE, other)


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    text = "東京タワーは東京都港区芝公園にある総合電波塔で、観光名所としても知られている。"
    assert says(text + "高さは高い。", text)
    assert not says(text, text[::-1])


@given(st.integers(0, 200), st.text(max_size=20))
def test_sketches_of_near_duplicates_meet(place: int, inserted: str) -> None:
    changed = LICENCE[:place] + inserted + LICENCE[place:]
    assert len(set(hashes(sketch(LICENCE))) & set(hashes(sketch(changed)))) >= 4
    assert len(hashes(sketch(changed))) == 8
    assert not set(hashes(sketch(LICENCE))) & set(hashes(sketch(TRANSLATION)))


def test_notices_of_copyright_make_no_other_text() -> None:
    assert shingles(licence("Ada Morn", 1999)) == shingles(licence("Piet Oss", 2011))


# --- results


def test_versions_of_one_licence_are_one_hit(engine: clew.Clew) -> None:
    texts = {name: licence(name, 2000 + i) for i, name in enumerate(HOLDERS)}
    add(engine, {**texts, "Lizenz": TRANSLATION, "Poem": "The moon rose over the sleeping reef."})
    result = engine.search("permission to copy the software", strategy="keyword")
    assert [hit.chunk.title for hit in result.hits if hit.also_in]
    (first,) = (hit for hit in result.hits if hit.chunk.title in HOLDERS)
    assert {first.chunk.title, *(c.title for c in first.also_in)} == set(HOLDERS)
    shown = result.to_dict()["results"][0]["also_in"]
    assert [(s["title"], s["source"]) for s in shown] == [
        (c.title, c.source) for c in first.also_in
    ]
    assert shown[0]["id"] == first.also_in[0].public_id
    assert result.context.text.count("hereby granted") == 1
    shown_page = StringIO()
    print_passages(PlainPage(shown_page), result)
    assert f"the same text is in {first.also_in[0].title}, " in shown_page.getvalue()


def test_what_is_left_out_makes_room_for_others(engine: clew.Clew) -> None:
    add(engine, {f"Copy {i}": LICENCE for i in range(8)})
    add(engine, {f"Note {i}": f"The software of harbour {'xyz'[i]} {'stu'[i]}." for i in range(3)})
    hits = engine.search("software", strategy="keyword", limit=4).hits
    assert sum(hit.chunk.text == LICENCE for hit in hits) == 1
    assert len(hits) == 4


def test_however_many_say_it_others_are_found(engine: clew.Clew) -> None:
    """More copies than are compared where all else is alone."""
    add(engine, {f"Copy {i}": LICENCE for i in range(60)})
    add(engine, {f"Note {i}": f"The software of harbour {'xyz'[i]} {'stu'[i]}." for i in range(3)})
    hits = engine.search("software permission licence", strategy="keyword", limit=4).hits
    assert [len(hit.also_in) for hit in hits if hit.chunk.text == LICENCE] == [59]
    assert len(hits) == 4


def test_another_date_is_another_hit(engine: clew.Clew) -> None:
    add(engine, {"Old": f"{LICENCE} It ends in 2023.", "New": f"{LICENCE} It ends in 2024."})
    hits = engine.search("software", strategy="keyword").hits
    assert {hit.chunk.title: hit.also_in for hit in hits} == {"Old": (), "New": ()}


def test_short_passages_are_never_left_out(engine: clew.Clew) -> None:
    add(engine, {f"Turn {i}": "Thanks, see you at the reef!" for i in range(5)})
    assert len(engine.search("thanks", strategy="keyword").hits) == 5
