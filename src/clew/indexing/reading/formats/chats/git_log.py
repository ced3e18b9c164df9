"""What `git log` printed to a file: a commit is what its author says at its date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath

from clew.indexing.reading.formats.chats.conversation import Conversation, Turn

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
