"""What each strategy is for, on a corpus on which plain vector search fails.

A corpus is a file of `tests/corpora`: JSON Lines, first the questions, then the documents. A
question names the `strategy`, its `options`, the titles that are the `gold` among the first `limit`
passages, what the context has to say (`in_context`), and `why` the strategy is needed; `not_by` is
the strategy that does without (`vector` where not said), and `expect` what `auto` should choose.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import clew
from clew.indexing.reading.reader import document_from_text
from clew.models.onnx import OnnxEmbedder
from clew.search.strategies import AUTO, STRATEGIES
from clew.settings import EmbedSettings

if TYPE_CHECKING:
    from clew.types import Document, SearchResult

CORPORA = sorted((Path(__file__).parent.parent / "corpora").glob("*.jsonl"))


def read_corpus(file: Path) -> tuple[list[dict[str, Any]], list[Document]]:
    records = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    questions = [record for record in records if "question" in record]
    return questions, [_document(record) for record in records if "question" not in record]


def _document(record: dict[str, Any]) -> Document:
    created = record.get("created_at")
    return document_from_text(
        record["text"],
        source=record["title"],
        title=record["title"],
        media_type=record.get("media_type", "text/plain"),
        metadata=record.get("metadata"),
        created_at=datetime.fromisoformat(created).replace(tzinfo=UTC) if created else None,
    )


ASKED = [(file, question) for file in CORPORA for question in read_corpus(file)[0]]
FOUND = [(file, asked) for file, asked in ASKED if "gold" in asked or "in_context" in asked]


def name(value: Path | dict[str, Any]) -> str:
    return value.stem if isinstance(value, Path) else str(value["question"])


class Stores:
    """One store a corpus, made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._embedder = OnnxEmbedder(EmbedSettings(cache=folder / "model"))
        self._open: dict[Path, clew.Clew] = {}

    def of(self, file: Path) -> clew.Clew:
        if file not in self._open:
            questions, documents = read_corpus(file)
            given = questions[0].get("settings", {})
            settings = clew.load_settings(store=self._folder / file.stem, **given)
            self._open[file] = clew.open(settings=settings, embedder=self._embedder)
            self._open[file].add_documents(documents)
        return self._open[file]

    def close(self) -> None:
        for engine in self._open.values():
            engine.close()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    stores = Stores(tmp_path_factory.mktemp("corpora"))
    yield stores
    stores.close()


def missing(question: dict[str, Any], result: SearchResult) -> tuple[list[str], list[str]]:
    """The gold that is not among the hits, and the words that are not in the context."""
    found = {hit.chunk.title for hit in result.hits}
    lost = [title for title in question.get("gold", []) if title not in found]
    unsaid = [words for words in question.get("in_context", []) if words not in result.context.text]
    return lost, unsaid


def test_every_strategy_has_a_corpus() -> None:
    shown = {q["strategy"] for file in CORPORA for q in read_corpus(file)[0]}
    assert shown == {*STRATEGIES, AUTO}


def test_corpora_are_sound() -> None:
    for file in CORPORA:
        questions, documents = read_corpus(file)
        titles = [document.title for document in documents]
        assert 8 <= len(titles) <= 25, file
        assert len(set(titles)) == len(titles), file
        for question in questions:
            assert question["why"], file
            assert {*question.get("gold", [])} <= {*titles}, file
            assert any(question.get(name) for name in ("gold", "in_context", "expect")), file


@pytest.mark.parametrize(("file", "question"), ASKED, ids=name)
def test_the_strategy_finds_the_gold(file: Path, question: dict[str, Any], stores: Stores) -> None:
    result = stores.of(file).search(
        question["question"],
        strategy=question["strategy"],
        limit=question.get("limit"),
        **question.get("options", {}),
    )
    assert missing(question, result) == ([], [])
    assert result.strategy == question.get("expect", question["strategy"])


@pytest.mark.parametrize(("file", "question"), FOUND, ids=name)
def test_plain_search_does_not(file: Path, question: dict[str, Any], stores: Stores) -> None:
    result = stores.of(file).search(
        question["question"],
        strategy=question.get("not_by", "vector"),
        limit=question.get("limit"),
        max_tokens=question.get("options", {}).get("max_tokens"),
    )
    lost, unsaid = missing(question, result)
    assert bool(lost) == bool(question.get("gold"))
    assert bool(unsaid) == bool(question.get("in_context"))
