"""A conversation as a document: `Ada: hello` a turn, each turn a piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clew.indexing.reading.formats.common import (
    RawFile,
    ReadResult,
    check_limit,
    clean_text,
    json_safe,
    text_digest,
)
from clew.text import one_line
from clew.types import Document, Piece

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
