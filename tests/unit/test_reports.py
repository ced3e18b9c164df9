"""Reports of communities, and questions to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.errors import InputError
from clew.graph.communities import SENTENCES, ReportMaker, is_sentence
from clew.graph.partition import partition
from clew.graph.topics import mean_direction, title_of
from clew.ports import CommunityReport
from clew.search.answer.blocks import RetrievalResult
from clew.search.around import (
    Nearest,
    search_neighbourhood,
)
from clew.search.reports import (
    by_topics,
    drift,
    from_reports,
    relevant_communities,
    report_blocks,
)
from clew.search.session import QuerySession
from clew.testing.conformance import make_entry
from clew.testing.fakes import HashEmbedder
from clew.types import NamedStrategy
from tests.unit.asked import day, engine_of, new_session, titles
from tests.unit.community_stores import Library, players, save_band

# --- Reports: made of the texts' own sentences, about what is central, and of nothing else.


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library.open(tmp_path)
    yield library
    library.store.close()


def reports(library: Library) -> list[CommunityReport]:
    graph = library.graph()
    maker = ReportMaker(library.store, library.vectors, library.snapshot(), graph)
    found = partition(graph)
    return list(maker.reports(found, found.ids))


def test_a_report_is_made_of_sentences_that_stand_in_its_sources(library: Library) -> None:
    for number in range(3):
        save_band(library, number)
    found = reports(library)
    assert len(found) == 3
    for report in found:
        said, relation = report.summary.split("\n")
        held = library.store.sentences(report.basis.sources).values()
        sentences = sorted(sentence for of_one in held for sentence in of_one)
        assert sorted(said.replace(". ", ".|").split("|")) == sentences
        assert len(sentences) <= SENTENCES
        assert " — plays_with → " in relation
        expected = mean_direction(library.vectors.vectors(report.basis.sources))
        assert np.array_equal(report.vector, expected)


def test_the_title_is_that_of_the_document_that_most_of_it_is_about(library: Library) -> None:
    save_band(library, 0, title="The first band")
    for place, pair in enumerate(zip(players(1), players(1)[1:], strict=False)):
        text = f"{pair[0]} met {pair[1]}."
        library.store.save(make_entry(f"note {place}", text, title=f"Note {place}", names=pair))
    (other,) = {report.title for report in reports(library)} - {"The first band"}
    assert other.count(" and ") == 1  # its documents hold a sentence each


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
        ("The engineer (of Acme) wrote it in `C`, and called it good.", True),
        ("use crate::error::{ErrorKind, Position}; fn new(kind: ErrorKind) -> Error;", False),
    ],
)
def test_a_report_is_made_of_whole_sentences(text: str, whole: bool) -> None:
    assert is_sentence(text) == whole


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["Debian", "Debian Project", "2019", "Rome"], "Debian and Rome"),
        (
            ["ada@example.org", "__init__", "makefiles", "Makefile", "Ada\n Byron"],
            "makefiles and Ada Byron",
        ),
        (["2019"], "2019"),
    ],
)
def test_a_title_says_no_name_twice(names: list[str], title: str) -> None:
    assert title_of(names) == title


def test_what_one_sentence_alone_names_together_is_no_community(library: Library) -> None:
    library.store.save(make_entry("a", "Anna, Bert, Carl met.", names=["Anna", "Bert", "Carl"]))
    assert reports(library) == []


# --- Reports and topics as answers to questions.


TEXTS = {
    "Vaccine": "Aldous Reth tried the vaccine at Corvin Hospital. Ines Calder was taught by"
    " Aldous Reth.",
    "Ward": "Ines Calder kept the ward diary of Corvin Hospital. Aldous Reth signed it.",
    "Beds": "Corvin Hospital lent Aldous Reth nine beds. Ines Calder made the ward diary longer.",
    "Canal": "Wendmoor was drained by Hob Tarrant. Greta Sool paid Hob Tarrant for the canal lock.",
    "Lock": "The canal lock of Wendmoor leaked. Greta Sool sent for Hob Tarrant.",
    "Toll": "Hob Tarrant never paid the toll at Wendmoor, and Greta Sool never asked.",
}
DATES = {title: f"20{year}-01-01" for title, year in zip(TEXTS, range(15, 21), strict=True)}


engine = engine_of(TEXTS, DATES)


# A store without communities and topics.
bare = engine_of({"bread": "bread is baked at four in the morning"})


# --- reports


def test_the_community_nearest_to_the_question_comes_first(engine: clew.Clew) -> None:
    for question, first in (("vaccine ward diary", "Aldous Reth"), ("canal toll", "Hob Tarrant")):
        found = relevant_communities(new_session(engine, question))
        assert first in found[0].entities
        assert first not in found[1].entities


def test_their_passages_come_in_turns_then_the_rest_by_meaning(engine: clew.Clew) -> None:
    asked = new_session(engine, "the whole")
    communities = relevant_communities(asked)
    found = from_reports(asked, communities)
    firsts = [community.sources[0] for community in communities]
    assert found.ranking.ids[: len(firsts)].tolist() == firsts
    assert len(found.ranking.ids) == len(TEXTS)
    assert set(found.scores["community"]) == {s for c in communities for s in c.sources}
    assert "no language model was used: reports are made of the texts' sentences" in asked.notes


def test_a_report_cites_what_it_is_made_of(engine: clew.Clew) -> None:
    asked = new_session(engine, "the whole")
    for community, block in zip(
        relevant_communities(asked), report_blocks(asked, relevant_communities(asked)), strict=True
    ):
        full, short = block.forms
        assert full.text == community.summary
        assert short.text.startswith(f"About {community.entities[0]}")
        cited = engine.store.chunks(list(community.sources))
        assert [c.chunk_ids for c in full.citations] == [(chunk.public_id,) for chunk in cited]


def test_a_filter_leaves_of_a_report_what_it_lets_through(engine: clew.Clew) -> None:
    asked = new_session(engine, "the whole", until=day("2015-06-01"))
    (block,) = report_blocks(asked, relevant_communities(asked))
    text = block.forms[0].text
    assert "Aldous Reth" in text
    allowed = " ".join(TEXTS["Vaccine"].split())
    sentences, _, relations = text.partition("\n")
    assert all(part.strip(".") in allowed for part in sentences.split(". "))
    ends = re.findall(r"- (.+) — \w+ → (.+)", relations)
    assert all(name in allowed for pair in ends for name in pair)
    assert {citation.title for citation in block.forms[0].citations} == {"Vaccine"}


def test_the_level_is_the_one_asked_for_or_the_finest_that_fits(engine: clew.Clew) -> None:
    with pytest.raises(InputError, match="level 9 cannot be"):
        relevant_communities(new_session(engine, "the whole", level=9))
    tight = relevant_communities(new_session(engine, "the whole", max_tokens=1))
    assert {community.level for community in tight} == {0}


# --- topics


def test_topics_lead_to_their_passages_and_count_them(engine: clew.Clew) -> None:
    asked = new_session(engine, "ward diary")
    found = by_topics(asked)
    assert set(titles(asked, found.ranking)[:2]) == {"Ward", "Beds"}
    (block,) = found.arrange(asked, ())
    assert "ward diary" in block.forms[0].text.lower()
    assert ": 2 passages" in block.forms[0].text
    values = list(found.scores["topic"].values())
    assert all(0 < value <= 1 for value in values)


# --- where there are none


@pytest.mark.parametrize(
    ("strategy", "note"),
    [
        ("global", "the graph has no communities yet; passages were found by meaning alone"),
        ("topic", "the store has no topics yet; passages were found by meaning alone"),
        ("drift", "the graph has no communities yet; only the neighbourhood was searched"),
    ],
)
def test_without_communities_or_topics_something_is_found_and_said(
    bare: clew.Clew, strategy: str, note: str
) -> None:
    result = bare.search("when is bread baked?", strategy=NamedStrategy(strategy))
    assert [hit.chunk.title for hit in result.hits] == ["bread"]
    assert note in result.notes


# --- from the whole to the part


def test_drift_starts_from_the_question_and_from_what_the_reports_are_about(
    engine: clew.Clew,
) -> None:
    asked = new_session(engine, "an overview of the vaccine, and what Greta Sool paid")
    blocks = drift(asked).arrange(asked, ())
    assert [block.heading.partition(":")[0] for block in blocks][-1].startswith("Around")
    assert blocks[0].heading.startswith("Report: ")
    around = blocks[-1].forms[0].text
    own, found_later = around.index("Greta Sool ("), around.index("Aldous Reth (")
    assert own < found_later, "the question's own before those that the reports led to"


# --- nearby


NEARBY_TEXTS = {
    "papers": "Hanna Brevik was taught by Lukas Orne. Hanna Brevik sailed on the Kestrel.",
    "Kestrel": "The Kestrel was lost with a cargo of guano.",
    "Lukas Orne": "Lukas Orne left two sons and a debt. Lukas Orne was taught by Piet Oss.",
    "Piet Oss": "Piet Oss kept bees near Lisse.",
    "bread": "Bread is baked at four in the morning, and sold by noon.",
}
NEARBY_DATES = {
    title: f"20{year}-01-01" for title, year in zip(NEARBY_TEXTS, range(15, 20), strict=True)
}


nearby_engine = engine_of(NEARBY_TEXTS, NEARBY_DATES)


def test_passages_of_the_neighbours_come_and_the_context_says_what_ties_them(
    nearby_engine: clew.Clew,
) -> None:
    found, asked = around_brevik(nearby_engine)
    first, *others = titles(asked, found.ranking)
    assert (first, set(others[:2])) == ("papers", {"Kestrel", "Lukas Orne"})
    (block,) = found.arrange(asked, ())
    assert block.forms[0].text.startswith("Entities: Hanna Brevik (")
    said = "- Hanna Brevik — taught_by → Lukas Orne: “Hanna Brevik was taught by Lukas Orne.”"
    assert said in block.forms[0].text
    assert "papers" in {citation.title for citation in block.forms[0].citations}


def around_brevik(engine: clew.Clew, **asked: int) -> tuple[RetrievalResult, QuerySession]:
    session = new_session(engine, "Tell me about Hanna Brevik", **asked)
    nearest = Nearest({engine.entities.get("Hanna Brevik").id: 1.0})
    return search_neighbourhood(session, nearest), session


@pytest.mark.parametrize(("max_hops", "told"), [(1, False), (2, True)])
def test_hops_bound_the_neighbourhood(nearby_engine: clew.Clew, max_hops: int, told: bool) -> None:
    found, asked = around_brevik(nearby_engine, max_hops=max_hops)
    assert ("Piet Oss" in found.arrange(asked, ())[0].forms[0].text) == told
