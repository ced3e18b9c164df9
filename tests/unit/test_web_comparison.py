"""Why a passage was not found: what the ranker saw of it, or why it looked at others alone."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import clew
from clew.testing.fakes import HashEmbedder
from clew.web.passages import compare_passages


def test_a_passage_is_compared_whether_it_was_a_candidate_or_not(tmp_path: Path) -> None:
    question = "Who cast the bell of Port Anselm?"
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        store.add_documents(
            clew.Document(source=f"{n}", text=f"Edda Rowe cast bell number {n} of Port Anselm.")
            for n in range(400)
        )
        store.add("Sheep graze upon every quiet hill.", source="sheep")
        found = store.search(question, strategy="graph", limit=2).hits
        first, second = (hit.chunk.id for hit in found)
        (sheep,) = (chunk.id for chunk in store.documents.chunks("sheep"))
        near = compare_passages(store, question, first, [second])
        assert compare_passages(store, question, first, [10**9]) is None
        far = compare_passages(store, question, first, [sheep])

    assert near is not None
    assert far is not None
    assert near.was_candidate
    assert near.reasons == []
    assert all(None not in (feature.first, feature.other) for feature in near.features)
    assert all(a.difference >= b.difference for a, b in pairwise(near.features))
    words = {f.name: (f.first, f.other) for f in far.features}
    assert not far.was_candidate
    assert "none of the question's words" in far.reasons[0]
    assert words["share of the question's words in it"][1] == 0
    assert (words["share of the question's words in it"][0] or 0) > 0.5
    assert words["how often walks along names come by"][1] is None
