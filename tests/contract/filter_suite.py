"""What every back end must do with filters: what brute force does, over generated ones."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings

from clew.filters import read_where
from clew.stores.store import Store
from clew.testing.conformance import make_entry
from tests.filter_cases import Tree, as_data, as_text, meets, some_metadata, trees

DOCUMENTS = 40


class FilterSuite:
    """Filters on a store."""

    def test_documents_and_chunks_are_those_that_brute_force_finds(self, store: Store) -> None:
        chance = random.Random(28)
        documents: dict[str, dict[str, Any]] = {}
        chunks: dict[int, dict[str, Any]] = {}
        for number in range(DOCUMENTS):
            about, own = some_metadata(chance), some_metadata(chance)
            entry = make_entry(
                f"document {number}", "One.", "Two.", metadata=about, chunk_metadata=[own]
            )
            store.save(entry)
            id_ = entry.document.id
            documents[id_] = about
            first, second = (chunk.id for chunk in store.document_chunks(id_))
            chunks[first] = {**about, **{n: v for n, v in own.items() if v is not None}}
            chunks[second] = about

        @given(trees)
        @settings(max_examples=100)
        def agrees(tree: Tree) -> None:
            for where in (read_where(as_text(tree)), read_where(as_data(tree))):
                found = store.matching_chunks(where).tolist()
                assert found == [id_ for id_ in sorted(chunks) if meets(tree, chunks[id_])]
                listed = {document.id for document in store.documents(where=where)}
                assert listed == {id_ for id_ in documents if meets(tree, documents[id_])}

        agrees()
