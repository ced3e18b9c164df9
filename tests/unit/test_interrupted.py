"""An index run that is interrupted keeps what it has embedded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import clew
from clew.indexing.pipeline import BATCH_CHUNKS
from clew.testing.fakes import HashEmbedder

if TYPE_CHECKING:
    from clew.types import Vectors

DOCUMENTS = 3 * BATCH_CHUNKS


class CountingEmbedder(HashEmbedder):
    """Remembers every text that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return super().embed_documents(texts)


@pytest.mark.parametrize("after", [1, BATCH_CHUNKS // 2, BATCH_CHUNKS, 2 * BATCH_CHUNKS + 1])
def test_nothing_is_embedded_twice(tmp_path: Path, after: int) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(DOCUMENTS):
        (notes / f"{number}.md").write_text(f"Weir {number} of the Lorne.")
    embedder = CountingEmbedder()

    def interrupt(message: str, done: int, total: int | None) -> None:
        if len(store.store.chunk_ids()) >= after and not stopped:
            stopped.append(True)
            raise KeyboardInterrupt

    stopped: list[bool] = []
    with clew.open(tmp_path / "store", embedder=embedder) as store:
        with pytest.raises(KeyboardInterrupt):
            store.index([notes], progress=interrupt)
        kept = len(store.store.chunk_ids())
        assert kept == len(embedder.embedded)
        assert after <= kept <= DOCUMENTS
        report = store.index([notes])
        assert (report.added, report.unchanged) == (DOCUMENTS - kept, kept)
        assert store.maintenance.check().problems == ()
    assert len(embedder.embedded) == len(set(embedder.embedded)) == DOCUMENTS
