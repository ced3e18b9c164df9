"""Chats that were exported: Slack, Discord, WhatsApp, ChatGPT, Claude.

Each is known by its content, so that any other JSON or text reads as before. A conversation is a
document whose turns are its pieces, each with its speaker and its time.
"""

from __future__ import annotations

import html
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from clew.errors import UnreadableError
from clew.indexing.reading.files import open_real
from clew.indexing.reading.formats.common import (
    RawFile,
    ReadResult,
    check_limit,
    clean_text,
    decode,
    json_safe,
    text_digest,
)
from clew.text import one_line
from clew.times import to_time
from clew.types import Document, Piece, Skipped

# A conversation as a document: `Ada: hello` a turn, each turn a piece.


MEDIA_TYPE = "text/chat"
PEOPLE_SHOWN = 50
"""Speakers that the metadata of a conversation names."""
_BETWEEN = "\n\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """What one speaker says in one go."""

    speaker: str
    """Empty for a notice ("Ada joined"), which is text but no piece."""
    text: str
    time: datetime | None = None
    """In UTC."""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """Turns in order."""

    app: str
    """`slack`, `discord`, `whatsapp`, `chatgpt`, `claude` or `git`."""
    title: str
    turns: Sequence[Turn]
    key: str = ""
    """Its name within the file; empty where the file is one conversation."""
    metadata: dict[str, Any] = field(default_factory=dict)


def read_result(raw: RawFile, found: Sequence[Conversation]) -> ReadResult:
    """Documents of the conversations that say anything; one without a key is the whole file."""
    turns = sum(len(conversation.turns) for conversation in found)
    check_limit(raw.limits, "chunks", turns, raw.source)
    documents: dict[str, Document] = {}
    for conversation in found:
        document = _document(raw, conversation)
        if document.text.strip():
            documents.setdefault(document.source, document)
    return ReadResult(documents=tuple(documents.values()))


def _document(raw: RawFile, conversation: Conversation) -> Document:
    turns = [turn for turn in conversation.turns if turn.text.strip()]
    parts = [_text(turn) for turn in turns]
    key = one_line(clean_text(conversation.key))[:200]
    text = _BETWEEN.join(parts)
    pieces = tuple(_pieces(turns, parts))
    title = one_line(clean_text(conversation.title))
    metadata = {"app": conversation.app, **_people(turns), **conversation.metadata}
    times = [turn.time for turn in turns if turn.time is not None]
    safe = json_safe(metadata)
    parts_told = [text, title, json_safe([(p.key, p.metadata) for p in pieces]), safe]
    return Document(
        source=raw.record(key) if key else raw.source,
        origin=raw.source if key else "",
        text=text,
        title=title,
        sha256=text_digest(repr(parts_told)) if key else "",
        media_type=MEDIA_TYPE,
        created_at=min(times, default=None),
        date_source="message" if times else "",
        date_precision="time" if times else "",
        updated_at=max(times, default=None),
        metadata=safe,
        pieces=pieces,
    )


def _text(turn: Turn) -> str:
    text = clean_text(turn.text).strip()
    return f"{turn.speaker}: {text}" if turn.speaker else text


def _pieces(turns: Sequence[Turn], parts: Sequence[str]) -> Iterator[Piece]:
    at = 0
    for number, (turn, part) in enumerate(zip(turns, parts, strict=True), 1):
        if turn.speaker:
            metadata: dict[str, Any] = {"speaker": turn.speaker}
            if turn.time is not None:
                metadata["created_at"] = turn.time.isoformat()
            metadata |= turn.metadata
            yield Piece(start=at, end=at + len(part), key=str(number), metadata=metadata)
        at += len(part) + len(_BETWEEN)


def _people(turns: Sequence[Turn]) -> dict[str, Any]:
    speakers = list(dict.fromkeys(turn.speaker for turn in turns if turn.speaker))
    return {"participants": speakers[:PEOPLE_SHOWN]} if speakers else {}


# Conversations with ChatGPT and with Claude, of their `conversations.json`.


USER = "User"
_KINDS = frozenset({"text", "multimodal_text", "code"})


def chatgpt(record: Mapping[str, Any], number: int) -> Conversation:
    """The branch of the tree of messages that was last shown."""
    key = record.get("conversation_id") or record.get("id") or str(number)
    turns = [turn for node in _branch(record) if (turn := _chatgpt_turn(node)) is not None]
    return Conversation(app="chatgpt", key=str(key), title=_title(record.get("title")), turns=turns)


def _branch(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Messages from the root to the node shown, or to the last one where none is named."""
    mapping = record["mapping"]
    at = record.get("current_node")
    if not isinstance(at, str) or at not in mapping:
        at = next(reversed(mapping), None)
    found: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(at, str) and at in mapping and at not in seen:
        seen.add(at)
        node = mapping[at]
        if not isinstance(node, dict):
            break
        if isinstance(node.get("message"), dict):
            found.append(node["message"])
        at = node.get("parent")
    return found[::-1]


def _chatgpt_turn(message: Mapping[str, Any]) -> Turn | None:
    author, content = message.get("author"), message.get("content")
    about = message.get("metadata")
    hidden = isinstance(about, dict) and about.get("is_visually_hidden_from_conversation")
    if not isinstance(author, dict) or not isinstance(content, dict) or hidden:
        return None
    speaker = {"user": USER, "assistant": "ChatGPT"}.get(str(author.get("role")))
    if speaker is None or content.get("content_type") not in _KINDS:
        return None
    # Code written for a tool is no turn of the conversation.
    if message.get("recipient", "all") != "all":
        return None
    parts = content.get("parts")
    given = parts if isinstance(parts, list) else [content]
    texts = (part.get("text") if isinstance(part, dict) else part for part in given)
    text = "\n".join(text for text in texts if isinstance(text, str) and text)
    return Turn(speaker=speaker, text=text, time=to_time(message.get("create_time")))


def claude(record: Mapping[str, Any], number: int) -> Conversation:
    """A conversation with its messages in order."""
    key = record.get("uuid") or str(number)
    messages = [m for m in record["chat_messages"] if isinstance(m, dict)]
    return Conversation(
        app="claude",
        key=str(key),
        title=_title(record.get("name")),
        turns=[_claude_turn(message) for message in messages],
    )


def _claude_turn(message: Mapping[str, Any]) -> Turn:
    speaker = USER if message.get("sender") in ("human", "user") else "Claude"
    texts = [*_claude_texts(message), *_attached(message)]
    time = to_time(message.get("created_at"))
    return Turn(speaker=speaker, text="\n\n".join(texts), time=time)


def _claude_texts(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    texts = [p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)]
    if not any(text.strip() for text in texts) and isinstance(message.get("text"), str):
        return [message["text"]]
    return texts


def _attached(message: Mapping[str, Any]) -> Iterator[str]:
    for name in ("attachments", "files"):
        items = message.get(name)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and isinstance(item.get("file_name"), str):
                yield f"[{item['file_name']}]"


def _title(value: object) -> str:
    return value if isinstance(value, str) else ""


# A channel of Discord, as DiscordChatExporter writes it.


_SAID = frozenset({"Default", "Reply", "ThreadStarterMessage", "0", "19"})
"""Types of messages that somebody wrote; others tell of joining, pinning and the like."""


def discord(value: Mapping[str, Any]) -> list[Conversation]:
    """The channel as one conversation."""
    server, channel = (_text_discord(value[part].get("name")) for part in ("guild", "channel"))
    title = f"#{channel}, {server}" if server and server != "Direct Messages" else channel
    messages = [m for m in value["messages"] if isinstance(m, dict)]
    known = {
        "channel": channel,
        "server": server,
        "topic": _text_discord(value["channel"].get("topic")),
    }
    return [
        Conversation(
            app="discord",
            title=title,
            turns=[_turn(message) for message in messages],
            metadata={name: text for name, text in known.items() if text},
        )
    ]


def _turn(message: Mapping[str, Any]) -> Turn:
    author = message.get("author")
    author = author if isinstance(author, dict) else {}
    name = _text_discord(author.get("nickname")) or _text_discord(author.get("name")) or "unknown"
    said = str(message.get("type", "Default")) in _SAID
    texts = [_text_discord(message.get("content")), *_attached_discord(message)]
    text = "\n".join(filter(None, texts))
    metadata: dict[str, Any] = {}
    reference = message.get("reference")
    if isinstance(reference, dict) and isinstance(reference.get("messageId"), str):
        metadata["replies_to"] = reference["messageId"]
    if isinstance(message.get("id"), str):
        metadata["message_id"] = message["id"]
    return Turn(
        speaker=name if said else "",
        text=text if said else f"{name}: {text}",
        time=to_time(message.get("timestamp")),
        metadata=metadata,
    )


def _attached_discord(message: Mapping[str, Any]) -> list[str]:
    """Names of files, and titles and texts of what is shown of links."""
    found: list[str] = []
    for name, keys in (("attachments", ("fileName",)), ("embeds", ("title", "description"))):
        items = message.get(name)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                texts = [_text_discord(item.get(key)) for key in keys]
                found.append(" – ".join(filter(None, texts)))
    return [f"[{text}]" for text in found if text]


def _text_discord(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


# What `git log` printed to a file: a commit is what its author says at its date.


_COMMIT = re.compile(r"^commit (?P<id>[0-9a-f]{7,64})(?: \([^()\n]{1,500}\))?$", re.MULTILINE)
_FIELD = re.compile(r"(?P<name>Author|AuthorDate|Date|Merge|Commit|CommitDate): +(?P<value>.*)")
_ADDRESS = re.compile(r" ?<[^<>]*>$")
_INDENT = "    "
_SHORT = 7
"""Digits by which people call a commit."""


def is_git_log(text: str) -> bool:
    """Whether the text opens with a commit and its fields."""
    first = _COMMIT.match(text)
    return first is not None and _FIELD.match(text, first.end() + 1) is not None


def git_log(text: str, name: str) -> list[Conversation]:
    """The log as one conversation; `name` is the file's path."""
    title = f"Git log: {PurePosixPath(name).stem}"
    return [Conversation(app="git", title=title, turns=list(_turns(text)))]


def _turns(text: str) -> Iterator[Turn]:
    commits = list(_COMMIT.finditer(text))
    ends = [*(commit.start() for commit in commits[1:]), len(text)]
    for commit, end in zip(commits, ends, strict=True):
        head, _, message = text[commit.end() + 1 : end].partition("\n\n")
        found = filter(None, map(_FIELD.fullmatch, head.split("\n")))
        fields = {field["name"]: field["value"] for field in found}
        words = "\n".join(line.removeprefix(_INDENT) for line in message.split("\n")).strip()
        yield Turn(
            speaker=_ADDRESS.sub("", fields.get("Author", "")).strip(),
            text=f"{words}\n\ncommit {commit['id'][:_SHORT]}",
            time=_time(fields.get("AuthorDate") or fields.get("Date") or ""),
            metadata={"commit": commit["id"]},
        )


def _time(value: str) -> datetime | None:
    """Git's own form of a date, and ISO's; None for others, and where no zone is told."""
    for read in (_default, datetime.fromisoformat):
        with suppress(ValueError):
            found = read(value.strip())
            return found.astimezone(UTC) if found.tzinfo else None
    return None


def _default(value: str) -> datetime:
    return datetime.strptime(value, "%a %b %d %H:%M:%S %Y %z")


# A day of a channel of Slack, as its export writes it.


_TS = re.compile(r"\d{9,11}(?:\.\d{1,9})?")
_MARKUP = re.compile(r"<([@#!]?)([^<>|]{1,2000})(?:\|([^<>|]{0,2000}))?>")
_SAID_SLACK = frozenset({"", "thread_broadcast", "bot_message", "file_share", "me_message"})
"""Kinds of messages that somebody wrote; others tell of joining, renaming and the like."""


def is_slack(first: Sequence[object]) -> bool:
    """Whether messages are Slack's, by their type and their time."""
    return all(
        isinstance(one, dict)
        and one.get("type") == "message"
        and isinstance(one.get("ts"), str)
        and _TS.fullmatch(one["ts"]) is not None
        for one in first
    )


def slack(value: Sequence[Any], name: str, users: object = None) -> list[Conversation]:
    """A file of messages as one conversation; the replies of a thread follow what they answer.

    `name` is the file's path: its folder names the channel, the file the day.
    """
    path = PurePosixPath(name)
    messages = [m for m in value if isinstance(m, dict) and isinstance(m.get("ts"), str)]
    known = {**_names_within(messages), **_names(users)}
    channel = path.parent.name
    return [
        Conversation(
            app="slack",
            title=", ".join(filter(None, (f"#{channel}" if channel else "", path.stem))),
            turns=[_turn_slack(message, known) for message in _by_thread(messages)],
            metadata={"channel": channel} if channel else {},
        )
    ]


def _by_thread(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """In order of time, but each reply after the message of that day that opened its thread."""
    there = {message["ts"] for message in messages}

    def place(message: Mapping[str, Any]) -> tuple[float, float]:
        own, opened = message["ts"], message.get("thread_ts")
        return _seconds(opened if opened in there else own), _seconds(own)

    return sorted(messages, key=place)


def _seconds(ts: object) -> float:
    return float(ts) if isinstance(ts, str) and _TS.fullmatch(ts) else 0.0


def _turn_slack(message: Mapping[str, Any], known: Mapping[str, str]) -> Turn:
    said = str(message.get("subtype") or "") in _SAID_SLACK
    speaker = _speaker(message, known)
    texts = [_plain(_text_slack(message.get("text")), known), *_files(message)]
    metadata: dict[str, Any] = {}
    thread = message.get("thread_ts")
    if isinstance(thread, str):
        metadata["thread"] = thread
    return Turn(
        speaker=speaker if said else "",
        text="\n".join(filter(None, texts)),
        time=_time_slack(message["ts"]),
        metadata=metadata,
    )


def _time_slack(ts: str) -> datetime | None:
    # What follows the seconds tells messages of one second apart.
    return to_time(int(_seconds(ts))) if _TS.fullmatch(ts) else None


def _speaker(message: Mapping[str, Any], known: Mapping[str, str]) -> str:
    user = _text_slack(message.get("user"))
    bot = message.get("bot_profile")
    named = _text_slack(bot.get("name")) if isinstance(bot, dict) else ""
    return known.get(user) or _text_slack(message.get("username")) or named or user or "unknown"


def _plain(text: str, known: Mapping[str, str]) -> str:
    """The text without Slack's markup for people, channels and links."""

    def shown(match: re.Match[str]) -> str:
        kind, target, label = match.groups()
        if kind == "@":
            return f"@{known.get(target) or label or target}"
        if kind:
            return f"{'#' if kind == '#' else '@'}{label or target}"
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_MARKUP.sub(shown, text))


def _files(message: Mapping[str, Any]) -> list[str]:
    files = message.get("files")
    named = [f for f in files if isinstance(f, dict)] if isinstance(files, list) else []
    return [
        f"[{name}]"
        for f in named
        if (name := _text_slack(f.get("name")) or _text_slack(f.get("title")))
    ]


def _names_within(messages: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Names by user, as messages carry them."""
    found: dict[str, str] = {}
    for message in messages:
        profile, user = message.get("user_profile"), message.get("user")
        if isinstance(profile, dict) and isinstance(user, str) and (name := _name(profile)):
            found.setdefault(user, name)
    return found


def _names(users: object) -> dict[str, str]:
    """Names by user, as `users.json` tells."""
    found: dict[str, str] = {}
    for user in users if isinstance(users, list) else ():
        if isinstance(user, dict) and isinstance(user.get("id"), str):
            profile = user.get("profile")
            inner = profile if isinstance(profile, dict) else {}
            if name := _name({"name": user.get("name"), **user, **inner}):
                found[user["id"]] = name
    return found


def _name(profile: Mapping[str, Any]) -> str:
    names = (_text_slack(profile.get(key)) for key in ("real_name", "display_name", "name"))
    return next(filter(None, names), "")


def _text_slack(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


# A chat of WhatsApp, as its app on iOS and on Android exports it.


_DATE = r"(?P<a>\d{1,4})(?P<sign>[./-])(?P<b>\d{1,2})(?P=sign)(?P<c>\d{1,4})\.?"
_TIME = (
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    r"(?: ?(?P<half>[AaPp])\.? ?[Mm]\b\.?)?"
)
_MARKS = "\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
_INVISIBLE = re.compile(f"[{_MARKS}]")
_IOS = re.compile(rf"\[{_DATE},? {_TIME}\] (?P<rest>[^\n]*)")
_ANDROID = re.compile(rf"{_DATE},? {_TIME} - (?P<rest>[^\n]*)")
_SPEAKER = re.compile(r"(?P<name>[^:\n]{1,60}): ?(?P<text>[^\n]*)")
_SPACES = str.maketrans({"\u202f": " ", "\u00a0": " "})
_LOOKED_AT = 4_000
_TITLE = re.compile(r"whatsapp[ _-]?chat[ _-]?(?:with|mit|avec|con|com|met)?[ _-]*", re.I)
_MONTHS, _CENTURY = 12, 100


class _Line(NamedTuple):
    """A line that opens a message, and the lines that go on."""

    match: re.Match[str]
    more: list[str]


def is_whatsapp(text: str) -> bool:
    """Whether the text opens with two messages, or one by a named speaker, and no other text."""
    head = _clean(text[:_LOOKED_AT]).lstrip("\n")
    found = [match for line in head.split("\n") if (match := _opening(line))]
    opens = bool(found) and _opening(head.split("\n", 1)[0]) is not None
    return opens and any(_SPEAKER.match(match["rest"]) for match in found)


def whatsapp(text: str, name: str) -> list[Conversation]:
    """The chat as one conversation. `name` is the file's path, which may name the other side."""
    lines = list(_lines(_clean(text)))
    order = _order([line.match for line in lines])
    turns = [_turn_whatsapp(line, order) for line in lines]
    path = PurePosixPath(name)
    stem = _TITLE.sub("", path.stem) if path.stem != "_chat" else _TITLE.sub("", path.parent.name)
    people = list(dict.fromkeys(turn.speaker for turn in turns if turn.speaker))
    is_named = path.stem != "_chat" or path.parent.name.casefold().startswith("whatsapp")
    title = stem if stem and is_named else ", ".join(people[:3])
    return [Conversation(app="whatsapp", title=f"WhatsApp chat: {title}", turns=turns)]


def _clean(text: str) -> str:
    """The text without invisible marks of direction, and with plain spaces."""
    return _INVISIBLE.sub("", text).translate(_SPACES)


def _opening(line: str) -> re.Match[str] | None:
    return _IOS.match(line) or _ANDROID.match(line)


def _lines(text: str) -> Iterator[_Line]:
    current: _Line | None = None
    for line in text.split("\n"):
        match = _opening(line)
        if match is not None:
            if current is not None:
                yield current
            current = _Line(match, [])
        elif current is not None:
            current.more.append(line)
    if current is not None:
        yield current


def _turn_whatsapp(line: _Line, order: str) -> Turn:
    spoken = _SPEAKER.match(line.match["rest"])
    text = spoken["text"] if spoken else line.match["rest"]
    return Turn(
        speaker=spoken["name"].strip().removeprefix("~").strip() if spoken else "",
        text="\n".join((text, *line.more)).strip(),
        time=_time_whatsapp(line.match, order),
    )


def _order(found: Sequence[re.Match[str]]) -> str:
    """`ymd`, `dmy` or `mdy`, decided by the chat as a whole.

    A number over twelve is a day; else the order in which dates do not run back; else what goes
    with the way of writing: a slash and twelve hours are American.
    """
    if any(len(match["a"]) > 2 for match in found):
        return "ymd"
    numbers = [(int(match["a"]), int(match["b"]), int(match["c"])) for match in found]
    if any(a > _MONTHS for a, _, _ in numbers):
        return "dmy"
    if any(b > _MONTHS for _, b, _ in numbers):
        return "mdy"
    back_dmy = sum(one > other for one, other in pairwise((c, b, a) for a, b, c in numbers))
    back_mdy = sum(one > other for one, other in pairwise((c, a, b) for a, b, c in numbers))
    if back_dmy != back_mdy:
        return "dmy" if back_dmy < back_mdy else "mdy"
    is_american = any(match["sign"] == "/" and match["half"] for match in found)
    return "mdy" if is_american else "dmy"


def _time_whatsapp(match: re.Match[str], order: str) -> datetime | None:
    """The time of a message, its zone unknown and taken for UTC; None for what is no date."""
    values = dict(zip(order, (int(match[part]) for part in "abc"), strict=True))
    year = values["y"] + (2000 if values["y"] < _CENTURY else 0)
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].casefold() == "p" else 0)
    try:
        return datetime(
            year,
            values["m"],
            values["d"],
            hour,
            int(match["minute"]),
            int(match["second"] or 0),
            tzinfo=UTC,
        )
    except ValueError:
        return None


# Which chat a JSON value is an export of, by its shape.


_SLACK_LISTS = {"users.json", "channels.json", "groups.json", "dms.json", "mpims.json"}
_LOOKED_AT_JSON_EXPORTS = 20
"""Items of a list by which it is recognised."""


_MARKS_OF_JSON = re.compile(rb'"(?:mapping|chat_messages|guild|ts)"')
_MARKS_OF_TEXT = re.compile(rb"commit [0-9a-f]{7}|\d[./-]\d{1,2}[./-]\d")


def read_json_export(raw: RawFile) -> ReadResult | None:
    """The conversations of an export in JSON; None for JSON of anything else."""
    name = PurePosixPath(raw.source).name
    if name not in _SLACK_LISTS and not _MARKS_OF_JSON.search(raw.data):
        return None
    try:
        return _read_chat(raw, json.loads(decode(raw)))
    except ValueError:  # malformed, as the core's own reader says
        return None


def read_text_export(raw: RawFile) -> ReadResult | None:
    """A chat of WhatsApp or the log of git; None for any other text."""
    if not _MARKS_OF_TEXT.search(raw.data[:_LOOKED_AT].replace(b"\0", b"")):
        return None
    text = decode(raw)
    for is_one, conversation in ((is_whatsapp, whatsapp), (is_git_log, git_log)):
        if is_one(text):
            return read_result(raw, conversation(text, raw.source))
    return None


def _read_chat(raw: RawFile, value: object) -> ReadResult | None:
    """The documents of an export; None where the value is none.

    Raises `UnreadableError` for the lists of people and channels of an unpacked Slack export: they
    name what the messages hold, and alone they are identifiers.
    """
    if _is_slack_list(raw, value):
        raise raw.unreadable("a list of a Slack export, which its messages are read with")
    users = None
    if isinstance(value, list) and value and is_slack(value[:_LOOKED_AT_JSON_EXPORTS]):
        users = _users_beside(raw)
    found = conversations(value, raw.source, users)
    return None if found is None else read_result(raw, found)


def _is_slack_list(raw: RawFile, value: object) -> bool:
    """Whether a file is `users.json`, `channels.json` or such of an unpacked Slack export."""
    if raw.path is None or raw.path.name not in _SLACK_LISTS or not isinstance(value, list):
        return False
    # Files of these names may be anybody's: what stands in them and beside them decides.
    if not all((raw.path.parent / name).is_file() for name in ("channels.json", "users.json")):
        return False
    return all(
        isinstance(item, dict)
        and isinstance(item.get("id"), str)
        and (isinstance(item.get("members"), list) or isinstance(item.get("profile"), dict))
        for item in value[:_LOOKED_AT_JSON_EXPORTS]
    )


def _users_beside(raw: RawFile) -> object:
    """What `users.json` says, which lies above the folders of the channels, with their list."""
    if raw.path is None:
        return None
    export = raw.path.parent.parent
    # Nothing outside of the file's folder is read but what shows itself as the same export.
    if not (export / "channels.json").is_file():
        return None
    file = export / "users.json"
    with suppress(OSError, ValueError, RecursionError), open_real(file) as opened:
        limit = int(raw.settings.max_megabytes * 1_000_000)
        return json.loads(opened.read(limit))
    return None


def conversations(value: object, name: str, users: object = None) -> list[Conversation] | None:
    """The conversations of an export; None where the value is none.

    `name` is the file's path, `users` what a Slack export's `users.json` holds.
    """
    if isinstance(value, dict):
        return discord(value) if _is_discord(value) else _assistants([value])
    if not isinstance(value, list) or not value:
        return None
    if is_slack(value[:_LOOKED_AT_JSON_EXPORTS]):
        return slack(value, name, users)
    return _assistants(value)


def _is_discord(value: dict[str, Any]) -> bool:
    parts = value.get("guild"), value.get("channel"), value.get("messages")
    return isinstance(parts[0], dict) and isinstance(parts[1], dict) and isinstance(parts[2], list)


def _assistants(value: Sequence[object]) -> list[Conversation] | None:
    """Conversations with an assistant; each of the first items must look like one."""
    records = [item for item in value if isinstance(item, dict)]
    first = records[:_LOOKED_AT_JSON_EXPORTS]
    if len(records) != len(value):
        return None
    if all(isinstance(one.get("mapping"), dict) and "title" in one for one in first):
        return [chatgpt(one, i) for i, one in enumerate(records, 1)]
    if all(isinstance(one.get("chat_messages"), list) for one in first):
        return [claude(one, i) for i, one in enumerate(records, 1)]
    return None


# ZIP archives as chat apps hand out: Slack's, ChatGPT's, Claude's and WhatsApp's.


_CHATS = re.compile(
    r"(?:.{0,500}/)?(?:[^/]{1,200}/\d{4}-\d\d-\d\d\.json|conversations\.json|[^/]{0,200}chat[^/]{0,200}\.txt)",
    re.I,
)
_USERS = "users.json"
_FAULTS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, ValueError)


def read_zip_export(raw: RawFile) -> ReadResult:
    """The conversations of an export; parts that cannot be read are reported.

    Raises `UnreadableError` for an archive that is none, `LimitError` for one with too many parts
    or that unfolds to more than `max_megabytes`.
    """
    try:
        with zipfile.ZipFile(BytesIO(raw.data)) as archive:
            return _read(raw, archive)
    except _FAULTS as error:
        raise raw.unreadable("malformed (not a ZIP archive)") from error


def _read(raw: RawFile, archive: zipfile.ZipFile) -> ReadResult:
    members = archive.infolist()
    check_limit(raw.limits, "members", len(members), raw.source)
    chats = [m for m in members if _CHATS.fullmatch(m.filename) and not m.is_dir()]
    users = [m for m in members if m.filename.rpartition("/")[2] == _USERS]
    unpacked = sum(member.file_size for member in (*chats, *users[:1]))
    if unpacked > raw.settings.max_megabytes * 1_000_000:
        raise raw.unreadable(f"unpacks to more than {raw.settings.max_megabytes:g} MB")
    named = _json(archive, users[0]) if users else None
    skipped: list[Skipped] = []
    found = list(_conversations(raw, archive, chats, named, skipped))
    if not found and not skipped:
        raise raw.unreadable("unsupported format (a ZIP archive that is no export of a chat)")
    return replace(read_result(raw, found), skipped=tuple(skipped))


def _conversations(
    raw: RawFile,
    archive: zipfile.ZipFile,
    chats: list[zipfile.ZipInfo],
    users: object,
    skipped: list[Skipped],
) -> Iterator[Conversation]:
    for member in chats:
        name = member.filename
        try:
            found = _parsed(raw, archive, member, users)
        except (UnreadableError, RecursionError, *_FAULTS) as error:
            reason = error.reason if isinstance(error, UnreadableError) else "malformed"
            skipped.append(Skipped(source=raw.record(name), reason=reason))
            continue
        stem = name.rpartition(".")[0]
        for one in found or ():
            yield replace(one, key=one.key or stem)


def _parsed(
    raw: RawFile, archive: zipfile.ZipFile, member: zipfile.ZipInfo, users: object
) -> list[Conversation] | None:
    if member.filename.lower().endswith(".json"):
        return conversations(_json(archive, member), member.filename, users)
    name = f"{raw.source.rpartition('.')[0]}/{member.filename}"
    part = RawFile(source=name, data=archive.read(member), settings=raw.settings, limits=raw.limits)
    text = decode(part)
    return whatsapp(text, name) if is_whatsapp(text) else None


def _json(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> object:
    return json.loads(archive.read(member))
