"""Terms that a store knows are found in what is indexed later, and in questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.indexing.linking import StoreTerms
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry
from clew.testing.fakes import HashEmbedder
from clew.types import ChunkExtraction, Document, Extraction
from tests.whole_linking import whole_terms

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


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path_factory.mktemp("store"), embedder=EMBEDDER)) as store:
        yield store


TERMS = (
    "Tide windows|tide window|quay crane|Quay-Cranes|portctl|Portctl server|PORTCTL|net zero"
    "|The Rose Hill|rose hill|of the net|Bank of Ulm|others|Crane 9|zero"
).split("|")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(TERMS), max_size=6),
    st.sampled_from(["concept", "name", "product", "place"]),
    st.lists(st.sampled_from([*TERMS, "and", "the", ",", "\n", "is"]), max_size=14),
)
def test_looking_terms_up_finds_the_same_as_reading_all(
    store: SqliteStore, names: list[str], kind: str, words: list[str]
) -> None:
    store.delete([info.id for info in store.documents()])
    store.save(make_entry("a", ". ".join(names), names=dict.fromkeys(names, kind)))
    text = " ".join(words)
    entry = make_entry("b", text)
    found = ChunkExtraction(sentences=((0, len(text)),))

    whole = StoreTerms(store).found(entry.document, entry.split.chunks, Extraction(chunks=(found,)))

    mentions = whole.chunks[0].mentions
    assert {m.name: m.count for m in mentions} == Counter(
        name for _, _, name in whole_terms(store, text, found)
    )
