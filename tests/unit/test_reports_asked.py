"""Reports and topics as answers to questions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import clew
from clew.errors import InputError
from clew.search.strategies.reports import (
    by_topics,
    drift,
    from_reports,
    relevant_communities,
    report_blocks,
)
from clew.testing.fakes import HashEmbedder
from tests.unit.asked import add, day, new_session, titles

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


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        add(engine, TEXTS, DATES)
        yield engine


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    """A store without communities and topics."""
    with clew.open(tmp_path_factory.mktemp("bare"), embedder=HashEmbedder()) as engine:
        add(engine, {"bread": "bread is baked at four in the morning"})
        yield engine


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
    assert relations in ("", "- Ines Calder — taught_by → Aldous Reth")
    assert {citation.title for citation in block.forms[0].citations} == {"Vaccine"}


def test_a_filter_that_lets_nothing_through_leaves_no_report(engine: clew.Clew) -> None:
    asked = new_session(engine, "the whole", since=day("2030-01-01"))
    assert report_blocks(asked, relevant_communities(asked)) == []


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


def test_topics_without_a_passage_that_a_filter_lets_through_are_not_named(
    engine: clew.Clew,
) -> None:
    asked = new_session(engine, "ward diary and canal lock", until=day("2016-06-01"))
    found = by_topics(asked)
    assert set(titles(asked, found.ranking)) == {"Vaccine", "Ward"}
    (block,) = found.arrange(asked, ())
    assert "ward diary" in block.forms[0].text.lower()
    assert "canal" not in block.forms[0].text.lower()
    nothing = by_topics(new_session(engine, "ward diary", since=day("2030-01-01")))
    assert (nothing.arrange(asked, ()), len(nothing.ranking.ids)) == ([], 0)


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
    result = bare.search("when is bread baked?", strategy=strategy)
    assert [hit.chunk.title for hit in result.hits] == ["bread"]
    assert note in result.notes


# --- from the whole to the part


def test_drift_starts_from_the_question_and_from_what_the_reports_are_about(
    engine: clew.Clew,
) -> None:
    asked = new_session(engine, "an overview of the vaccine, and what Greta Sool paid")
    found = drift(asked)
    blocks = found.arrange(asked, ())
    assert [block.heading.partition(":")[0] for block in blocks][-1].startswith("Around")
    assert blocks[0].heading.startswith("Report: ")
    around = blocks[-1].forms[0].text
    own, found_later = around.index("Greta Sool ("), around.index("Aldous Reth (")
    assert own < found_later, "the question's own before those that the reports led to"


def test_reports_take_half_of_the_context_of_drift(engine: clew.Clew) -> None:
    asked = new_session(engine, "an overview", max_tokens=1)
    assert not any(b.heading.startswith("Report") for b in drift(asked).arrange(asked, ()))
