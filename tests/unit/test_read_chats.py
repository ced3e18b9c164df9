"""Chats that were exported: known by their content, a conversation a document, a turn a piece."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.errors import UnreadableError
from clew.indexing.inputs import read_file
from clew.settings import LimitSettings
from clew.types import Document
from tests.unit.files import SETTINGS, read, read_one, write, zipped


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
