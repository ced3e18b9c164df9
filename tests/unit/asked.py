"""Questions on their way through the steps, for tests of single steps."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

import clew
from clew.engine import Engine
from clew.indexing.inputs import document_from_text
from clew.search.channels import Ranking
from clew.search.options import Options
from clew.search.session import QuerySession
from clew.testing.fakes import HashEmbedder
from clew.types import SearchResult, Vector

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
NOTES = {
    "mill": "Jonas Reed built the mill at Harrow Ford.",
    "abbey": "Tarn Abbey stands on the river Lorne. Jonas Reed learned his trade in Tarn Abbey.",
    "bell": "Edda Rowe cast the bell of Port Anselm.",
}


class SlowEmbedder(HashEmbedder):
    """Embeds no question before it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def embed_query(self, text: str) -> Vector:
        assert self.let.wait(30)
        return super().embed_query(text)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def add(
    engine: Engine,
    texts: Mapping[str, str],
    dates: Mapping[str, str] | None = None,
    media_type: str = "text/plain",
) -> None:
    """Documents by title, some of them with a date."""
    said = {title: day(date) for title, date in (dates or {}).items()}
    engine.add_documents(
        document_from_text(
            text, source=title, title=title, media_type=media_type, created_at=said.get(title)
        )
        for title, text in texts.items()
    )


def engine_of(*documents: Any, real_model: bool = False, **given: Any) -> Any:  # noqa: ANN401
    """A fixture: a store with what `add` is given, for a module."""
    embedder = None if real_model else HashEmbedder()

    @pytest.fixture(scope="module")
    def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
        with clew.open(tmp_path_factory.mktemp("store"), embedder=embedder) as opened:
            add(opened, *documents, **given)
            yield opened

    return engine


def new_session(engine: clew.Clew, question: str, **given: Any) -> QuerySession:  # noqa: ANN401
    return QuerySession.start(
        engine.state,
        question,
        replace(Options(strategy="vector", limit=10, max_tokens=1000, now=NOW), **given),
    )


def shown(result: SearchResult) -> dict[str, object]:
    """What it tells, but how long it took and what is noted beside it."""
    return {**result.to_dict(), "timings_ms": {}, "notes": []}


def ranking(scores: Sequence[float]) -> Ranking:
    """Chunks 1, 2, … with these scores."""
    return Ranking(np.arange(1, 1 + len(scores)), np.array(scores, np.float32))


def titles(session: QuerySession, ranking: Ranking) -> list[str]:
    return [chunk.title for chunk in session.resources.store.chunks(ranking.ids.tolist())]
