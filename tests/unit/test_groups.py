"""Several documents are saved in one transaction, and what is refused takes none with it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import clew
from clew.errors import InputError
from clew.testing.fakes import HashEmbedder
from clew.types import Document


def test_documents_share_transactions(tmp_path: Path) -> None:
    commits: list[str] = []
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("The first text brings up whatever is made once.")
        database = engine.state.store.backend.database  # type: ignore[attr-defined]
        with database.read() as connection:
            connection.set_trace_callback(lambda sql: commits.append(sql))
        report = engine.add_documents(
            Document(source=f"{i}", text=f"Ada Morn wrote letter {i} to Piet Oss.")
            for i in range(40)
        )
        with database.read() as connection:
            connection.set_trace_callback(None)
    assert report.added == 40
    assert sum(sql.startswith("BEGIN IMMEDIATE") for sql in commits) < 10


def test_what_precedes_a_document_that_cannot_be_saved_lasts(tmp_path: Path) -> None:
    documents = [Document(source=f"{i}", text=f"Ada Morn met Piet Oss {i} times.") for i in (1, 2)]
    half = Document(source="3", text="Edda Rowe.", metadata={"mood": "\ud83d"})
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        with pytest.raises(InputError, match="half a character"):
            engine.add_documents([*documents, half])
        assert [info.source for info in engine.documents.list()] == ["1", "2"]
    with closing(sqlite3.connect(tmp_path / "default" / "clew.db")) as connection:
        assert connection.execute("SELECT count(*) FROM documents").fetchone() == (2,)
