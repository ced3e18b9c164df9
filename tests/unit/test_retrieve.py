"""Kinds of retrieval and their fusion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import chromadb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.errors import SettingsError
from clew.search.channels import (
    Ranking,
    reciprocal_rank_fusion,
    weighted_fusion,
)
from clew.search.options import CONTEXTUAL_DEPTH
from clew.search.session import ONE_SET
from clew.settings import Settings, load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import Scores, Vectors
from tests.unit.test_engine import CountingEmbedder

# --- retrieve


rankings = st.lists(
    st.lists(st.integers(1, 30), unique=True, max_size=12).map(
        lambda ids: Ranking(
            np.array(ids, dtype=np.int64), np.linspace(1, 0, len(ids), dtype=np.float32)
        )
    ),
    min_size=1,
    max_size=4,
)


@given(rankings)
def test_fusion_agrees_with_the_formula(given_rankings: list[Ranking]) -> None:
    expected: dict[int, float] = {}
    for ranking in given_rankings:
        for rank, chunk_id in enumerate(ranking.ids.tolist(), start=1):
            expected[chunk_id] = expected.get(chunk_id, 0.0) + 1 / (60 + rank)
    fused = reciprocal_rank_fusion(given_rankings)
    assert set(fused.ids.tolist()) == set(expected)
    for chunk_id, score in zip(fused.ids.tolist(), fused.scores.tolist(), strict=True):
        assert score == pytest.approx(expected[chunk_id], rel=1e-5)
    assert (np.diff(fused.scores) <= 0).all()


scored = st.dictionaries(st.integers(1, 30), st.floats(-1, 50, width=32), max_size=12).map(
    lambda found: Ranking(
        np.array(sorted(found, key=lambda id_: -found[id_]), np.int64),
        np.array(sorted(found.values(), reverse=True), np.float32),
    )
)


@given(scored, scored, st.floats(0, 1))
def test_weighted_fusion_agrees_with_the_formula(
    words: Ranking, meaning: Ranking, alpha: float
) -> None:
    expected: dict[int, float] = {}
    for ranking, share in ((words, alpha), (meaning, 1 - alpha)):
        low = min([0.0, *ranking.scores.tolist()])
        reach = max([0.0, *ranking.scores.tolist()]) - low
        for chunk_id, score in zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True):
            scaled = (score - low) / (reach or 1)
            expected[chunk_id] = expected.get(chunk_id, 0.0) + share * scaled
    fused = weighted_fusion(words, meaning, alpha)
    assert set(fused.ids.tolist()) == set(expected)
    for chunk_id, score in zip(fused.ids.tolist(), fused.scores.tolist(), strict=True):
        assert score == pytest.approx(expected[chunk_id], rel=1e-4, abs=1e-6)
    assert (np.diff(fused.scores) <= 0).all()


@given(rankings, st.lists(st.integers(1, 40), unique=True, max_size=6), st.integers(0, 14))
def test_passages_are_put_behind_the_first_ones(
    given_rankings: list[Ranking], ids: list[int], place: int
) -> None:
    ranking = given_rankings[0]
    found = ranking.with_among(np.array(ids, dtype=np.int64), place)
    head = ranking.ids.tolist()[:place]
    new = [id_ for id_ in ids if id_ not in head]
    rest = [id_ for id_ in ranking.ids.tolist()[place:] if id_ not in new]
    assert found.ids.tolist() == [*head, *new, *rest]
    assert (np.diff(found.scores) <= 0).all()


# --- `traditional`, `contextual` and `graph`: what each reads, how deep, and what it gives.


TITLED = "The weir was repaired in the spring."
"""Found by its title, Lorne, alone."""
NAMED = "The Lorne flows past a mill, a weir and an inn."


class LastFirst:
    """A reranker by the first number of a text, which remembers how many texts it read."""

    name = "last-first"
    read = 0

    def score(self, question: str, passages: Sequence[str]) -> Scores:
        self.read += len(passages)
        numbers = [int(next(w for w in text.split() if w.isdecimal())) for text in passages]
        return (np.array(numbers) / 1000).astype(np.float32)


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def both(tmp_path: Path, embedder: CountingEmbedder) -> Iterator[clew.Clew]:
    settings = load_settings(store=tmp_path / "store", embed={"vectors": "both"})
    with clew.open(settings=settings, embedder=embedder) as engine:
        engine.add(TITLED, source="titled", title="Lorne")
        engine.add(NAMED, source="named", title="Rivers")
        yield engine


def scores(engine: clew.Clew, question: str, rag_type: str) -> dict[str, float]:
    hits = engine.search(question, rag_type=rag_type).hits
    return {hit.chunk.text: hit.scores["vector"] for hit in hits if "vector" in hit.scores}


def cosine(embedder: HashEmbedder, question: str, text: str) -> float:
    return float(embedder.embed_query(question) @ embedder.embed_documents([text])[0])


def test_each_kind_reads_its_own_vectors(both: clew.Clew, embedder: CountingEmbedder) -> None:
    question = "weir Lorne"
    alone, with_context = (
        scores(both, question, "traditional"),
        scores(both, question, "contextual"),
    )
    assert alone[TITLED] == pytest.approx(cosine(embedder, question, TITLED), abs=1e-6)
    assert with_context[TITLED] == pytest.approx(
        cosine(embedder, question, f"Lorne\n{TITLED}"), abs=1e-6
    )
    assert with_context[TITLED] > alone[TITLED]
    assert both.search(question, rag_type="traditional").strategy == "vector"


def test_what_is_new_is_embedded_and_what_is_gone_is_not_found(
    both: clew.Clew, embedder: CountingEmbedder
) -> None:
    for number in range(20):
        both.add(f"Mill {number} is on the Lorne.", source=f"mill-{number}")
    before = len(embedder.embedded)
    both.add("The inn burned down.", source="named", title="Rivers")
    # With its context, alone, and one more text to see whether the file is still the store's.
    assert len(embedder.embedded) <= before + 3
    assert {TITLED, "The inn burned down."} <= set(scores(both, "inn", "traditional"))
    both.delete(["named"])
    assert "The inn burned down." not in scores(both, "inn", "traditional")
    settings = both.settings
    both.close()
    before = len(embedder.embedded)
    with clew.open(settings=settings, embedder=embedder) as again:
        assert TITLED in scores(again, "weir", "traditional")
    assert len(embedder.embedded) <= before + 1


def test_contextual_takes_as_many_of_each_channel_and_gives_twenty(tmp_path: Path) -> None:
    reranker = LastFirst()
    with clew.open(tmp_path / "store", embedder=HashEmbedder(), reranker=reranker) as engine:
        for number in range(CONTEXTUAL_DEPTH + 20):
            engine.add(f"Weir {number} of the river {number * 7} was built.", source=f"w{number}")
        found = engine.search("weir river", rag_type="contextual")
        assert (found.strategy, len(found.hits)) == ("hybrid", 20)
        assert reranker.read == engine.settings.rerank.depth
        assert len(engine.search("weir river", rag_type="contextual", limit=3).hits) == 3
        assert len(engine.search("weir river", rag_type="graph").hits) == 10
        every = engine.search("weir river", rag_type="contextual", limit=1000, context=False).hits
        for channel in ("vector", "keyword"):
            assert sum(channel in hit.scores for hit in every) == CONTEXTUAL_DEPTH
        tool = engine.tools.call(
            "query_documents", {"query": "weir river", "rag_type": "contextual"}
        ).content
        assert len(tool["results"]) + tool["left_out"] == 20


@pytest.mark.parametrize("vectors", ["one", "both"])
def test_a_kind_without_vectors_of_its_own_says_so(
    tmp_path: Path, embedder: CountingEmbedder, vectors: str
) -> None:
    settings = load_settings(store=tmp_path / "store", embed={"vectors": vectors})
    with clew.open(settings=settings, embedder=embedder) as engine:
        engine.add(TITLED, source="titled", title="Lorne")
        assert set(embedder.embedded) == {
            f"Lorne\n{TITLED}",
            *([TITLED] if vectors == "both" else []),
        }
        found = {
            kind: engine.search("weir", rag_type=kind)
            for kind in ("traditional", "contextual", "graph")
        }
        alike = scores(engine, "weir", "traditional") == scores(engine, "weir", "contextual")
    assert alike == (vectors == "one")
    assert (ONE_SET in found["traditional"].notes) == alike
    assert ONE_SET not in found["contextual"].notes + found["graph"].notes


def test_in_chroma_each_kind_has_a_collection_of_vectors_of_its_own(
    tmp_path: Path, embedder: CountingEmbedder
) -> None:
    settings = load_settings(store=tmp_path / "store", vectors="chroma", embed={"vectors": "both"})
    with clew.open(settings=settings, embedder=embedder) as engine:
        engine.add(TITLED, source="titled", title="Lorne")
        found = {kind: scores(engine, "weir Lorne", kind) for kind in ("traditional", "contextual")}
    held = {kind: in_chroma(settings, kind) for kind in found}
    assert {kind: len(rows) for kind, rows in held.items()} == {"traditional": 1, "contextual": 1}
    assert not np.allclose(held["traditional"], held["contextual"])
    assert found["contextual"][TITLED] > found["traditional"][TITLED]
    embedder.embedded.clear()
    with clew.open(settings=settings, embedder=embedder) as again:
        assert scores(again, "weir Lorne", "traditional") == pytest.approx(found["traditional"])
    assert len(embedder.embedded) <= 1, "the texts are embedded once"


def in_chroma(settings: Settings, kind: str) -> Vectors:
    """The vectors of a collection, as another program reads them."""
    client = chromadb.PersistentClient(
        str(settings.folder / "chroma"), tenant="clew-default", database="clew"
    )
    found = client.get_collection(f"documents_{kind}_v1").get(include=["embeddings"])
    return np.array(found["embeddings"], dtype=np.float32)


def test_the_collection_of_texts_alone_holds_nothing_else(tmp_path: Path) -> None:
    settings = load_settings(
        store=tmp_path / "store",
        vectors="chroma",
        embed={"vectors": "both"},
        chroma={"kind": "traditional"},
    )
    with pytest.raises(SettingsError, match=r"chroma\.kind 'traditional' .* 'contextual'"):
        clew.open(settings=settings)
