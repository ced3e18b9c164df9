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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from clew.errors import UnreadableError
from clew.indexing.ner.known_terms import WITH_ASSISTANTS
from clew.indexing.reading.common import (
    RawFile,
    ReadResult,
    check_limit,
    clean_text,
    decode,
    joined,
    json_safe,
)
from clew.indexing.reading.files import open_real
from clew.indexing.structure import structure
from clew.text import one_line, text_digest
from clew.times import to_time
from clew.types import Document, Piece, Skipped, Statement

# A conversation as a document: `Ada: hello` a turn, each turn a piece.


MEDIA_TYPE = "text/chat"
PEOPLE_SHOWN = 50
"""Speakers that the metadata of a conversation names."""


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
    told = [clean_text(turn.text).strip() for turn in turns]
    parts = [f"{t.speaker}: {s}" if t.speaker else s for t, s in zip(turns, told, strict=True)]
    text, starts = joined(parts, "\n\n")
    pieces: list[Piece] = []
    for number, (turn, part, start) in enumerate(zip(turns, parts, starts, strict=True), 1):
        if turn.speaker:
            said_at = {"created_at": turn.time.isoformat()} if turn.time is not None else {}
            known = {"speaker": turn.speaker, **said_at, **turn.metadata}
            end = start + len(part)
            pieces.append(Piece(start=start, end=end, key=str(number), metadata=known))
    key = one_line(clean_text(conversation.key))[:200]
    title = one_line(clean_text(conversation.title))
    speakers = list(dict.fromkeys(turn.speaker for turn in turns if turn.speaker))
    named = {"participants": speakers[:PEOPLE_SHOWN]} if speakers else {}
    metadata = json_safe({"app": conversation.app, **named, **conversation.metadata})
    times = [turn.time for turn in turns if turn.time is not None]
    digested = [text, title, json_safe([(p.key, p.metadata) for p in pieces]), metadata]
    return Document(
        source=raw.record(key) if key else raw.source,
        origin=raw.source if key else "",
        text=text,
        title=title,
        sha256=text_digest(repr(digested)) if key else "",
        media_type=MEDIA_TYPE,
        created_at=min(times, default=None),
        date_source="message" if times else "",
        date_precision="time" if times else "",
        updated_at=max(times, default=None),
        metadata=metadata,
        pieces=tuple(pieces),
    )


# What stands in the JSON of an export, where it is of the kind that is expected there.


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _maps(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


# Conversations with ChatGPT and with Claude, of their `conversations.json`.


USER = "User"
_KINDS = frozenset({"text", "multimodal_text", "code"})


def chatgpt(record: Mapping[str, Any], number: int) -> Conversation:
    """The branch of the tree of messages that was last shown; the last one where none is named."""
    nodes = record["mapping"]
    at = record.get("current_node")
    if not isinstance(at, str) or at not in nodes:
        at = next(reversed(nodes), None)
    turns: list[Turn | None] = []
    seen: set[str] = set()
    while isinstance(at, str) and at not in seen and isinstance(nodes.get(at), dict):
        seen.add(at)
        turns.append(_chatgpt_turn(_map(nodes[at].get("message"))))
        at = nodes[at].get("parent")
    return Conversation(
        app="chatgpt",
        key=str(record.get("conversation_id") or record.get("id") or number),
        title=_text(record.get("title")),
        turns=[turn for turn in reversed(turns) if turn is not None],
    )


def _chatgpt_turn(message: Mapping[str, Any]) -> Turn | None:
    content = _map(message.get("content"))
    role = str(_map(message.get("author")).get("role"))
    speaker = {"user": USER, "assistant": "ChatGPT"}.get(role)
    hidden = _map(message.get("metadata")).get("is_visually_hidden_from_conversation")
    # Code written for a tool is no turn of the conversation.
    is_for_a_tool = message.get("recipient", "all") != "all"
    if speaker is None or hidden or is_for_a_tool or content.get("content_type") not in _KINDS:
        return None
    parts = content.get("parts")
    given = parts if isinstance(parts, list) else [content]
    texts = (part.get("text") if isinstance(part, dict) else part for part in given)
    text = "\n".join(text for text in texts if isinstance(text, str) and text)
    return Turn(speaker=speaker, text=text, time=to_time(message.get("create_time")))


def claude(record: Mapping[str, Any], number: int) -> Conversation:
    """A conversation with its messages in order."""
    turns: list[Turn] = []
    for message in _maps(record["chat_messages"]):
        parts = (part.get("text") for part in _maps(message.get("content")))
        texts = [text for text in parts if isinstance(text, str)]
        if not any(text.strip() for text in texts) and isinstance(message.get("text"), str):
            texts = [message["text"]]
        for name in ("attachments", "files"):
            attached = (item.get("file_name") for item in _maps(message.get(name)))
            texts += [f"[{file}]" for file in attached if isinstance(file, str)]
        turn = Turn(
            speaker=USER if message.get("sender") in ("human", "user") else "Claude",
            text="\n\n".join(texts),
            time=to_time(message.get("created_at")),
        )
        turns.append(turn)
    return Conversation(
        app="claude",
        key=str(record.get("uuid") or number),
        title=_text(record.get("name")),
        turns=turns,
    )


# A channel of Discord, as DiscordChatExporter writes it.


_SAID = frozenset({"Default", "Reply", "ThreadStarterMessage", "0", "19"})
"""Types of messages that somebody wrote; others tell of joining, pinning and the like."""
_ATTACHED = {"attachments": ("fileName",), "embeds": ("title", "description")}
"""Names of files, and titles and texts of what is shown of links."""


def discord(value: Mapping[str, Any]) -> list[Conversation]:
    """The channel as one conversation."""
    server, channel = (_text(value[part].get("name")) for part in ("guild", "channel"))
    topic = _text(value["channel"].get("topic"))
    known = {"channel": channel, "server": server, "topic": topic}
    is_named = server and server != "Direct Messages"
    return [
        Conversation(
            app="discord",
            title=f"#{channel}, {server}" if is_named else channel,
            turns=[_discord_turn(message) for message in _maps(value["messages"])],
            metadata={name: text for name, text in known.items() if text},
        )
    ]


def _discord_turn(message: Mapping[str, Any]) -> Turn:
    author = _map(message.get("author"))
    name = _text(author.get("nickname")) or _text(author.get("name")) or "unknown"
    said = str(message.get("type", "Default")) in _SAID
    texts = [_text(message.get("content"))]
    for field_name, keys in _ATTACHED.items():
        for item in _maps(message.get(field_name)):
            shown = " – ".join(filter(None, (_text(item.get(key)) for key in keys)))
            texts += [f"[{shown}]"] if shown else []
    text = "\n".join(filter(None, texts))
    answered = _map(message.get("reference")).get("messageId")
    ids = {"replies_to": answered, "message_id": message.get("id")}
    return Turn(
        speaker=name if said else "",
        text=text if said else f"{name}: {text}",
        time=to_time(message.get("timestamp")),
        metadata={name: id_ for name, id_ in ids.items() if isinstance(id_, str)},
    )


# What `git log` printed to a file: a commit is what its author says at its date.


_COMMIT = re.compile(r"^commit (?P<id>[0-9a-f]{7,64})(?: \([^()\n]{1,500}\))?$", re.MULTILINE)
_FIELD = re.compile(r"(?P<name>Author|AuthorDate|Date|Merge|Commit|CommitDate): +(?P<value>.*)")
_ADDRESS = re.compile(r" ?<[^<>]*>$")
_SHORT = 7
"""Digits by which people call a commit."""


def is_git_log(text: str) -> bool:
    """Whether the text opens with a commit and its fields."""
    first = _COMMIT.match(text)
    return first is not None and _FIELD.match(text, first.end() + 1) is not None


def git_log(text: str, name: str) -> list[Conversation]:
    """The log as one conversation; `name` is the file's path."""
    turns: list[Turn] = []
    commits = list(_COMMIT.finditer(text))
    for commit, end in zip(commits, [*(c.start() for c in commits[1:]), len(text)], strict=True):
        head, _, message = text[commit.end() + 1 : end].partition("\n\n")
        found = filter(None, map(_FIELD.fullmatch, head.split("\n")))
        fields = {field["name"]: field["value"] for field in found}
        words = "\n".join(line.removeprefix("    ") for line in message.split("\n")).strip()
        turn = Turn(
            speaker=_ADDRESS.sub("", fields.get("Author", "")).strip(),
            text=f"{words}\n\ncommit {commit['id'][:_SHORT]}",
            time=to_time(fields.get("AuthorDate") or fields.get("Date")),
            metadata={"commit": commit["id"]},
        )
        turns.append(turn)
    return [Conversation(app="git", title=f"Git log: {PurePosixPath(name).stem}", turns=turns)]


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
    messages = [m for m in value if isinstance(m, dict) and isinstance(m.get("ts"), str)]
    known = _slack_names(messages, users)
    there = {message["ts"] for message in messages}

    def place(message: Mapping[str, Any]) -> tuple[float, float]:
        own, opened = message["ts"], message.get("thread_ts")
        return _seconds(opened if opened in there else own), _seconds(own)

    path = PurePosixPath(name)
    channel = path.parent.name
    return [
        Conversation(
            app="slack",
            title=", ".join(filter(None, (f"#{channel}" if channel else "", path.stem))),
            turns=[_slack_turn(message, known) for message in sorted(messages, key=place)],
            metadata={"channel": channel} if channel else {},
        )
    ]


def _seconds(ts: object) -> float:
    return float(ts) if isinstance(ts, str) and _TS.fullmatch(ts) else 0.0


def _slack_turn(message: Mapping[str, Any], known: Mapping[str, str]) -> Turn:
    def shown(match: re.Match[str]) -> str:
        """What Slack's markup for people, channels and links shows."""
        kind, target, label = match.groups()
        if kind == "@":
            return f"@{known.get(target) or label or target}"
        if kind:
            return f"{'#' if kind == '#' else '@'}{label or target}"
        return f"{label} ({target})" if label and label != target else target

    user, bot = _text(message.get("user")), _text(_map(message.get("bot_profile")).get("name"))
    speaker = known.get(user) or _text(message.get("username")) or bot or user or "unknown"
    files = (_text(f.get("name")) or _text(f.get("title")) for f in _maps(message.get("files")))
    text = html.unescape(_MARKUP.sub(shown, _text(message.get("text"))))
    thread, ts = message.get("thread_ts"), message["ts"]
    return Turn(
        speaker=speaker if str(message.get("subtype") or "") in _SAID_SLACK else "",
        text="\n".join(filter(None, (text, *(f"[{file}]" for file in files if file)))),
        # What follows the seconds tells messages of one second apart.
        time=to_time(int(_seconds(ts))) if _TS.fullmatch(ts) else None,
        metadata={"thread": thread} if isinstance(thread, str) else {},
    )


def _slack_names(messages: Sequence[Mapping[str, Any]], users: object) -> dict[str, str]:
    """Names by user: as `users.json` tells, else as the first message carries them."""
    told = [(one.get("user"), _map(one.get("user_profile"))) for one in reversed(messages)]
    told += [
        (one.get("id"), {"name": one.get("name"), **one, **_map(one.get("profile"))})
        for one in _maps(users)
    ]
    found: dict[str, str] = {}
    for user, profile in told:
        names = (_text(profile.get(key)) for key in ("real_name", "display_name", "name"))
        if isinstance(user, str) and (name := next(filter(None, names), "")):
            found[user] = name
    return found


# A chat of WhatsApp, as its app on iOS and on Android exports it.


_DATE = r"(?P<a>\d{1,4})(?P<sign>[./-])(?P<b>\d{1,2})(?P=sign)(?P<c>\d{1,4})\.?"
_TIME = (
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    r"(?: ?(?P<half>[AaPp])\.? ?[Mm]\b\.?)?"
)
_INVISIBLE = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_IOS = re.compile(rf"\[{_DATE},? {_TIME}\] (?P<rest>[^\n]*)")
_ANDROID = re.compile(rf"{_DATE},? {_TIME} - (?P<rest>[^\n]*)")
_SPEAKER = re.compile(r"(?P<name>[^:\n]{1,60}): ?(?P<text>[^\n]*)")
_SPACES = str.maketrans({"\u202f": " ", "\u00a0": " "})
_LOOKED_AT = 4_000
_TITLE = re.compile(r"whatsapp[ _-]?chat[ _-]?(?:with|mit|avec|con|com|met)?[ _-]*", re.I)
_MONTHS = 12


def is_whatsapp(text: str) -> bool:
    """Whether the text opens with two messages, or one by a named speaker, and no other text."""
    lines = _clean(text[:_LOOKED_AT]).lstrip("\n").split("\n")
    found = [match for line in lines if (match := _opening(line))]
    opens = bool(found) and _opening(lines[0]) is not None
    return opens and any(_SPEAKER.match(match["rest"]) for match in found)


def whatsapp(text: str, name: str) -> list[Conversation]:
    """The chat as one conversation. `name` is the file's path, which may name the other side."""
    lines: list[tuple[re.Match[str], list[str]]] = []  # that opens a message, and those that go on
    for line in _clean(text).split("\n"):
        if match := _opening(line):
            lines.append((match, []))
        elif lines:
            lines[-1][1].append(line)
    order = _order([match for match, _ in lines])
    turns: list[Turn] = []
    for match, more in lines:
        spoken = _SPEAKER.match(match["rest"])
        speaker = spoken["name"].strip().removeprefix("~").strip() if spoken else ""
        whole = "\n".join((spoken["text"] if spoken else match["rest"], *more)).strip()
        turns.append(Turn(speaker=speaker, text=whole, time=_whatsapp_time(match, order)))
    path = PurePosixPath(name)
    is_unnamed = path.stem == "_chat"  # as iOS calls each of them
    stem = _TITLE.sub("", path.parent.name if is_unnamed else path.stem)
    people = list(dict.fromkeys(turn.speaker for turn in turns if turn.speaker))
    is_named = not is_unnamed or path.parent.name.casefold().startswith("whatsapp")
    title = stem if stem and is_named else ", ".join(people[:3])
    return [Conversation(app="whatsapp", title=f"WhatsApp chat: {title}", turns=turns)]


def _clean(text: str) -> str:
    """The text without invisible marks of direction, and with plain spaces."""
    return _INVISIBLE.sub("", text).translate(_SPACES)


def _opening(line: str) -> re.Match[str] | None:
    return _IOS.match(line) or _ANDROID.match(line)


def _order(found: Sequence[re.Match[str]]) -> str:
    """`ymd`, `dmy` or `mdy`, decided by the chat as a whole.

    A number over twelve is a day; else the order in which dates do not run back; else what goes
    with the way of writing: a slash and twelve hours are American.
    """
    numbers = [(int(match["a"]), int(match["b"]), int(match["c"])) for match in found]
    if any(len(match["a"]) > 2 for match in found):
        return "ymd"
    if any(a > _MONTHS for a, _, _ in numbers):
        return "dmy"
    if any(b > _MONTHS for _, b, _ in numbers):
        return "mdy"
    back_dmy = sum(one > other for one, other in pairwise((c, b, a) for a, b, c in numbers))
    back_mdy = sum(one > other for one, other in pairwise((c, a, b) for a, b, c in numbers))
    is_american = any(match["sign"] == "/" and match["half"] for match in found)
    return "mdy" if back_mdy < back_dmy or (back_mdy == back_dmy and is_american) else "dmy"


def _whatsapp_time(match: re.Match[str], order: str) -> datetime | None:
    """The time of a message, its zone unknown and taken for UTC; None for what is no date."""
    values = dict(zip(order, (int(match[part]) for part in "abc"), strict=True))
    year = values["y"] + (2000 if values["y"] < 100 else 0)
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].casefold() == "p" else 0)
    with suppress(ValueError):
        return datetime(year, values["m"], values["d"], hour, minute, second, tzinfo=UTC)
    return None


# Which chat a JSON value is an export of, by its shape.


_SLACK_LISTS = {"users.json", "channels.json", "groups.json", "dms.json", "mpims.json"}
_LOOKED_AT_JSON_EXPORTS = 20
"""Items of a list by which it is recognised."""


_MARKS_OF_JSON = re.compile(rb'"(?:mapping|chat_messages|guild|ts)"')
_MARKS_OF_TEXT = re.compile(rb"commit [0-9a-f]{7}|\d[./-]\d{1,2}[./-]\d")


def read_json_export(raw: RawFile) -> ReadResult | None:
    """The conversations of an export in JSON; None for JSON of anything else.

    Raises `UnreadableError` for the lists of people and channels of an unpacked Slack export: they
    name what the messages hold, and alone they are identifiers.
    """
    name, folder = PurePosixPath(raw.source).name, raw.path and raw.path.parent
    if name not in _SLACK_LISTS and not _MARKS_OF_JSON.search(raw.data):
        return None
    try:
        value = json.loads(decode(raw))
    except ValueError:  # malformed, as the core's own reader says
        return None
    # Files of these names may be anybody's: what stands in them and beside them decides.
    if name in _SLACK_LISTS and isinstance(value, list) and folder is not None:
        beside = all((folder / other).is_file() for other in ("channels.json", "users.json"))
        # People and channels have an id, and members or a profile.
        are_listed = all(
            isinstance(item, dict)
            and isinstance(item.get("id"), str)
            and (isinstance(item.get("members"), list) or isinstance(item.get("profile"), dict))
            for item in value[:_LOOKED_AT_JSON_EXPORTS]
        )
        if beside and are_listed:
            raise raw.unreadable("a list of a Slack export, which its messages are read with")
    users = None
    # What `users.json` says, which lies above the folders of the channels, with their list.
    # Nothing outside of the file's folder is read but what shows itself as the same export.
    export = folder.parent if folder is not None else None
    is_slacks = isinstance(value, list) and value and is_slack(value[:_LOOKED_AT_JSON_EXPORTS])
    if is_slacks and export is not None and (export / "channels.json").is_file():
        with (
            suppress(OSError, ValueError, RecursionError),
            open_real(export / "users.json") as opened,
        ):
            users = json.loads(opened.read(int(raw.settings.max_megabytes * 1_000_000)))
    found = conversations(value, raw.source, users)
    return None if found is None else read_result(raw, found)


def read_text_export(raw: RawFile) -> ReadResult | None:
    """A chat of WhatsApp or the log of git; None for any other text."""
    if not _MARKS_OF_TEXT.search(raw.data[:_LOOKED_AT].replace(b"\0", b"")):
        return None
    text = decode(raw)
    for is_one, conversation in ((is_whatsapp, whatsapp), (is_git_log, git_log)):
        if is_one(text):
            return read_result(raw, conversation(text, raw.source))
    return None


def conversations(value: object, name: str, users: object = None) -> list[Conversation] | None:
    """The conversations of an export; None where the value is none.

    `name` is the file's path, `users` what a Slack export's `users.json` holds.
    """
    if isinstance(value, dict):
        shape = {"guild": dict, "channel": dict, "messages": list}
        if all(isinstance(value.get(part), kind) for part, kind in shape.items()):
            return discord(value)
        value = [value]
    if not isinstance(value, list) or not value:
        return None
    first = value[:_LOOKED_AT_JSON_EXPORTS]
    if is_slack(first):
        return slack(value, name, users)
    # Conversations with an assistant: each of the first items must look like one.
    if not all(isinstance(item, dict) for item in value):
        return None
    if all(isinstance(one.get("mapping"), dict) and "title" in one for one in first):
        return [chatgpt(one, i) for i, one in enumerate(value, 1)]
    if all(isinstance(one.get("chat_messages"), list) for one in first):
        return [claude(one, i) for i, one in enumerate(value, 1)]
    return None


# ZIP archives as chat apps hand out: Slack's, ChatGPT's, Claude's and WhatsApp's.


_CHATS = re.compile(
    r"(?:.{0,500}/)?(?:[^/]{1,200}/\d{4}-\d\d-\d\d\.json|conversations\.json|[^/]{0,200}chat[^/]{0,200}\.txt)",
    re.I,
)
_FAULTS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, ValueError)


def read_zip_export(raw: RawFile) -> ReadResult:
    """The conversations of an export; parts that cannot be read are reported.

    Raises `UnreadableError` for an archive that is none, `LimitError` for one with too many parts
    or that unfolds to more than `max_megabytes`.
    """
    try:
        with zipfile.ZipFile(BytesIO(raw.data)) as archive:
            return _read_archive(raw, archive)
    except _FAULTS as error:
        raise raw.unreadable("malformed (not a ZIP archive)") from error


def _read_archive(raw: RawFile, archive: zipfile.ZipFile) -> ReadResult:
    members = archive.infolist()
    check_limit(raw.limits, "members", len(members), raw.source)
    chats = [m for m in members if _CHATS.fullmatch(m.filename) and not m.is_dir()]
    users = [m for m in members if m.filename.rpartition("/")[2] == "users.json"][:1]
    if sum(member.file_size for member in (*chats, *users)) > raw.settings.max_megabytes * 1e6:
        raise raw.unreadable(f"unpacks to more than {raw.settings.max_megabytes:g} MB")
    named = json.loads(archive.read(users[0])) if users else None
    skipped: list[Skipped] = []
    found: list[Conversation] = []
    for member in chats:
        name = member.filename
        try:
            data = archive.read(member)
            if name.lower().endswith(".json"):
                read = conversations(json.loads(data), name, named) or []
            else:
                path = f"{raw.source.rpartition('.')[0]}/{name}"
                text = decode(replace(raw, source=path, data=data, path=None))
                read = whatsapp(text, path) if is_whatsapp(text) else []
        except (UnreadableError, RecursionError, *_FAULTS) as error:
            reason = error.reason if isinstance(error, UnreadableError) else "malformed"
            skipped.append(Skipped(source=raw.record(name), reason=reason))
            continue
        found += [replace(one, key=one.key or name.rpartition(".")[0]) for one in read]
    if not found and not skipped:
        raise raw.unreadable("unsupported format (a ZIP archive that is no export of a chat)")
    return replace(read_result(raw, found), skipped=tuple(skipped))


# Who spoke in a conversation.


@structure(of=MEDIA_TYPE, most=1_000)
def chat_structure(document: Document) -> Iterator[Statement]:
    """Each speaker `spoke_in` the conversation, from the first turn on."""
    if document.metadata.get("app") in WITH_ASSISTANTS:
        return
    for piece in document.pieces:
        speaker = piece.metadata.get("speaker")
        if isinstance(speaker, str):
            yield Statement(
                head=speaker,
                head_type="person",
                relation_type="spoke_in",
                tail=document.title,
                start=piece.start,
                end=piece.start + len(speaker),
                valid_from=to_time(piece.metadata.get("created_at")),
            )
