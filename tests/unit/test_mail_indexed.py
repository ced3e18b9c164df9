"""Mail and chats in a store: found by who and when, growing with their file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.tools.toolbox import TOOLS, Toolbox
from tests.unit.test_engine import CountingEmbedder
from tests.unit.test_tools_documents import Desk


def message(number: int, sender: str, body: str, answers: int | None = None) -> str:
    address = sender.split()[0].casefold()
    reply = "" if answers is None else f"In-Reply-To: <{answers}@x.org>\n"
    return (
        f"From {address}@x.org Thu Jan  {number} 10:00:00 2020\n"
        f"From: {sender} <{address}@x.org>\nTo: Carla Ruiz <carla@z.org>\n"
        f"Subject: {'' if answers is None else 'Re: '}Lens\n"
        f"Date: Thu, {number} Jan 2020 10:00:00 +0000\n"
        f"Message-ID: <{number}@x.org>\n{reply}\n{body}\n\n"
    )


FIRST = message(2, "Ada Ray", "The lens costs four thousand.")
SECOND = message(3, "Bob Stone", "Too dear.\n\n> The lens costs four thousand.", 2)
THIRD = message(5, "Ada Ray", "Then a smaller lens.", 3)


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def store(tmp_path: Path, embedder: CountingEmbedder) -> Iterator[clew.Clew]:
    with clew.open(tmp_path / "store", embedder=embedder) as opened:
        yield opened


@pytest.fixture
def mailbox(tmp_path: Path, store: clew.Clew) -> Path:
    path = tmp_path / "Mail" / "lens.mbox"
    path.parent.mkdir()
    path.write_text(FIRST + SECOND)
    assert store.index([path.parent]).added == 2
    return path


def sources(store: clew.Clew) -> list[str]:
    return sorted(info.source.rpartition("#")[2] for info in store.documents.list())


def test_a_longer_mailbox_adds_what_is_new_and_drops_what_is_gone(
    store: clew.Clew, embedder: CountingEmbedder, mailbox: Path
) -> None:
    assert sources(store) == ["2@x.org", "3@x.org"]
    embedded = embedder.embedded
    mailbox.write_text(FIRST + SECOND + THIRD)
    grown = store.index([mailbox])
    assert (grown.added, grown.changed, grown.unchanged) == (1, 0, 2)
    assert embedder.embedded == embedded + 1
    mailbox.write_text(SECOND + THIRD)
    gone = store.index([mailbox]).gone
    assert [source.rpartition("#")[2] for source in gone] == ["2@x.org"]
    assert sources(store) == ["2@x.org", "3@x.org", "5@x.org"]
    store.index([mailbox], prune=True)
    assert sources(store) == ["3@x.org", "5@x.org"]
    assert {info.origin for info in store.documents.list()} == {str(mailbox)}
    assert store.maintenance.check().problems == ()


def test_hits_show_who_wrote_and_when_and_filters_ask_for_it(
    store: clew.Clew, mailbox: Path
) -> None:
    hits = store.search("lens", strategy="keyword", where=["from=ada@x.org"]).hits
    assert [hit.provenance.author for hit in hits if hit.provenance] == ["Ada Ray"]
    assert hits[0].provenance is not None
    assert hits[0].provenance.date == "2020-01-02T10:00:00+00:00"
    hits = store.search("Too dear", strategy="keyword", since="2020-01-03", until="2020-01-03").hits
    assert {hit.chunk.metadata["author"] for hit in hits} == {"Bob Stone"}
    assert store.search("lens", strategy="keyword", where=["to=nobody@x.org"]).hits == ()


def test_a_quotation_is_found_in_its_own_message_alone(store: clew.Clew, mailbox: Path) -> None:
    hits = store.search("costs four thousand", strategy="keyword").hits
    assert [hit.chunk.source.rpartition("#")[2] for hit in hits] == ["2@x.org"]
    assert "four thousand" in store.documents.text(f"{mailbox}#3@x.org")


def test_people_of_mail_are_entities_with_their_addresses(store: clew.Clew, mailbox: Path) -> None:
    ada = store.entities.get("ada@x.org")
    assert (ada.name, ada.entity_type) == ("Ada Ray", "person")
    neighbors = store.graph.neighbors("Ada Ray")
    stated = {(one.entity.name, one.relation) for one in neighbors}
    assert {("Lens", "sent"), ("Carla Ruiz", "wrote_to")} <= stated
    # Made again from the store, the message states the same.
    found = Toolbox(store, TOOLS, profile="full").call(
        "extract_entity_relationships", {"entity_id": ada.id}
    )
    assert found.content["relationships_found"] == 2


def test_a_mailbox_over_the_tools(tmp_path: Path) -> None:
    (tmp_path / "lens.mbox").write_text(FIRST + SECOND)
    desk = Desk(tmp_path)
    job = desk.call("ingest_document", path="lens.mbox")
    assert desk.finished(job["job_id"])["status"] == "completed"
    listed = desk.call("list_documents")["documents"]
    assert {document["title"] for document in listed} == {"Lens", "Re: Lens"}
    (found,) = desk.call("query_documents", query="Too dear", strategy="keyword")["results"]
    assert found["metadata"]["author"] == "Bob Stone"
    assert found["metadata"]["date"] == "2020-01-03T10:00:00+00:00"


def test_the_turns_of_a_chat_are_found_with_speaker_and_time(
    tmp_path: Path, store: clew.Clew
) -> None:
    day = [
        {"type": "message", "ts": f"{1577959200 + i * 60}.0", "user": user, "text": text,
         "user_profile": {"real_name": user}}
        for i, (user, text) in enumerate((("Ada Ray", "The crane fell."), ("Bob Stone", "When?")))
    ]  # fmt: skip
    path = tmp_path / "harbour" / "2020-01-02.json"
    path.parent.mkdir()
    path.write_text(json.dumps(day))
    store.index([path])
    (hit,) = store.search("crane", strategy="keyword").hits
    assert hit.chunk.text == "Ada Ray: The crane fell."
    assert hit.chunk.metadata["speaker"] == "Ada Ray"
    assert hit.provenance is not None
    assert (hit.provenance.author, hit.provenance.date[:16]) == ("Ada Ray", "2020-01-02T10:00")
    (only,) = store.search("fell", strategy="keyword", where=["speaker=Ada Ray"]).hits
    assert only.chunk.public_id == hit.chunk.public_id
    assert store.entities.get("Bob Stone").entity_type == "person"
