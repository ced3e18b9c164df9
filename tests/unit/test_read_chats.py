"""Chats that were exported: known by their content, a conversation a document, a turn a piece."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.errors import UnreadableError
from clew.indexing.reading.reader import read_file
from clew.settings import LimitSettings, ReadSettings
from clew.types import Document

SETTINGS = ReadSettings()


def read(path: Path, content: object) -> tuple[Document, ...]:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return read_file(path, SETTINGS).documents


def read_one(path: Path, content: object) -> Document:
    (document,) = read(path, content)
    return document


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
    (tmp_path / "users.json").write_text(json.dumps(USERS))
    (tmp_path / "channels.json").write_text("[]")
    document = read_one(tmp_path / "harbour" / "2020-01-02.json", DAY)
    assert document.title == "#harbour, 2020-01-02"
    assert document.created_at == datetime(2020, 1, 2, 10, tzinfo=UTC)
    assert (document.date_source, document.date_precision) == ("message", "time")
    assert document.metadata["participants"] == ["Ada Ray", "Bob Stone"]
    assert turns(document) == [
        ("Ada Ray", "2020-01-02T10:00", "Ada Ray: Lens & tower: plan (https://x.org)"),
        # The reply follows what it answers.
        ("Bob Stone", "2020-01-02T11:00", "Bob Stone: Yes @Ada Ray, in #harbour"),
        ("Bob Stone", "2020-01-02T10:01", "Bob Stone: Crane?"),
    ]
    assert document.text.endswith("@Bob Stone has joined")


def test_the_lists_of_an_unpacked_slack_export_are_no_documents(tmp_path: Path) -> None:
    channels = [{"id": "C1", "name": "harbour", "members": ["U1"]}]
    # Alone, or with other things in them, files of these names are anybody's.
    assert read(tmp_path / "users.json", USERS)
    read(tmp_path / "channels.json", [{"id": 1, "wavelength": 500}])
    assert read(tmp_path / "users.json", [*USERS, {"id": "U2", "email": "bob@example.org"}])
    assert read(tmp_path / "channels.json", [{"id": 1, "wavelength": 500}])

    for name, value in (("users.json", USERS), ("channels.json", channels)):
        with pytest.raises(UnreadableError, match="a list of a Slack export"):
            read(tmp_path / name, value)


def test_a_slack_export_as_an_archive(tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("users.json", json.dumps(USERS))
        archive.writestr("harbour/2020-01-02.json", json.dumps(DAY))
        archive.writestr("harbour/2020-01-03.json", "[{")
    found = read_file(file, SETTINGS)
    (document,) = found.documents
    assert document.source == f"{document.origin}#harbour/2020-01-02"
    assert document.title == "#harbour, 2020-01-02"
    assert document.pieces[0].metadata["speaker"] == "Ada Ray"
    assert [s.source.rpartition("#")[2] for s in found.skipped] == ["harbour/2020-01-03.json"]


def test_archives_that_are_no_chat_are_told(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("photo.png", "x")
    with pytest.raises(UnreadableError, match="no export of a chat"):
        read_file(file, SETTINGS)
    file.write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(UnreadableError, match="not a ZIP"):
        read_file(file, SETTINGS)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[" + " " * 60_000_000 + "]")
    with pytest.raises(UnreadableError, match="unpacks to more than 50 MB"):
        read_file(file, SETTINGS)


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
    assert document.title == "#general, Lighthouse"
    assert turns(document) == [
        ("Ada", "2020-01-02T10:00", "Ada: Look\n[plan.pdf]"),
        ("bob", "2020-01-02T10:00", "bob: Fine"),
    ]
    assert document.pieces[1].metadata["replies_to"] == "9"
    assert document.source == str(tmp_path / "a.json")


# --- WhatsApp ------------------------------------------------------------------------------

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
    ("first", "second", "days"),
    [
        ("02/01/2020, 10:00 - ", "13/01/2020, 10:00 - ", "01-02 01-13"),
        ("1/2/20, 10:00 AM - ", "1/13/20, 10:00 AM - ", "01-02 01-13"),
        ("1/2/20, 10:00\u202fAM - ", "2/1/20, 10:00\u202fAM - ", "01-02 02-01"),
        ("02.01.20, 10:00 - ", "01.02.20, 10:00 - ", "01-02 02-01"),
        ("31/1/20, 10:00 a. m. - ", "2/2/20, 10:00 a. m. - ", "01-31 02-02"),
        ("2020-01-02, 10:00 - ", "2020-02-01, 10:00 - ", "01-02 02-01"),
        ("[2020/01/02, 10:00:00] ", "[2020/02/01, 10:00:00] ", "01-02 02-01"),
        # Neither number tells: time does not run back, whatever the signs.
        ("3/4/20, 10:00 PM - ", "1/5/20, 10:00 PM - ", "04-03 05-01"),
        ("4/3/20, 10:00 - ", "5/1/20, 10:00 - ", "04-03 05-01"),
        ("1/2/20, 10:00 PM - ", "1/2/20, 10:00 PM - ", "01-02 01-02"),
        ("1/2/20, 10:00 - ", "1/2/20, 10:00 - ", "02-01 02-01"),
    ],
)
def test_the_order_of_dates_is_the_whole_chats(
    tmp_path: Path, first: str, second: str, days: str
) -> None:
    document = read_one(tmp_path / "a.txt", f"{first}Ada: one\n{second}Bob: two\n")
    assert [time[5:10] for _, time, _ in turns(document)] == days.split()


def test_hours_of_half_a_day(tmp_path: Path) -> None:
    hours = ("12:05 AM", "1:05 am", "12:05 PM", "11:05 p.m.")
    text = "".join(f"1/13/20, {hour} - Ada: x\n" for hour in hours)
    found = [time[11:] for _, time, _ in turns(read_one(tmp_path / "a.txt", text))]
    assert found == ["00:05", "01:05", "12:05", "23:05"]


def test_notices_are_no_turns(tmp_path: Path) -> None:
    text = "13/1/20, 10:00 - Ada joined\n13/1/20, 10:01 - Ada: hi\n40/1/20, 10:01 - Ada: when?\n"
    document = read_one(tmp_path / "WhatsApp Chat with Ada Ray.txt", text)
    assert document.title == "WhatsApp chat: Ada Ray"
    assert turns(document) == [("Ada", "2020-01-13T10:01", "Ada: hi"), ("Ada", "", "Ada: when?")]
    assert document.text.startswith("Ada joined\n\n")


def test_a_text_with_dates_stays_a_text(tmp_path: Path) -> None:
    for number, text in enumerate(
        (
            "12/01/2020, 10:00 - the meeting opens\n",
            "Log of the tower\n12/01/2020, 10:00 - Ada: here\n",
            "[12/01/2020, 10:00:00] start\n[12/01/2020, 10:00:01] end\n",
        )
    ):
        assert read_one(tmp_path / f"{number}.txt", text).media_type == "text/plain"


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
    talk = {"title": "Lenses", "conversation_id": "k1", "mapping": mapping, "current_node": "d"}
    circle = {"x": node("x", "y", "user", "Round"), "y": node("y", "x", "assistant", "and round")}
    first, second = read(
        tmp_path / "conversations.json", [talk, {"title": "Loop", "id": "k2", "mapping": circle}]
    )
    assert first.source == f"{tmp_path / 'conversations.json'}#k1"
    assert first.origin == str(tmp_path / "conversations.json")
    assert first.title == "Lenses"
    assert [text for *_, text in turns(first)] == [
        "User: What is a lens?",
        "ChatGPT: Bent glass.",
        "User: Thanks.",
    ]
    assert first.created_at == datetime(2020, 1, 2, 10, 0, 0, 500_000, tzinfo=UTC)
    assert [text for *_, text in turns(second)] == ["User: Round", "ChatGPT: and round"]


def test_claude_conversations(tmp_path: Path) -> None:
    talk = {
        "uuid": "u1",
        "name": "Towers",
        "chat_messages": [
            {"sender": "human", "text": "", "content": [{"type": "text", "text": "How high?"}],
             "created_at": "2020-01-02T10:00:00Z", "attachments": [{"file_name": "plan.pdf"}]},
            {"sender": "assistant", "text": "Forty metres.", "created_at": "2020-01-02T10:01:00Z"},
        ],
    }  # fmt: skip
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
    found = read(tmp_path / "a.json", value)
    assert {document.media_type for document in found} <= {"application/json", "text/plain"}
    assert not any(document.pieces for document in found)


SLACK = {"user": 7, "text": ["x"], "files": [3], "user_profile": 1, "ts": OPENED}
NODE: dict[str, object] = {"message": {"author": {"role": []}, "content": {}}}
ODD: dict[str, object] = {
    "slack": [{"type": "message", **SLACK}],
    "discord": {"guild": {}, "channel": {}, "messages": [3, {"author": 1, "embeds": [{}]}]},
    "chatgpt": [{"title": 3, "mapping": {"a": 1, "b": NODE}}],
    "claude": [{"chat_messages": [None, {"sender": 1, "content": [1, {"text": 2}]}]}],
}


@pytest.mark.parametrize("app", ODD)
def test_odd_exports_say_nothing_and_fail_in_no_odd_way(tmp_path: Path, app: str) -> None:
    with pytest.raises(UnreadableError, match="empty"):
        read(tmp_path / "a.json", ODD[app])


def test_a_chat_with_too_many_turns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("13/1/20, 10:01 - Ada: hi\n" * 20)
    with pytest.raises(UnreadableError, match="20 chunks, limit 10"):
        read_file(path, SETTINGS, limits=LimitSettings(chunks=10))


# --- Git -----------------------------------------------------------------------------------

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


@pytest.mark.parametrize("name", ["log.txt", "changelog", "git.log"])
def test_a_git_log_is_what_its_authors_say_at_their_dates(tmp_path: Path, name: str) -> None:
    found = read_one(tmp_path / name, LOG)
    assert turns(found) == [
        (
            "Ada Ray",
            "2023-02-02T12:21",
            "Ada Ray: crank versions\n\ncommit messages may have paragraphs\n\n pack.spec | 2 +-"
            "\n\ncommit 6dfb65d",
        ),
        ("bob@example.org", "2023-01-19T07:53", "bob@example.org: fix the lamp\n\ncommit d07cfb1"),
    ]
    assert [piece.metadata["commit"][:7] for piece in found.pieces] == ["6dfb65d", "d07cfb1"]
    assert found.title == f"Git log: {Path(name).stem}"


@pytest.mark.parametrize(
    "text",
    ["commit 6dfb65de and push it\n", "commit 6dfb65d\n\nAuthor: Ada\n", f"A log:\n\n{LOG}"],
)
def test_text_that_speaks_of_commits_is_no_log(tmp_path: Path, text: str) -> None:
    assert not read_one(tmp_path / "a.txt", text).pieces


def test_a_log_whose_dates_nobody_reads_has_none(tmp_path: Path) -> None:
    found = read_one(tmp_path / "a.txt", LOG.replace("Thu Feb 2 23:21:54 2023 +1100", "2 days ago"))
    assert [time for _, time, _ in turns(found)] == ["", "2023-01-19T07:53"]
