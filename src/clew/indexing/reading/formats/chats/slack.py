"""A day of a channel of Slack, as its export writes it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from clew.indexing.reading.formats.chats.conversation import Conversation, Turn
from clew.times import to_time

_TS = re.compile(r"\d{9,11}(?:\.\d{1,9})?")
_MARKUP = re.compile(r"<([@#!]?)([^<>|]{1,2000})(?:\|([^<>|]{0,2000}))?>")
_SAID = frozenset({"", "thread_broadcast", "bot_message", "file_share", "me_message"})
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
            turns=[_turn(message, known) for message in _by_thread(messages)],
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


def _turn(message: Mapping[str, Any], known: Mapping[str, str]) -> Turn:
    said = str(message.get("subtype") or "") in _SAID
    speaker = _speaker(message, known)
    texts = [_plain(_text(message.get("text")), known), *_files(message)]
    metadata: dict[str, Any] = {}
    thread = message.get("thread_ts")
    if isinstance(thread, str):
        metadata["thread"] = thread
    return Turn(
        speaker=speaker if said else "",
        text="\n".join(filter(None, texts)),
        time=_time(message["ts"]),
        metadata=metadata,
    )


def _time(ts: str) -> datetime | None:
    # What follows the seconds tells messages of one second apart.
    return to_time(int(_seconds(ts))) if _TS.fullmatch(ts) else None


def _speaker(message: Mapping[str, Any], known: Mapping[str, str]) -> str:
    user = _text(message.get("user"))
    bot = message.get("bot_profile")
    named = _text(bot.get("name")) if isinstance(bot, dict) else ""
    return known.get(user) or _text(message.get("username")) or named or user or "unknown"


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
    return [f"[{name}]" for f in named if (name := _text(f.get("name")) or _text(f.get("title")))]


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
    names = (_text(profile.get(key)) for key in ("real_name", "display_name", "name"))
    return next(filter(None, names), "")


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
