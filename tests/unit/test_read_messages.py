"""Mail, and chats that were exported.

Chats are known by their content; a conversation is a document, a turn a piece.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.errors import UnreadableError
from clew.indexing.inputs import read_file
from clew.indexing.reading.files import find_files
from clew.plugins.mail.parts import passages
from clew.settings import LimitSettings
from clew.types import Document
from tests.unit.files import SETTINGS, read, read_one, write, zipped
from tests.unit.test_engine import CountingEmbedder


def turns(document: Document) -> list[tuple[str, str, str]]:
    """(speaker, day and minute, text) of each piece, as it would be found."""
    return [
        (
            piece.metadata["speaker"],
            piece.metadata.get("created_at", "")[:16],
            document.text[piece.start : piece.end],
        )
        for piece in document.pieces
    ]


# --- Slack ---------------------------------------------------------------------------------

USERS = [{"id": "U1", "name": "ada", "profile": {"real_name": "Ada Ray"}}]


def said(user: str, text: str, ts: str, **more: object) -> dict[str, object]:
    return {"type": "message", "user": user, "text": text, "ts": ts, **more}


OPENED = "1577959200.000100"
BOB = {"user_profile": {"real_name": "Bob Stone"}}
DAY = [
    said("U1", "Lens &amp; tower: <https://x.org|plan>", OPENED, thread_ts=OPENED),
    said("U2", "Crane?", "1577959260.0", **BOB),
    said("U2", "Yes <@U1>, in <#C1|harbour>", "1577962800.0", thread_ts=OPENED),
    said("U2", "<@U2> has joined", "1577962900.0", subtype="channel_join"),
]


def test_a_day_of_a_slack_channel_is_one_conversation(tmp_path: Path) -> None:
    write(tmp_path, "users.json", text=json.dumps(USERS))
    write(tmp_path, "channels.json", text="[]")
    document = read_one(tmp_path / "harbour" / "2020-01-02.json", DAY)
    told = {
        "title": "#harbour, 2020-01-02",
        "created_at": datetime(2020, 1, 2, 10, tzinfo=UTC),
        **{"date_source": "message", "date_precision": "time"},
    }
    assert {name: getattr(document, name) for name in told} == told
    assert document.metadata["participants"] == ["Ada Ray", "Bob Stone"]
    assert turns(document) == [
        ("Ada Ray", "2020-01-02T10:00", "Ada Ray: Lens & tower: plan (https://x.org)"),
        # The reply follows what it answers.
        ("Bob Stone", "2020-01-02T11:00", "Bob Stone: Yes @Ada Ray, in #harbour"),
        ("Bob Stone", "2020-01-02T10:01", "Bob Stone: Crane?"),
    ]
    assert document.text.endswith("@Bob Stone has joined")


def test_the_lists_of_an_unpacked_slack_export_are_no_documents(tmp_path: Path) -> None:
    lists = {
        "users.json": USERS,
        "channels.json": [{"id": "C1", "name": "harbour", "members": ["U1"]}],
    }
    other = [*USERS, {"id": "U2", "email": "bob@example.org"}]
    # Alone, or with other things in them, files of these names are anybody's.
    assert read_one(tmp_path / "users.json", USERS).text
    assert read(tmp_path / "channels.json", [{"id": 1, "wavelength": 500}]).documents
    assert read(tmp_path / "users.json", other).documents

    for name, value in lists.items():
        with pytest.raises(UnreadableError, match="a list of a Slack export"):
            read(tmp_path / name, value)


def test_a_slack_export_as_an_archive(tmp_path: Path) -> None:
    members = {
        "users.json": json.dumps(USERS),
        "harbour/2020-01-02.json": json.dumps(DAY),
        "harbour/2020-01-03.json": "[{",
    }
    found = read(tmp_path / "export.zip", zipped(members))
    (document,) = found.documents
    assert document.source == f"{document.origin}#harbour/2020-01-02"
    assert document.title == "#harbour, 2020-01-02"
    assert document.pieces[0].metadata["speaker"] == "Ada Ray"
    assert [s.source.rpartition("#")[2] for s in found.skipped] == ["harbour/2020-01-03.json"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (zipped({"photo.png": "x"}), "no export of a chat"),
        (b"PK\x03\x04 broken", "not a ZIP"),
        (
            zipped({"conversations.json": "[" + " " * 60_000_000 + "]"}),
            "unpacks to more than 50 MB",
        ),
    ],
    ids=["photo", "broken", "bomb"],
)
def test_archives_that_are_no_chat_are_told(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read(tmp_path / "a.zip", content)


# --- Discord -------------------------------------------------------------------------------


def test_a_discord_channel_is_one_conversation(tmp_path: Path) -> None:
    author = {"id": "1", "name": "ada", "nickname": "Ada"}
    time = "2020-01-02T10:00:00+00:00"
    first = {"id": "9", "type": "Default", "timestamp": time, "author": author}
    reply = {"author": {"name": "bob"}, "reference": {"messageId": "9"}}
    value = {
        "guild": {"id": "1", "name": "Lighthouse"},
        "channel": {"id": "2", "name": "general", "topic": "All of it"},
        "messages": [
            {**first, "content": "Look", "attachments": [{"fileName": "plan.pdf"}]},
            {**first, "id": "10", "type": "Reply", "content": "Fine", **reply},
            {**first, "id": "11", "type": "GuildMemberJoin", "content": "joined"},
        ],
    }  # fmt: skip
    document = read_one(tmp_path / "a.json", value)
    assert (document.title, document.source) == ("#general, Lighthouse", str(tmp_path / "a.json"))
    assert turns(document) == [
        ("Ada", "2020-01-02T10:00", "Ada: Look\n[plan.pdf]"),
        ("bob", "2020-01-02T10:00", "bob: Fine"),
    ]
    assert document.pieces[1].metadata["replies_to"] == "9"


# --- WhatsApp ------------------------------------------------------------------------------

LOG = """\
commit 6dfb65de949cdd0a5d198edee9a118f265924f33 (HEAD -> main, tag: v2)
Author: Ada Ray <ada@example.org>
Date:   Thu Feb 2 23:21:54 2023 +1100

    crank versions

    commit messages may have paragraphs

 pack.spec | 2 +-

commit d07cfb1
Merge: 1234567 89abcde
Author:     bob@example.org <bob@example.org>
AuthorDate: 2023-01-19 07:53:45 +0000
Commit:     Ada Ray <ada@example.org>
CommitDate: 2023-01-20 07:53:45 +0000

    fix the lamp
"""
IOS = """\u200e[02/01/2020, 10:00:01] Harbour: \u200eMessages are end-to-end encrypted.
[02/01/2020, 10:00:05] Ada Ray: The lens: it came.
It is whole.
[13/01/2020, 22:10:00] ~\u202fBob: Good
"""


def test_whatsapp_of_ios(tmp_path: Path) -> None:
    document = read_one(tmp_path / "WhatsApp Chat - Harbour" / "_chat.txt", IOS)
    assert document.title == "WhatsApp chat: Harbour"
    assert turns(document)[1:] == [
        ("Ada Ray", "2020-01-02T10:00", "Ada Ray: The lens: it came.\nIt is whole."),
        ("Bob", "2020-01-13T22:10", "Bob: Good"),
    ]


@pytest.mark.parametrize(
    ("first", "second", "times"),
    [
        ("02/01/2020, 10:00 - ", "13/01/2020, 10:00 - ", "01-02T10:00 01-13T10:00"),
        ("1/2/20, 12:05 AM - ", "1/13/20, 12:05 PM - ", "01-02T00:05 01-13T12:05"),
        ("1/2/20, 10:00\u202fpm - ", "2/1/20, 1:05\u202fam - ", "01-02T22:00 02-01T01:05"),
        ("02.01.20, 10:00 - ", "01.02.20, 10:00 - ", "01-02T10:00 02-01T10:00"),
        ("31/1/20, 10:00 a. m. - ", "2/2/20, 11:05 p.m. - ", "01-31T10:00 02-02T23:05"),
        ("2020-01-02, 10:00 - ", "2020-02-01, 10:00 - ", "01-02T10:00 02-01T10:00"),
        ("[2020/01/02, 10:00:00] ", "[2020/02/01, 10:00:00] ", "01-02T10:00 02-01T10:00"),
        # Neither number tells: time does not run back, whatever the signs.
        ("3/4/20, 10:00 PM - ", "1/5/20, 10:00 PM - ", "04-03T22:00 05-01T22:00"),
        ("4/3/20, 10:00 - ", "5/1/20, 10:00 - ", "04-03T10:00 05-01T10:00"),
        ("1/2/20, 10:00 PM - ", "1/2/20, 10:00 PM - ", "01-02T22:00 01-02T22:00"),
        ("1/2/20, 10:00 - ", "1/2/20, 10:00 - ", "02-01T10:00 02-01T10:00"),
    ],
)
def test_the_order_of_dates_is_the_whole_chats(
    tmp_path: Path, first: str, second: str, times: str
) -> None:
    document = read_one(tmp_path / "a.txt", f"{first}Ada: one\n{second}Bob: two\n")
    assert [time[5:] for _, time, _ in turns(document)] == times.split()


def test_notices_are_no_turns(tmp_path: Path) -> None:
    text = "13/1/20, 10:00 - Ada joined\n13/1/20, 10:01 - Ada: hi\n40/1/20, 10:01 - Ada: when?\n"
    document = read_one(tmp_path / "WhatsApp Chat with Ada Ray.txt", text)
    assert document.title == "WhatsApp chat: Ada Ray"
    assert turns(document) == [("Ada", "2020-01-13T10:01", "Ada: hi"), ("Ada", "", "Ada: when?")]
    assert document.text.startswith("Ada joined\n\n")


@pytest.mark.parametrize(
    "text",
    [
        "12/01/2020, 10:00 - the meeting opens\n",
        "Log of the tower\n12/01/2020, 10:00 - Ada: here\n",
        "[12/01/2020, 10:00:00] start\n[12/01/2020, 10:00:01] end\n",
        "commit 6dfb65de and push it\n",
        "commit 6dfb65d\n\nAuthor: Ada\n",
        f"A log:\n\n{LOG}",
    ],
)
def test_a_text_with_dates_or_commits_stays_a_text(tmp_path: Path, text: str) -> None:
    document = read_one(tmp_path / "a.txt", text)
    assert (document.media_type, document.pieces) == ("text/plain", ())


# --- assistants ----------------------------------------------------------------------------


def node(name: str, parent: str | None, role: str, text: str, **more: object) -> dict[str, object]:
    content = {"content_type": "text", "parts": [text]}
    about = {"author": {"role": role}, "content": content, "create_time": 1577959200.5, **more}
    return {"id": name, "parent": parent, "message": about}


def test_chatgpt_shows_the_branch_that_was_shown(tmp_path: Path) -> None:
    mapping = {
        "root": {"id": "root", "parent": None, "message": None},
        "s": node("s", "root", "system", "Be kind."),
        "a": node("a", "s", "user", "What is a lens?"),
        "b": node("b", "a", "assistant", "An old answer."),
        "c": node("c", "a", "assistant", "Bent glass."),
        "t": node("t", "c", "assistant", "search()", recipient="browser"),
        "d": node("d", "t", "user", "Thanks."),
    }
    circle = {"x": node("x", "y", "user", "Round"), "y": node("y", "x", "assistant", "and round")}
    exported = [
        {"title": "Lenses", "conversation_id": "k1", "mapping": mapping, "current_node": "d"},
        {"title": "Loop", "id": "k2", "mapping": circle},
    ]
    found = read(tmp_path / "conversations.json", exported).documents
    assert [(one.source, one.title) for one in found] == [
        (f"{tmp_path / 'conversations.json'}#k1", "Lenses"),
        (f"{tmp_path / 'conversations.json'}#k2", "Loop"),
    ]
    assert [[text for *_, text in turns(one)] for one in found] == [
        ["User: What is a lens?", "ChatGPT: Bent glass.", "User: Thanks."],
        ["User: Round", "ChatGPT: and round"],
    ]
    assert found[0].created_at == datetime(2020, 1, 2, 10, 0, 0, 500_000, tzinfo=UTC)


def test_claude_conversations(tmp_path: Path) -> None:
    messages = [
        {"sender": "human", "text": "", "content": [{"type": "text", "text": "How high?"}],
         "created_at": "2020-01-02T10:00:00Z", "attachments": [{"file_name": "plan.pdf"}]},
        {"sender": "assistant", "text": "Forty metres.", "created_at": "2020-01-02T10:01:00Z"},
    ]  # fmt: skip
    talk = {"uuid": "u1", "name": "Towers", "chat_messages": messages}
    document = read_one(tmp_path / "conversations.json", [talk])
    assert (document.title, document.source) == ("Towers", f"{document.origin}#u1")
    assert turns(document) == [
        ("User", "2020-01-02T10:00", "User: How high?\n\n[plan.pdf]"),
        ("Claude", "2020-01-02T10:01", "Claude: Forty metres."),
    ]


@pytest.mark.parametrize(
    "value",
    [
        [{"text": "one", "id": 1}, {"text": "two", "id": 2}],
        {"messages": [{"text": "x"}], "channel": "general"},
        [{"type": "message", "ts": "soon", "text": "x"}],
        {"mapping": {"a": 1}, "name": "a map"},
        [{"title": "x", "mapping": "none", "text": "y"}],
    ],
)
def test_any_other_json_reads_as_before(tmp_path: Path, value: object) -> None:
    for document in read(tmp_path / "a.json", value).documents:
        assert document.media_type in {"application/json", "text/plain"}
        assert document.pieces == ()


SLACK = {"user": 7, "text": ["x"], "files": [3], "user_profile": 1, "ts": OPENED}
NODE: dict[str, object] = {"message": {"author": {"role": []}, "content": {}}}
ODD: dict[str, object] = {
    "slack": [{"type": "message", **SLACK}],
    "discord": {"guild": {}, "channel": {}, "messages": [3, {"author": 1, "embeds": [{}]}]},
    "chatgpt": [{"title": 3, "mapping": {"a": 1, "b": NODE}}],
    "claude": [{"chat_messages": [None, {"sender": 1, "content": [1, {"text": 2}]}]}],
}


@pytest.mark.parametrize("export", ODD.values(), ids=ODD)
def test_odd_exports_say_nothing_and_fail_in_no_odd_way(tmp_path: Path, export: object) -> None:
    with pytest.raises(UnreadableError, match="empty"):
        read(tmp_path / "a.json", export)


def test_a_chat_with_too_many_turns_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", text="13/1/20, 10:01 - Ada: hi\n" * 20)
    with pytest.raises(UnreadableError, match="20 chunks, limit 10"):
        read_file(tmp_path / "a.txt", SETTINGS, limits=LimitSettings(chunks=10))


# --- Git -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "date", "time"),
    [
        ("log.txt", "Thu Feb 2 23:21:54 2023 +1100", "2023-02-02T12:21"),
        ("changelog", "Thu Feb 2 23:21:54 2023 +1100", "2023-02-02T12:21"),
        # A date that nobody reads is none.
        ("git.log", "2 days ago", ""),
    ],
)
def test_a_git_log_is_what_its_authors_say_at_their_dates(
    tmp_path: Path, name: str, date: str, time: str
) -> None:
    found = read_one(tmp_path / name, LOG.replace("Thu Feb 2 23:21:54 2023 +1100", date))
    assert turns(found) == [
        (
            "Ada Ray",
            time,
            "Ada Ray: crank versions\n\ncommit messages may have paragraphs\n\n pack.spec | 2 +-"
            "\n\ncommit 6dfb65d",
        ),
        ("bob@example.org", "2023-01-19T07:53", "bob@example.org: fix the lamp\n\ncommit d07cfb1"),
    ]
    assert [piece.metadata["commit"][:7] for piece in found.pieces] == ["6dfb65d", "d07cfb1"]
    assert found.title == f"Git log: {Path(name).stem}"


# --- Mail, in files, mailboxes and stores.


# --- Mail: what a message says of itself, whose words its text holds, and mailboxes that
# grow.


HEAD = """From: "Ada Ray" <Ada@X.org>
To: Bob Stone <bob@y.org>, carla@z.org
Cc: =?utf-8?q?J=C3=B6rg_M=C3=BCller?= <jm@q.de>
Subject: =?utf-8?b?R3LDvMOfZSBhdXMgS8O2bG4=?=
Date: Thu, 2 Jan 2020 10:00:00 +0100
Message-ID: <m2@x.org>
In-Reply-To: <m1@y.org>
References: <m0@y.org> <m1@y.org>
"""


def searched(document: Document) -> list[str]:
    """What is embedded: the pieces, or the whole."""
    texts = [document.text[piece.start : piece.end].strip() for piece in document.pieces]
    return texts or [document.text]


# --- header --------------------------------------------------------------------------------


def test_a_message_says_who_wrote_to_whom_when_and_in_which_thread(tmp_path: Path) -> None:
    document = read_one(tmp_path / "a.eml", f"{HEAD}\nThe tower stands.\n")
    assert document == Document(
        source=str(tmp_path / "a.eml"),
        read_from="file",
        title="Grüße aus Köln",
        text="From: Ada Ray <ada@x.org>\nTo: Bob Stone, carla@z.org\nCc: Jörg Müller\n"
        "Date: 2020-01-02 10:00\n\nThe tower stands.",
        media_type="message/rfc822",
        sha256=document.sha256,
        created_at=datetime(2020, 1, 2, 9, tzinfo=UTC),
        updated_at=document.updated_at,
        date_source="metadata",
        date_precision="time",
        metadata={
            "author": "Ada Ray",
            "from": ["Ada Ray", "ada@x.org"],
            "to": ["Bob Stone", "bob@y.org", "carla@z.org"],
            "cc": ["Jörg Müller", "jm@q.de"],
            "message_id": "m2@x.org",
            "in_reply_to": "m1@y.org",
            "thread": "m0@y.org",
            "date": "2020-01-02T10:00:00+01:00",
        },
    )


RECEIVED = "Received: by mx.x.org; Thu, 2 Jan 2020 10:00:05 +0000\n"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        # people as mail programs write them
        *(
            (f"From: {value}\n", {"from": named})
            for value, named in (
                ('"Ray, Ada" <ada@x.org>', ["Ada Ray", "ada@x.org"]),
                ("ada@x.org (Ada Ray)", ["Ada Ray", "ada@x.org"]),
                ("ada at x.org (Ada Ray)", ["Ada Ray", "ada@x.org"]),
                ('"ada@x.org" <ada@x.org>', ["ada@x.org"]),
                ("=?iso-8859-1?q?Andr=E9?= <a@x.org>", ["André", "a@x.org"]),
                ("=?no-such-code?q?Andr=E9?= <a@x.org>", ["=?no-such-code?q?Andr=E9?=", "a@x.org"]),
                ("Ada Ray via Users <list@x.org>", ["Ada Ray", "list@x.org"]),
            )
        ),
        # a header in bare bytes, words in a wrong encoding
        *(
            (
                "From: Jörg <j@x.org>\nSubject: Grüße\n".encode(encoding),
                {"from": ["Jörg", "j@x.org"], "title": "Grüße"},
            )
            for encoding in ("utf-8", "latin-1")
        ),
        (
            "From: a@b.c\nSubject: =?gb2312?B?1MKw?= =?utf-8?q?_so?=\n",
            {"title": "月\ufffd so"},
        ),
        # a date that is none leaves the one of receipt
        (f"{RECEIVED}Date: yesterday\nFrom: a@b.c\n", {"date": "2020-01-02T10:00:05+00:00"}),
        ("Date: 99 Foo\nFrom: a@b.c\n", {"date": None}),
    ],
)
def test_a_header_says_what_can_be_read_of_it(
    tmp_path: Path, head: str | bytes, expected: dict[str, object]
) -> None:
    data = head.encode() if isinstance(head, str) else head
    document = read_one(tmp_path / "a.eml", data + b"\nx\n")
    known = {"title": document.title, **document.metadata}
    assert {name: known.get(name) for name in expected} == expected


def test_a_mailbox_says_when_its_messages_came(tmp_path: Path) -> None:
    text = "From a@b Thu Jan  2 10:00:05 2020\nFrom: a@b.c\nSubject: x\n\nx\n"
    other = text.replace("10:00:05", "11:11:11").replace("From a@b", "From -")
    document, again = (read_one(tmp_path / "a.mbox", one) for one in (text, other))
    assert document.created_at == datetime(2020, 1, 2, 10, 0, 5, tzinfo=UTC)
    assert (again.source, again.sha256) == (document.source, document.sha256)


# --- parts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "body", "text"),
    [
        ("Content-Type: text/plain; charset=koi8-r", "Привет".encode("koi8-r"), "Привет"),
        ("Content-Type: text/plain; charset=iso-2022-jp", "日本語".encode("iso-2022-jp"), "日本語"),
        ("Content-Type: text/html", "<p>Hé <b>llo</b></p><script>x</script>".encode(), "Hé llo"),
        ("Content-Transfer-Encoding: base64", b"SGVsbG8=\n", "Hello"),
        ("Content-Type: text/plain; charset=punycode", b"Hello\n", "Hello"),
    ],
)
def test_encodings_and_html_become_text(
    tmp_path: Path, fields: str, body: bytes, text: str
) -> None:
    document = read_one(tmp_path / "a.eml", f"From: a@b.c\n{fields}\n\n".encode() + body)
    assert document.text == f"From: a@b.c\n\n{text}"


MIXED = """From: a@b.c
Content-Type: multipart/mixed; boundary=out

--out
Content-Type: multipart/alternative; boundary=in

--in
Content-Type: text/plain

Plain words.
--in
Content-Type: text/html

<p>Rich words.</p>
--in--
--out
Content-Type: text/plain; name=notes.txt
Content-Disposition: attachment; filename="notes.txt"

Notes of the harbour.
--out
Content-Type: image/png; name="=?utf-8?q?pl=C3=A4ne=2Epng?="
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--out
Content-Type: message/rfc822

From: Carla Ruiz <carla@z.org>
Subject: Old news
Date: Wed, 1 Jan 2020 08:00:00 +0000

The crane fell.
--out--
"""


def test_parts_are_read_once_and_attachments_are_named(tmp_path: Path) -> None:
    document = read_one(tmp_path / "a.eml", MIXED)
    words = ("Plain words.", "Notes of the harbour.", "The crane fell.")
    own, notes, news = (piece.metadata for piece in document.pieces)
    assert "Rich" not in document.text
    assert document.metadata["attachments"] == ["notes.txt", "pläne.png"]
    assert [w in text for w, text in zip(words, searched(document), strict=True)] == [True] * 3
    assert (own, notes) == ({}, {"attachment": "notes.txt"})
    told = {"author": ["Carla Ruiz", "quoted by a@b.c"], "date": "2020-01-01T08:00:00+00:00"}
    assert news.items() >= told.items()


# --- quotations ----------------------------------------------------------------------------

REPLY = """I agree.

On Thu, 2 Jan 2020 at 10:00, Ada Ray <ada@x.org> wrote:
> The lens costs 4,000.
>> Older still.

But March is late.

-- 
Bob Stone
Harbour Office
"""


def test_passages_are_the_text_whatever_it_is() -> None:
    draw = random.Random(3)
    lines = [*REPLY.split("\n"), "-----Original Message-----", "From: Ada", "Sent: now", "--", ""]
    lines += ["Subject: x", "Begin forwarded message:", "Am 2.1. schrieb Ada:", ">", "_" * 47]
    for _ in range(500):
        text = "\n".join(draw.choice(lines) for _ in range(draw.randrange(1, 30)))
        assert "\n".join(passage.text for passage in passages(text)) == text


ORIGINAL = "-----Original Message-----\nFrom: Ada Ray <a@x.org>\nSent: now\nSubject: x"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (REPLY, ["I agree.", "reply by Ada Ray", "But March is late.", "signature by "]),
        # what follows a separator is another message
        *(
            (f"My own words.\n\n{opening}\n\nHers.\nAll of them.", ["My own words.", quoted])
            for opening, quoted in (
                (ORIGINAL, "reply by Ada Ray"),
                ("Von: Ada Ray <a@x.org>\nGesendet: heute\nBetreff: x", "reply by Ada Ray"),
                (
                    "---------- Forwarded message ---------\nFrom: Ada Ray <a@x.org>",
                    "forward by Ada Ray",
                ),
                ("Begin forwarded message:\n\nFrom: a@x.org", "forward by a@x.org"),
                ("On Jan 2, 2020, Ada Ray wrote:", "reply by Ada Ray"),
            )
        ),
        # the line above a quotation says whose it is
        *(
            (f"Thanks!\n\n{line}\n\n> It is so.", ["Thanks!", "reply by Ada Ray"])
            for line in (
                "On Thu, 2 Jan 2020 at 10:00 AM Ada Ray <ada@x.org> wrote:",
                "On Thu, Jan 2, 2020, Ada Ray\n<ada@x.org> wrote:",
                "Am 02.01.2020 um 10:00 schrieb Ada Ray <ada@x.org>:",
                "Le jeu. 2 janv. 2020 à 10:00, Ada Ray <ada@x.org> a écrit :",
                "Ada Ray writes:",
                '02.01.2020 14:20 "Ada Ray" <\nada@x.org> wrote:',
            )
        ),
        # ordinary text is the sender's own
        *(
            (text, [text])
            for text in (
                "She wrote:\nthat it is so.",
                "From: the harbour to the tower\nit is a mile.",
                "a -- b\n--" + "\nmore" * 20,
                "2 > 1\n  and so on",
            )
        ),
        # a quotation may say itself whose it is
        ("Hi\n> From: Ada Ray <a@x.org>\n> To: me\n> So.", ["Hi", "reply by Ada Ray"]),
        ("Hi\n> On 2 Jan, Ada Ray wrote:\n> So.", ["Hi", "reply by Ada Ray"]),
        ("Hi\n> On 2 Jan, Ada Ray wrote:\n>> So.\n> Not so.", ["Hi", "reply by "]),
    ],
)
def test_whose_words_the_passages_are(text: str, expected: list[str]) -> None:
    found = [one for one in passages(text) if one.text.strip()]
    assert expected == [
        one.text.strip() if one.kind == "own" else f"{one.kind} by {one.author}" for one in found
    ]


def test_an_answer_below_its_quotation_is_one_passage(tmp_path: Path) -> None:
    text = "From: a@b.c\n\nOn 2 Jan, Ada Ray wrote:\n> So.\n\nNot so.\n\nSent from my lens\n"
    document = read_one(tmp_path / "a.eml", text)
    quoted, own = document.pieces
    assert quoted.metadata["author"] == ["Ada Ray", "quoted by a@b.c"]
    assert (own.metadata, searched(document)[1]) == ({}, "Not so.")


# --- mailboxes -----------------------------------------------------------------------------


def message(number: int, body: str, answers: str = "") -> str:
    reply = f"In-Reply-To: <{answers}@x>\n" if answers else ""
    return (
        f"From a@b Thu Jan  2 10:00:0{number} 2020\nFrom: Ada Ray <a@b.c>\nSubject: S{number}\n"
        f"Message-ID: <{number}@x>\n{reply}\n{body}\n\n"
    )


@pytest.mark.parametrize("name", ["a.mbox", "Inbox", "2019-March.txt"])
def test_a_mailbox_is_a_document_for_each_message(tmp_path: Path, name: str) -> None:
    text = message(1, ">From the sea.\n\nFrom Rome it comes.") + message(2, "Second.")
    # A message that is there twice is read once.
    first, *others = read(tmp_path / name, text + message(2, "Second.") + message(2, "3")).documents
    assert [d.title for d in others] == ["S2", "S2"]
    assert [d.source for d in (first, *others)] == [
        f"{first.origin}#{place}" for place in ("1@x", "2@x", "2@x~2")
    ]
    assert first.text.endswith("From the sea.\n\nFrom Rome it comes.")


def test_a_quotation_is_searched_only_where_its_message_is_missing(tmp_path: Path) -> None:
    answer = message(2, "Yes.\n\n> The lens costs 4,000.", "1")
    both = message(1, "The lens costs 4,000.") + answer
    first, second = read(tmp_path / "both.mbox", both).documents
    alone = read_one(tmp_path / "alone.mbox", answer)
    # Of a Maildir, every message that is quoted is held.
    mail = answer.partition("\n")[2]
    held = read_one(tmp_path / "Mail" / "cur" / "1577.host:2,S", mail)
    single = read_one(tmp_path / "a.eml", mail)

    assert "4,000" in second.text
    found = ["4,000" in "".join(searched(one)) for one in (first, second, alone, held, single)]
    assert found == [True, False, True, False, True]
    (piece,) = [piece for piece in alone.pieces if piece.metadata.get("quoted")]
    assert piece.metadata["author"] == ["someone", "quoted by Ada Ray"]


def test_of_a_maildir_only_delivered_mail_is_found(tmp_path: Path) -> None:
    for folder in ("Mail", "Mail/.Sent"):
        mails = (f"{folder}/{name}/1577.host" for name in ("cur", "new", "tmp"))
        write(tmp_path, *mails, f"{folder}/dovecot-uidlist")
    write(tmp_path, "Mail/.hidden/a.txt", "Inbox.msf")
    found = [f.relative_to(tmp_path).as_posix() for f in find_files([tmp_path], settings=SETTINGS)]
    folders = ("Mail/.Sent/cur", "Mail/.Sent/new", "Mail/cur", "Mail/new")
    assert found == [f"{folder}/1577.host" for folder in folders]


def test_broken_mail_is_told_and_stops_nothing(tmp_path: Path) -> None:
    deep = "".join(
        f'Content-Type: multipart/mixed; boundary="b{i}"\n\n--b{i}\n' for i in range(2_000)
    )
    bad = f"From a@b Thu Jan  2 10:00:00 2020\nFrom: a@b.c\n{deep}\n"
    found = read(tmp_path / "a.mbox", message(1, "One.") + bad + "\n\n" + message(2, "Two."))
    assert [d.title for d in found.documents] == ["S1", "S2"]
    assert [s.reason for s in found.skipped] == ["malformed (nested too deeply)"]
    with pytest.raises(UnreadableError, match="no header"):
        read(tmp_path / "b.eml", "\n\nwords alone")


@pytest.mark.parametrize(
    "text",
    ["From Rome to Paris, at 10:00 sharp.\n\nA journey.", "From: here\nTo: there\n\nA walk."],
)
def test_texts_that_only_look_like_mail_stay_texts(tmp_path: Path, text: str) -> None:
    document = read_one(tmp_path / "a.txt", text)
    assert (document.media_type, document.text) == ("text/plain", text)


@pytest.mark.parametrize(
    "head",
    [
        "Subject: " + "word " * 200_000,
        "To: " + ",".join(f'"N {i}" <u{i}@x.org>' for i in range(100_000)),
        "To: " + "," * 1_000_000,
        "To: " + '"\\' * 500_000,
        "References: " + "<a@b> " * 40_000,
        "Content-Type: text/plain; " + ';"' * 100_000,
        "X-A: b\n" * 20_000,
    ],
    ids=lambda head: head[:12],
)
def test_a_vast_header_is_cut_and_the_text_is_read(tmp_path: Path, head: str) -> None:
    document = read_one(tmp_path / "a.eml", f"From: a@b.c\n{head.strip()}\n\nThe words.\n")
    assert document.text.endswith("The words.")
    assert len(document.title) <= 16_000
    assert len(document.metadata.get("to", ())) <= 2_000


# --- Mail and chats in a store: found by who and when, growing with their file.


def indexed_message(number: int, sender: str, body: str, answers: int | None = None) -> str:
    address = sender.split()[0].casefold()
    reply = f"Subject: Re: Lens\nIn-Reply-To: <{answers}@x.org>\n" if answers else "Subject: Lens\n"
    return (
        f"From {address}@x.org Thu Jan  {number} 10:00:00 2020\n"
        f"From: {sender} <{address}@x.org>\nTo: Carla Ruiz <carla@z.org>\n"
        f"Date: Thu, {number} Jan 2020 10:00:00 +0000\n"
        f"Message-ID: <{number}@x.org>\n{reply}\n{body}\n\n"
    )


FIRST = indexed_message(2, "Ada Ray", "The lens costs four thousand.")
SECOND = indexed_message(3, "Bob Stone", "Too dear.\n\n> The lens costs four thousand.", 2)


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


def test_hits_show_who_wrote_and_when_and_filters_ask_for_it(
    store: clew.Clew, mailbox: Path
) -> None:
    def found(query: str, **asked: Any) -> list[tuple[str, str]]:  # noqa: ANN401
        hits = store.search(query, strategy="keyword", **asked).hits
        return [(one.provenance.author, one.provenance.date[:10]) for one in hits if one.provenance]

    ada, bob = ("Ada Ray", "2020-01-02"), ("Bob Stone", "2020-01-03")
    assert found("lens", where=["from=ada@x.org"]) == [ada]
    assert set(found("Too dear", since="2020-01-03", until="2020-01-03")) == {bob}
    assert found("lens", where=["to=nobody@x.org"]) == []
    # A quotation is found in its own message alone.
    assert found("costs four thousand") == [ada]


def test_people_of_mail_are_entities_with_their_addresses(store: clew.Clew, mailbox: Path) -> None:
    ada = store.entities.get("ada@x.org")
    assert (ada.name, ada.entity_type) == ("Ada Ray", "person")
    stated = {(one.tail, one.relation) for one in store.graph.relations("Ada Ray")}
    assert {("Lens", "sent"), ("Carla Ruiz", "wrote_to")} <= stated
    # Made again from the store, the message states the same.
    found = store.tools.call("extract_entity_relationships", {"entity_id": ada.id})
    assert found.content["relationships_found"] == 2


def test_the_turns_of_a_chat_are_found_with_speaker_and_time(
    tmp_path: Path, store: clew.Clew
) -> None:
    write(tmp_path, "chat.txt", text="13/1/20, 10:00 - Ada Ray: The crane fell.\n"
          "13/1/20, 10:01 - Bob Stone: When?\n")  # fmt: skip
    store.index([tmp_path / "chat.txt"])
    (hit,) = store.search("crane", strategy="keyword", where=["speaker=Ada Ray"]).hits
    assert hit.chunk.text == "Ada Ray: The crane fell."
    assert hit.provenance is not None
    assert (hit.provenance.author, hit.provenance.date[:16]) == ("Ada Ray", "2020-01-13T10:00")
    assert store.entities.get("Bob Stone").entity_type == "person"
