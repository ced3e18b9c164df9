"""A chat of WhatsApp, as its app on iOS and on Android exports it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple

from clew.indexing.reading.formats.chats.conversation import Conversation, Turn

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
    turns = [_turn(line, order) for line in lines]
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


def _turn(line: _Line, order: str) -> Turn:
    spoken = _SPEAKER.match(line.match["rest"])
    text = spoken["text"] if spoken else line.match["rest"]
    return Turn(
        speaker=spoken["name"].strip().removeprefix("~").strip() if spoken else "",
        text="\n".join((text, *line.more)).strip(),
        time=_time(line.match, order),
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


def _time(match: re.Match[str], order: str) -> datetime | None:
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
