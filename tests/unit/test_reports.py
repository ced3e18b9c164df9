"""Reports: made of the texts' own sentences, about what is central, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.graph.communities import SENTENCES, Candidate, ReportMaker, choose, is_sentence
from clew.graph.partition import partition
from clew.graph.topics import best_of_groups, is_symbolic, listed, mean_direction, title_of
from clew.ports import CommunityReport
from clew.testing.entries import make_entry
from clew.testing.fakes import HashEmbedder
from tests.unit.community_stores import Library, players, save_band


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library.open(tmp_path)
    yield library
    library.store.close()


def reports(library: Library) -> list[CommunityReport]:
    graph = library.graph()
    maker = ReportMaker.of(library.store, library.vectors, library.snapshot(), graph)
    found = partition(graph)
    return list(maker.reports(found, found.ids))


def test_a_report_is_made_of_sentences_that_stand_in_its_sources(library: Library) -> None:
    for number in range(3):
        save_band(library, number)
    found = reports(library)
    assert len(found) == 3
    for report in found:
        said, *relations = report.summary.split("\n")
        sentences = [
            sentence
            for said_there in library.store.sentences(report.basis.sources).values()
            for sentence in said_there
        ]
        assert sorted(said.replace(". ", ".|").split("|")) == sorted(sentences)
        assert len(sentences) <= SENTENCES
        assert [line.split(" — ")[1] for line in relations] == [f"plays_with → {_tail(relations)}"]
        expected = mean_direction(library.vectors.vectors(report.basis.sources))
        assert np.array_equal(report.vector, expected)


def _tail(relations: list[str]) -> str:
    return relations[0].rsplit(" → ", 1)[1]


def test_names_come_by_how_much_they_hold_the_community_together(library: Library) -> None:
    text = ["Anna met Bert.", "Anna met Carl.", "Anna met Dora.", "Bert met Carl."]
    library.store.save(make_entry("a", *text, names=["Anna", "Bert", "Carl", "Dora"]))
    for number in range(3):
        save_band(library, number)
    (report,) = (report for report in reports(library) if "Anna" in report.basis.entities)
    assert report.basis.entities[0] == "Anna"
    assert set(report.basis.entities[1:3]) == {"Bert", "Carl"}
    names = library.store.entity_names(report.basis.entity_ids)
    assert tuple(names[entity] for entity in report.basis.entity_ids) == report.basis.entities


def test_the_title_is_that_of_the_document_that_most_of_it_is_about(library: Library) -> None:
    save_band(library, 0, title="The first band")
    for place, pair in enumerate(zip(players(1), players(1)[1:], strict=False)):
        text = f"{pair[0]} met {pair[1]}."
        library.store.save(make_entry(f"note {place}", text, title=f"Note {place}", names=pair))
    first, second = sorted((report.title for report in reports(library)), key=len)[::-1]
    assert "The first band" in {first, second}
    (other,) = {first, second} - {"The first band"}
    assert other.count(" and ") == 1  # its documents hold a sentence each


def test_sentences_that_repeat_each_other_are_taken_once(library: Library) -> None:
    once, again = "Anna met Bert and Carl in Graz.", "Anna met Bert and Carl in Graz!"
    names = ["Anna", "Bert", "Carl", "Graz"]
    library.store.save(make_entry("a", once, again, "Carl lives in Graz.", names=names))
    (report,) = reports(library)
    assert report.summary in (f"{once} Carl lives in Graz.", f"{again} Carl lives in Graz.")


def test_a_community_without_a_text_has_no_report(library: Library) -> None:
    save_band(library, 0)
    graph, snapshot = library.graph(), library.snapshot()
    found = partition(graph)
    library.store.delete([document.id for document in library.store.documents()])
    maker = ReportMaker.of(library.store, library.vectors, snapshot, graph)
    assert list(maker.reports(found, found.ids)) == []


def test_what_was_named_counts_half_the_next_time() -> None:
    """Once A and B were said, C and D together are worth more."""
    said = [
        Candidate(1, "one two three four five six seven eight", {1: 0.4, 2: 0.3}),
        Candidate(2, "nine ten eleven twelve red green blue white", {1: 0.4, 2: 0.1}),
        Candidate(3, "harp lyre tuba oboe flute drum horn cello", {3: 0.2, 4: 0.2}),
    ]
    assert [candidate.chunk_id for candidate in choose(said)] == [1, 3, 2]


def test_short_and_long_sentences_are_worth_less() -> None:
    named = {1: 0.5}
    short = Candidate(1, "harp", named)
    plain = Candidate(2, "lyre tuba oboe flute drum horn cello bugle", named)
    long = Candidate(3, " ".join(f"word{i}" for i in range(40)), named)
    best, *_ = choose([short, long, plain])
    assert best.chunk_id == 2
    assert choose([]) == []


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0])), max_size=20),
    st.integers(1, 4),
)
def test_the_best_of_groups_are_those_that_sorting_finds(
    pairs: list[tuple[int, float]], limit: int
) -> None:
    groups = np.array([group for group, _ in pairs], dtype=np.int64)
    values = np.array([value for _, value in pairs], dtype=np.float64)
    found = best_of_groups(groups, values, 4, limit)
    for group in range(4):
        places = [place for place, (own, _) in enumerate(pairs) if own == group]
        expected = sorted(places, key=lambda place: (-pairs[place][1], place))[:limit]
        assert found.row(group).tolist() == expected


def test_names_are_listed_as_sentences_list_them() -> None:
    assert [listed(["A", "B", "C"][:n]) for n in (1, 2, 3)] == ["A", "A and B", "A, B and C"]


def test_opposite_vectors_have_a_direction_all_the_same() -> None:
    vectors = np.array([[1, 0], [-1, 0]], dtype=np.float32)
    assert mean_direction(vectors).tolist() == [1, 0]


def test_headings_are_not_what_a_report_says(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        for title in ("The Tower of Vell", "The Clock of Vell"):
            engine.add(
                f"# {title}\n\nAda Morn built {title} with Piet Oss, and Brida Kall paid.",
                source=title,
                title=title,
                media_type="text/markdown",
            )
        summaries = [report.summary for report in engine.graph.communities()]

    assert summaries
    assert all("Ada Morn built" in said and "#" not in said for said in summaries)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("The mill was built by Jonas Reed.", True),
        ("“Who built it?”", True),
        ("狩野川は静岡県を流れる。", True),
        ("- The mill", False),
        ("The mill and its pond", False),
        ("| mill | 1820 |.", False),
        ("+--------+ A box.", False),
        ("┌──┐ A box.", False),
        ("Mill ....... 12.", False),
        ('class Mill(Base): """A mill that turns.', False),
        ("It is a class of its own.", True),
    ],
)
def test_a_report_is_made_of_whole_sentences(text: str, whole: bool) -> None:
    assert is_sentence(text) == whole


def test_a_title_says_no_name_twice() -> None:
    names = [
        "Debian",
        "Debian Project",
        "2019",
        "ada@example.org",
        "__init__",
        "makefiles",
        "Makefile",
    ]
    assert title_of([*names, "Ada\n Byron", "Rome"]) == "Debian, makefiles and Ada Byron"
    assert title_of(["2019"]) == "2019"


def test_a_title_names_no_ordinary_word_no_file_of_text_and_no_reply() -> None:
    names = ["file", "Examples", "2.2.rst", "Re: Test", "Debian", "main.py"]
    assert title_of(names) == "Debian and main.py"
    assert title_of(["file"]) == "file"


def test_code_is_no_prose() -> None:
    code = "use crate::error::{ErrorKind, Position}; fn new(kind: ErrorKind) -> Error;"
    assert is_symbolic(code)
    assert not is_symbolic("The engineer (of Acme) wrote it in `C`, and called it good.")
    assert not is_sentence("def seekable(self): return self._stream.seekable().")


def test_what_one_sentence_alone_names_together_is_no_community(library: Library) -> None:
    library.store.save(make_entry("a", "Anna, Bert, Carl met.", names=["Anna", "Bert", "Carl"]))
    assert reports(library) == []
