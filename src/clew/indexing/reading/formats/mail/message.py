"""One message as a document: people, date, thread, and its text with quotations set apart."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from typing import Any

from clew.indexing.reading.formats.common import RawFile
from clew.indexing.reading.formats.mail.fields import (
    BoundedFields,
    date_field,
    fields_of,
    message_ids,
    people,
    text_field,
)
from clew.indexing.reading.formats.mail.parts import Part, read_parts
from clew.indexing.reading.formats.mail.people import MEDIA_TYPE, Person, flat, from_flat
from clew.indexing.reading.formats.mail.quotes import passages
from clew.text import one_line
from clew.times import in_utc
from clew.types import Document, Piece

SOMEONE = "someone"
"""The author of a quotation that does not say whose it is."""
_SHOWN = 10
"""Recipients that the text names."""
_DEEPEST = 5
"""Messages attached to messages that are read."""
_REPLY = re.compile(r"\s*+(?:re|aw|sv|antw|rif|res|odp|ynt)\s*+(?:\[\d+\])?+\s*+[:：]", re.I)


@dataclass(frozen=True, slots=True)
class _Block:
    """A part of the document's text."""

    text: str
    is_searched: bool = True
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def is_own(self) -> bool:
        """Whether these are words of the sender."""
        return self.is_searched and not self.metadata


def parse(data: bytes) -> Message:
    """The bytes as a message. Raises whatever the library does for what it cannot parse."""
    return BytesParser(policy=BoundedFields()).parsebytes(data)


def message_document(
    raw: RawFile, message: Message, source: str, held: Collection[str] | None = None
) -> Document:
    """A message as a document.

    `held` are the ids of the messages beside it, None where every other is held to be there. The
    text opens with sender, recipients and date. Quotations of a message that is held, and
    signatures, stay in the text but in no piece, so that nobody finds them for the sender's words;
    other quotations are pieces marked `quoted`, with their own author.
    """
    fields = fields_of(message)
    metadata = _metadata(fields)
    date = date_field(fields)
    if date is not None:
        metadata["date"] = date.isoformat()
    parts, attachments = read_parts(raw, message)
    if attachments:
        metadata["attachments"] = attachments
    is_known = _answers_held(fields, held)
    by = f"quoted by {metadata.get('author', SOMEONE)}"
    blocks = list(_blocks(raw, parts, by, is_known))
    if opening := _opening(metadata):
        # By itself it says less than what the metadata of each passage says.
        is_alone = any(b.is_searched for b in blocks) and not blocks[0].is_own
        blocks.insert(0, _Block(opening, not is_alone))
    text, pieces = _joined(blocks)
    return Document(
        source=source,
        text=text,
        title=text_field(fields.get("subject", "")),
        media_type=MEDIA_TYPE,
        created_at=in_utc(date) if date else None,
        date_source="metadata" if date else "",
        date_precision="time" if date else "",
        metadata=metadata,
        pieces=pieces,
    )


def _metadata(fields: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("from", "to", "cc"):
        named = people(fields.get(name, ""))
        if name == "from" and named:
            found["author"] = named[0].name or named[0].address
        if named:
            found[name] = flat(named)
    own, answered = (message_ids(fields.get(n, "")) for n in ("message-id", "in-reply-to"))
    before = message_ids(fields.get("references", "")) or answered
    if own:
        found["message_id"] = own[0]
    if answered or before:
        found["in_reply_to"] = (answered or before[-1:])[0]
    if before or own:
        found["thread"] = (before or own)[0]
    if lists := message_ids(fields.get("list-id", "")):
        found["list"] = lists[0]
    return found


def _answers_held(fields: dict[str, str], held: Collection[str] | None) -> bool:
    """Whether the message answers one that is held."""
    named = fields.get("in-reply-to", ""), fields.get("references", "")
    answered = [id_ for value in named for id_ in message_ids(value)]
    if held is None:
        return bool(answered) or _REPLY.match(text_field(fields.get("subject", ""))) is not None
    return any(id_ in held for id_ in answered)


def _opening(metadata: dict[str, Any]) -> str:
    """Who wrote to whom and when, as lines."""
    lines = []
    for name in ("from", "to", "cc"):
        if shown := _shown(from_flat(metadata.get(name)), with_address=name == "from"):
            lines.append(f"{name.capitalize()}: {shown}")
    if date := metadata.get("date"):
        lines.append(f"Date: {date[:16].replace('T', ' ')}")
    if names := metadata.get("attachments"):
        lines.append(f"Attachments: {', '.join(names)}")
    return "\n".join(lines)


def _shown(named: Sequence[Person], *, with_address: bool) -> str:
    shown = [
        f"{p.name} <{p.address}>" if with_address and p.name and p.address else p.name or p.address
        for p in named[:_SHOWN]
    ]
    more = len(named) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _blocks(
    raw: RawFile, parts: Sequence[Part], by: str, is_known: bool, depth: int = 0
) -> Iterator[_Block]:
    """The parts of a message; `by` says who quotes what it quotes."""
    for part in parts:
        if part.kind == "attachment":
            opening = f"Attachment {part.name or 'without a name'}:"
            yield _Block(f"{opening}\n{part.text.strip()}", True, {"attachment": part.name})
        elif part.message is None:
            yield from _body_blocks(part.text, by, is_known)
        elif depth < _DEEPEST:
            yield from _attached_message(raw, part.message, by, depth)


def _body_blocks(text: str, by: str, is_known: bool) -> Iterator[_Block]:
    for passage in passages(text.strip("\n")):
        if passage.kind in ("own", "signature"):
            yield _Block(passage.text, passage.kind == "own")
        else:
            is_searched = passage.kind == "forward" or not is_known
            said = {"quoted": True, "author": [passage.author or SOMEONE, by]}
            yield _Block(passage.text, is_searched, said)


def _attached_message(raw: RawFile, message: Message, by: str, depth: int) -> Iterator[_Block]:
    """A message that is attached, as one that is quoted."""
    fields = fields_of(message)
    metadata = _metadata(fields)
    if date := date_field(fields):
        metadata["date"] = date.isoformat()
    subject = text_field(fields.get("subject", ""))
    own = {"quoted": True, "author": [metadata.get("author", SOMEONE), by]}
    if date:
        own["date"] = metadata["date"]
    opening = "\n".join(filter(None, (_opening(metadata), subject)))
    parts, _ = read_parts(raw, message)
    yield _Block(f"Attached message:\n{opening}", True, own)
    for block in _blocks(raw, parts, by, False, depth + 1):
        yield _Block(block.text, block.is_searched, {**own, **block.metadata})


def _joined(blocks: Sequence[_Block]) -> tuple[str, tuple[Piece, ...]]:
    """The text of all blocks, and its pieces; none where all of it is the sender's own."""
    runs: list[_Block] = []
    for block in blocks:
        same = runs and (runs[-1].is_searched, runs[-1].metadata) == (
            block.is_searched,
            block.metadata,
        )
        if same:
            runs[-1] = _Block(f"{runs[-1].text}\n\n{block.text}", block.is_searched, block.metadata)
        else:
            runs.append(block)
    parts, pieces, at = [], [], 0
    for number, run in enumerate(runs, 1):
        text = run.text.strip("\n")
        if run.is_searched and text.strip():
            end = at + len(text)
            pieces.append(Piece(start=at, end=end, key=str(number), metadata=run.metadata))
        parts.append(text)
        at += len(text) + 2
    whole = len(runs) == 1 and runs[0].is_own
    return "\n\n".join(parts), () if whole else tuple(pieces)


def record_key(metadata: dict[str, Any], digest: str) -> str:
    """The message's own id; where it has none, the beginning of its digest."""
    return one_line(str(metadata.get("message_id") or digest[:16]))
