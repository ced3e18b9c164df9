"""What language models were asked, kept on a server as in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clew.ports.models import LoggedReply
from clew.stores.neo4j.store import Neo4jStore
from clew.stores.sqlite.store import SqliteStore
from clew.stores.state import Replies
from clew.testing.entries import EMBEDDER, make_entry
from clew.types.results import Usage
from tests.contract.neo4j_stores import OnNeo4j

ENTRY = LoggedReply(
    key="a",
    task="extract",
    model="small",
    subject="d1#0",
    documents=("d1",),
    reason="",
    reply='{"text": "yes"}',
    characters=40,
    usage=Usage(input_tokens=12, cached_tokens=8, output_tokens=5),
    cost=0.25,
    seconds=1.5,
    at="2026-01-02T03:04:05+00:00",
)


class TestReplies(OnNeo4j):
    def test_both_stores_keep_the_same(self, store: Neo4jStore, tmp_path: Path) -> None:
        here = SqliteStore(tmp_path / "file", embedder=EMBEDDER)
        for one in (here, store):
            one.save(make_entry("diary", "Ada kept bees."))
        assert steps(here) == steps(store)
        here.close()


def steps(store: Neo4jStore | SqliteStore) -> list[object]:
    """All that can be asked of the log, and what comes back."""
    replies, generation = Replies(store.backend), store.generation()
    (document,) = store.documents()
    replies.record(ENTRY)
    replies.record(replace(ENTRY, key="b", reason="empty", reply="", cost=None))
    replies.record(replace(ENTRY, key="c", documents=(document.id,), at="2026-01-03T00:00:00"))
    seen: list[object] = [
        replies.find("a", counted=True),
        replies.find("a", counted=False),
        replies.find("b", counted=True),
        replies.find("x", counted=True),
        replies.entries(),
        store.generation() - generation,
    ]
    replies.record(replace(ENTRY, key="b"))
    seen.append(replies.find("b", counted=False))
    store.delete([document.id])
    seen += [[entry.key for entry in replies.entries()], replies.clear(), replies.entries()]
    assert seen[0] == ENTRY
    assert seen[-3:] == [["a", "b"], 2, []]
    return seen
