"""Terms that a store knows are found in what is indexed later, and in questions."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from clew.testing.fakes import HashEmbedder
from clew.types import Document

GLOSSARY = Document(
    source="glossary.md",
    title="Glossary",
    text=(
        "# Tide windows\n\nA tide window is short; **quay crane** work waits for it. Each tide"
        " window has quay cranes. It is run by `portctl` and portctl-server. Portctl is old, says"
        " /etc/portctl.conf. The Rose Hill is green."
    ),
    media_type="text/markdown",
)


def mentioned(tmp_path: Path, *documents: Document) -> dict[str, set[str]]:
    """Names by source, as the store has them."""
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        for document in documents:
            engine.add_documents([document])
        store = engine.store
        found: dict[str, set[str]] = {}
        for entity_id in {alias.entity_id for alias in store.aliases()}:
            chunks = store.chunks(store.entity_chunks(entity_id).tolist())
            for info in store.documents(ids=[chunk.document_id for chunk in chunks]):
                found.setdefault(info.source, set()).add(store.entity_names([entity_id])[entity_id])
        return found


def test_a_later_text_names_them_in_any_case_and_number(tmp_path: Path) -> None:
    later = Document(
        source="later.txt", text="They missed two TIDE-WINDOWS, and one quay crane broke portctl."
    )

    found = mentioned(tmp_path, GLOSSARY, later)

    assert {name.casefold() for name in found["later.txt"]} == {
        "tide windows",
        "quay crane",
        "portctl",
    }


def test_names_of_ordinary_words_stay_in_their_document(tmp_path: Path) -> None:
    later = Document(source="later.txt", text="A rose hill is a glossary of green.")

    assert "later.txt" not in mentioned(tmp_path, GLOSSARY, later)


@pytest.mark.parametrize(
    "later",
    [
        Document(source="later.py", text="portctl = 3\n", media_type="text/x-python"),
        Document(source="later.txt", text="See files/portctl/tide_window for it."),
        Document(source="later.md", text="Do so:\n\n```\nportctl now\n```\n"),
    ],
)
def test_code_and_paths_do_not_name_them(tmp_path: Path, later: Document) -> None:
    found = mentioned(tmp_path, GLOSSARY, later)

    assert not {"portctl", "Tide windows"} & found.get(later.source, set())
