"""A model situates passages in their documents: what it says is searched with them, apart from
the text, and can be taken back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import clew
from clew.indexing.enrichment.contexts import stretch_of
from clew.library import Clew
from clew.ports.models import LanguageModel, Reply, Request
from clew.settings import load_settings
from clew.stores.extractions import Enrichments
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.types import ChunkExtraction, ExtractedRelation, Mention

TEXT = """# Diary of the mill

The mill of Gouda was sold in 1820. [Edda Rowe](http://a.example/rowe) bought it from the town.

It burnt down two years later and nobody was hurt.
"""
SITUATED = "A diary of the mill of Gouda: the mill burnt down two years after the sale of 1820."


def opened(folder: Path, model: LanguageModel | None = None, **llm: object) -> Clew:
    split = {"chunk_tokens": 30, "section_tokens": 200, "overlap": 0}
    settings = load_settings(store=folder, split=split, llm={"concurrency": 1, **llm})
    return clew.open(settings=settings, embedder=HashEmbedder(), language_model=model)


class Situating(ScriptedLanguageModel):
    """Says the same of every passage."""

    def __init__(self, said: str = SITUATED) -> None:
        super().__init__()
        self.said = said

    def reply(self, request: Request) -> Reply:
        self.asked.append(request)
        return Reply(text=self.said, finish="stop", model="m")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with opened(tmp_path) as store:
        store.add(TEXT, source="diary.md", title="Diary", media_type="text/markdown")
        store.add("The weather was fine.", source="other")
        assert len(store.documents.chunks("diary.md")) == 2
    return tmp_path


def rows(store: Clew) -> list[object]:
    """All that hangs on passages, but for their ids."""
    chunks = store.documents.chunks("diary.md")
    ids = [chunk.id for chunk in chunks]
    place = {id_: n for n, id_ in enumerate(ids)}
    relations = store.store.chunk_relations(ids)
    return [
        [(c.context, c.text, c.start, c.end, c.page, c.section_id) for c in chunks],
        [(place[r.chunk_id or 0], r.relation_type, r.weight, r.extractor) for r in relations],
        len(store.store.mention_rows()),
        store.store.count_unread(),
        np.round(store.state.vectors.vectors(ids), 6).tolist(),
    ]


def test_a_context_is_searched_and_shown_apart(folder: Path) -> None:
    with opened(folder, Situating()) as store:
        last = store.documents.chunks("diary.md")[-1]
        assert "Gouda" not in last.text + last.context
        (report,) = store.enrich("context", documents=[last.document_id])

        situated = store.documents.chunks("diary.md")[-1]
        assert (report.done, report.failed) == (2, ())
        assert (situated.text, situated.ordinal) == (last.text, last.ordinal)
        assert situated.context == f"{last.context}\n{SITUATED}"
        hits = store.search("What burnt down in Gouda?", strategy="keyword").hits
        assert situated.public_id in [hit.chunk.public_id for hit in hits]
        vector = HashEmbedder().embed_query(f"{situated.context}\n{situated.text}")
        ids, scores = store.state.vectors.search_vector(vector, 1)
        assert ids.tolist() == [situated.id]
        assert scores[0] == pytest.approx(1, abs=1e-5)
        assert store.maintenance.check().problems == ()


def test_it_is_taken_back_and_all_that_hangs_on_passages_stays(folder: Path) -> None:
    with opened(folder, Situating()) as store:
        chunk = store.documents.chunks("diary.md")[0]
        found = ChunkExtraction(
            mentions=(Mention(name="town", sentence=1, start=0, end=4),),
            relations=(
                ExtractedRelation(
                    head="Edda Rowe",
                    tail="town",
                    relation_type="bought_from",
                    sentence=1,
                    confidence=0.9,
                ),
            ),
        )
        store.store.record_readings({chunk.id: found})
        Enrichments(store.store.backend).record_extraction({chunk.id: found})
        before = rows(store)

        store.enrich("context")
        made = rows(store)
        assert made[1:4] == before[1:4]
        assert made[0] != before[0]
        assert made[4] != before[4]
        assert store.enriching.undo("context") == 2  # one had failed

        assert rows(store) == before
        assert store.enriching.left("context", "extract") == ["diary.md", "other"]
        assert store.maintenance.check().problems == ()
        store.add(TEXT.replace("Gouda", "Delft"), source="diary.md", media_type="text/markdown")
        assert store.maintenance.check().problems == ()


def test_a_second_run_and_a_second_process_see_nothing_left(folder: Path) -> None:
    model = Situating()
    with opened(folder, model) as store, opened(folder) as other:
        other.search("mill", strategy="vector")
        store.enrich("context")
        again = store.enrich("context")
        hits = other.search("mill of Gouda", strategy="vector").hits
        contexts = [chunk.context for chunk in other.documents.chunks("diary.md")]
    assert (again[0].done, len(model.asked)) == (0, 3)
    assert any(SITUATED in context for context in contexts)
    assert hits


def test_documents_come_first_and_are_the_same_for_all_their_passages(folder: Path) -> None:
    model = Situating()
    with opened(folder, model) as store:
        store.enrich("context")
    first, second = (r.messages[0] for r in model.asked if "Diary" in r.messages[0].text)
    assert 0 < first.shared == second.shared
    assert first.text[: first.shared] == second.text[: second.shared]
    assert "burnt down" in first.text[: first.shared]
    assert first.text != second.text


def test_a_name_that_the_document_lacks_is_no_context(folder: Path) -> None:
    with opened(folder, Situating("The mill of Gouda was built by Napoleon in 1799.")) as store:
        before = rows(store)
        (report,) = store.enrich("context")
        assert rows(store) == before
        assert "Napoleon, 1799" in report.failed[0].reason
        assert report.done == 0
        assert len(store.enriching.failures("context")) == 3


def test_a_long_context_is_cut_at_a_sentence(folder: Path) -> None:
    with opened(folder, Situating(" ".join(["The mill was sold."] * 60))) as store:
        store.enrich("context")
        context = store.documents.chunks("diary.md")[0].context.splitlines()[-1]
    assert 50 < len(context.split()) <= 100
    assert context.endswith("sold.")


@pytest.mark.parametrize("size", [90, 1_000, 5_003])
def test_a_stretch_holds_the_passage_and_neighbours_share_it(size: int) -> None:
    text = "".join(chr(33 + n % 90) for n in range(size))
    found = {}
    for start in range(0, size - 50, 25):
        stretch = stretch_of(text, start, start + 50, 400)
        assert text[start : start + 50] in stretch
        assert len(stretch) == min(size, 400)
        found[stretch] = True
    assert len(found) <= size / 200 + 1
