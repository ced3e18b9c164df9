"""What mail, chats and minutes state of people by their structure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from clew.indexing.structure.enter import add_structure
from clew.indexing.structure.readers import structure_of
from clew.types import (
    AliasEvidence,
    Chunk,
    ChunkExtraction,
    Document,
    Extraction,
    Mention,
    Piece,
    Structure,
)

SENT = datetime(2020, 1, 2, tzinfo=UTC)
MAIL = Document(
    source="a.mbox#m2@x.org",
    text="From: Ada Ray <ada@x.org>\nTo: Bob Stone, list@z.org\nDate: 2020-01-02 10:00\n\nYes.",
    title="Re: Lens",
    media_type="message/rfc822",
    created_at=SENT,
    metadata={
        "from": ["Ada Ray", "ada@x.org"],
        "to": ["Bob Stone", "bob@y.org", "list@z.org"],
        "in_reply_to": "m1@y.org",
    },
)


def stated(document: Document) -> list[tuple[str, str, str]]:
    return [(s.head, s.relation_type, s.tail) for s in structure_of(document).statements]


def test_a_message_states_who_wrote_to_whom() -> None:
    assert stated(MAIL) == [
        ("Ada Ray", "sent", "Re: Lens"),
        ("Ada Ray", "wrote_to", "Bob Stone"),
        ("Ada Ray", "wrote_to", "list@z.org"),
        ("Re: Lens", "replies_to", "Lens"),
    ]
    found = structure_of(MAIL)
    bob = found.statements[1]
    assert MAIL.text[bob.start : bob.end] == "To: Bob Stone, list@z.org"
    assert (bob.head_type, bob.tail_type, bob.valid_from) == ("person", "person", SENT)
    assert [(a.alias, a.name, a.evidence) for a in found.aliases] == [
        ("ada@x.org", "Ada Ray", '"Ada Ray" <ada@x.org>'),
        ("bob@y.org", "Bob Stone", '"Bob Stone" <bob@y.org>'),
    ]


def test_behind_addresses_of_roles_there_is_no_person() -> None:
    robot = replace(MAIL, metadata={"from": ["Build Server", "no-reply@x.org"]})
    (sent,) = structure_of(robot).statements
    assert sent.head_type == "name"


def test_an_announcement_ties_nobody_to_anybody() -> None:
    everybody = [f"u{i}@x.org" for i in range(500)]
    news = replace(MAIL, metadata={"from": ["Ada Ray", "ada@x.org"], "to": everybody})
    assert stated(news) == [("Ada Ray", "sent", "Re: Lens")]


@pytest.mark.parametrize("metadata", [{}, {"from": "x"}, {"from": [1, None]}, {"to": ["a@b.c"]}])
def test_odd_metadata_states_nothing_odd(metadata: dict[str, object]) -> None:
    for head, relation, tail in stated(replace(MAIL, title="", metadata=metadata)):
        assert relation == "sent"
        assert head
        assert tail


def test_everybody_who_speaks_spoke_in_the_conversation() -> None:
    said = {"created_at": "2020-01-02"}
    turns = [("Ada", 0), ("Bob", 10), ("Ada", 20)]
    pieces = tuple(
        Piece(start=at, end=at + 8, key=str(at), metadata={"speaker": name, **said})
        for name, at in turns
    )
    chat = Document(
        source="a", text="x" * 30, title="#harbour", media_type="text/chat", pieces=pieces
    )
    assert stated(chat) == [("Ada", "spoke_in", "#harbour"), ("Bob", "spoke_in", "#harbour")]
    assert structure_of(chat).statements[0].valid_from == SENT
    assert stated(replace(chat, metadata={"app": "chatgpt"})) == []


MINUTES = """# Harbour board

Present: Ada Ray (chair), Bob Stone and Dr. Carla Ruiz; apologies from none
Tower: closed

Ada: We begin.
Stone: The lens came.
Ruiz: Good.
Note: it rains.
"""


def minutes(text: str) -> list[tuple[str, str, str]]:
    return stated(Document(source="m.md", text=text, title="Board", media_type="text/markdown"))


def test_minutes_state_who_attended_and_who_spoke() -> None:
    found = minutes(MINUTES)
    attended = [head for head, relation, _ in found if relation == "attended"]
    assert attended[:2] == ["Ada Ray", "Bob Stone"]
    spoke = {head for head, relation, _ in found if relation == "spoke_in"}
    assert {"Ada Ray", "Bob Stone"} <= spoke
    assert {tail for *_, tail in found} == {"Board"}


@pytest.mark.parametrize(
    "text",
    [
        "## Attendees\n\n- Ada Ray\n- Bob Stone (remote)\n- the press\n\nText.",
        "**Attendees:** Ada Ray, Bob Stone",
        "* Participants: Ada Ray; Bob Stone; 12 others",
        "In attendance:\n1. Ada Ray\n2. Bob Stone",
    ],
)
def test_lists_of_those_present(text: str) -> None:
    assert minutes(text) == [
        ("Ada Ray", "attended", "Board"),
        ("Bob Stone", "attended", "Board"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Present at the opening was Ada Ray.",
        "The present: a lens, a lamp",
        "Ada: hello\nBob: hello",
        "Participants agreed with Ada Ray, Bob Stone",
    ],
)
def test_prose_states_no_attendance(text: str) -> None:
    assert minutes(text) == []


def test_an_alias_is_mentioned_beside_its_name() -> None:
    text = "From: Ada Ray <ada@x.org>"
    chunks = (Chunk(ordinal=0, section=0, start=0, end=len(text), text=text),)
    ada = Mention(name="Ada Ray", entity_type="person", sentence=0, start=6, end=13, count=2)
    found = Extraction(chunks=(ChunkExtraction(sentences=((0, len(text)),), mentions=(ada,)),))
    aliases = tuple(
        AliasEvidence(alias=alias, name="Ada Ray", method="exact", score=0.95, evidence="x")
        for alias in ("ada@x.org", "ada@home.org")
    )
    entered = add_structure(found, Structure(aliases=aliases), chunks)
    shown, hidden = entered.chunks[0].mentions[1:]
    assert (shown.name, text[shown.start : shown.end]) == ("ada@x.org", "ada@x.org")
    assert (hidden.name, text[hidden.start : hidden.end]) == ("ada@home.org", "Ada Ray")
    assert entered.aliases == aliases
    nobody = replace(aliases[0], name="Nobody Else")
    assert add_structure(found, Structure(aliases=(nobody,)), chunks).chunks == found.chunks
