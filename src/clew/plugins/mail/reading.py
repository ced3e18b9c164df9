"""Mail: single messages (`.eml`, the files of a Maildir) and mailboxes (`.mbox`).

`mailbox` finds the messages in a file, `message` makes a document of one, of its header fields
(`fields`), its parts (`parts`), and what of its text is the sender's own (`quotes`).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.message import Message
from email.parser import BytesParser
from itertools import groupby, pairwise
from pathlib import PurePosixPath
from typing import Any

from clew.errors import UnreadableError
from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.reading.common import (
    Person,
    RawFile,
    ReadResult,
    flat,
    from_flat,
    joined,
)
from clew.indexing.structure import structure
from clew.plugins.mail.parts import (
    MEDIA_TYPE,
    BoundedFields,
    Part,
    date_field,
    fields_of,
    message_ids,
    passages,
    people,
    read_parts,
    text_field,
)
from clew.text import one_line
from clew.times import in_utc
from clew.types import AliasEvidence, Document, Piece, Skipped, Statement

# The messages of a file: one, or those of a mailbox, each a document.


_NEXT = re.compile(rb"(?:\r?\n){2}(?=From [^\n]{1,300}?\d\d:\d\d)")
_ESCAPED = re.compile(rb"^>(>*+From )", re.M)


def read_mail(raw: RawFile) -> ReadResult:
    """A message, or a mailbox of them.

    Those of a mailbox have the file's path, `#` and their message id as source. One that cannot be
    read is reported and does not hold up the rest.
    """
    if is_mailbox(raw.data):
        return _read_mailbox(raw)
    if not raw.data.strip():
        raise raw.unreadable("empty")
    with _broken(raw.source):
        message = parse(raw.data)
        if not fields_of(message):
            raise raw.unreadable("malformed (no header of a message)")
        folder = PurePosixPath(raw.source).parent.name
        held = None if folder in ("cur", "new") else ()
        return ReadResult(documents=(message_document(raw, message, raw.source, held),))


def _read_mailbox(raw: RawFile) -> ReadResult:
    found: list[tuple[str, Message]] = []
    skipped: list[Skipped] = []
    # The messages, each with the line before it.
    data = raw.data.lstrip(b"\r\n")
    breaks = (match.end() for match in _NEXT.finditer(data))
    starts = [0, *(at for at in breaks if FROM_LINE.match(data, at))]
    for number, (start, end) in enumerate(pairwise([*starts, len(data)]), 1):
        one = _ESCAPED.sub(rb"\1", data[start:end])
        # Programs write the first line as they like.
        digest = hashlib.sha256(one.partition(b"\n")[2]).hexdigest()
        try:
            with _broken(raw.record(number)):
                found.append((digest, parse(one)))
        except UnreadableError as error:
            skipped.append(Skipped(source=error.source, reason=error.reason))
    held = {id_ for _, m in found for id_ in message_ids(fields_of(m).get("message-id", ""))}
    documents: dict[str, Document] = {}
    times: Counter[str] = Counter()
    for digest, message in found:
        try:
            with _broken(raw.source):
                document = message_document(raw, message, raw.source, held)
        except UnreadableError as error:
            skipped.append(Skipped(source=raw.record(digest[:16]), reason=error.reason))
            continue
        # The message's own id; where it has none, the beginning of its digest.
        key = one_line(str(dict(document.metadata).get("message_id") or digest[:16]))
        if documents.get(raw.record(key), document).sha256 == digest:
            continue  # the same message again
        times[key] += 1
        source = raw.record(key) + (f"~{times[key]}" if times[key] > 1 else "")
        documents[source] = replace(document, source=source, origin=raw.source, sha256=digest)
    return ReadResult(documents=tuple(documents.values()), skipped=tuple(skipped))


@contextmanager
def _broken(source: str) -> Iterator[None]:
    """Whatever the library raises for a broken message is said of that message alone."""
    try:
        yield
    except (UnreadableError, MemoryError):
        raise
    except RecursionError as error:
        raise UnreadableError(source, "malformed (nested too deeply)") from error
    except Exception as error:
        raise UnreadableError(source, f"malformed message ({type(error).__name__})") from error


# One message as a document: people, date, thread, and its text with quotations set apart.


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
    parts, attachments = read_parts(raw, message)
    if attachments:
        metadata["attachments"] = attachments
    # Whether the message answers one that is held.
    named = fields.get("in-reply-to", ""), fields.get("references", "")
    answered = [id_ for value in named for id_ in message_ids(value)]
    if held is None:
        is_known = bool(answered) or _REPLY.match(text_field(fields.get("subject", ""))) is not None
    else:
        is_known = any(id_ in held for id_ in answered)
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
    if date := date_field(fields):
        found["date"] = date.isoformat()
    return found


def _opening(metadata: dict[str, Any]) -> str:
    """Who wrote to whom and when, as lines."""
    lines = []
    for name in ("from", "to", "cc"):
        named = from_flat(metadata.get(name))
        shown = [one.name or one.address for one in named[:_SHOWN]]
        if name == "from" and named and named[0].name and named[0].address:
            shown[0] = f"{named[0].name} <{named[0].address}>"
        more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
        if shown:
            lines.append(f"{name.capitalize()}: {', '.join(shown)}{more}")
    if date := metadata.get("date"):
        lines.append(f"Date: {date[:16].replace('T', ' ')}")
    if names := metadata.get("attachments"):
        lines.append(f"Attachments: {', '.join(names)}")
    return "\n".join(lines)


def _blocks(
    raw: RawFile, parts: Sequence[Part], by: str, is_known: bool, depth: int = 0
) -> Iterator[_Block]:
    """The parts of a message; `by` says who quotes what it quotes."""
    for part in parts:
        if part.kind == "attachment":
            opening = f"Attachment {part.name or 'without a name'}:"
            yield _Block(f"{opening}\n{part.text.strip()}", True, {"attachment": part.name})
        elif part.message is None:
            for passage in passages(part.text.strip("\n")):
                if passage.kind in ("own", "signature"):
                    yield _Block(passage.text, passage.kind == "own")
                else:
                    is_searched = passage.kind == "forward" or not is_known
                    said = {"quoted": True, "author": [passage.author or SOMEONE, by]}
                    yield _Block(passage.text, is_searched, said)
        elif depth < _DEEPEST:  # a message that is attached, as one that is quoted
            fields = fields_of(part.message)
            metadata = _metadata(fields)
            own = {"quoted": True, "author": [metadata.get("author", SOMEONE), by]}
            if "date" in metadata:
                own["date"] = metadata["date"]
            head = (_opening(metadata), text_field(fields.get("subject", "")))
            inner, _ = read_parts(raw, part.message)
            yield _Block("\n".join(["Attached message:", *filter(None, head)]), True, own)
            for block in _blocks(raw, inner, by, False, depth + 1):
                yield _Block(block.text, block.is_searched, {**own, **block.metadata})


def _joined(blocks: Sequence[_Block]) -> tuple[str, tuple[Piece, ...]]:
    """The text of all blocks, and its pieces; none where all of it is the sender's own."""
    grouped = groupby(blocks, key=lambda block: (block.is_searched, block.metadata))
    runs = [(kind, "\n\n".join(b.text for b in run).strip("\n")) for kind, run in grouped]
    text, starts = joined([part for _, part in runs], "\n\n")
    pieces = tuple(
        Piece(start=start, end=start + len(part), key=str(number), metadata=metadata)
        for number, (((is_searched, metadata), part), start) in enumerate(
            zip(runs, starts, strict=True), 1
        )
        if is_searched and part.strip()
    )
    return text, () if all(block.is_own for block in blocks) else pieces


# Mail known by its content: mailboxes without an ending, the files of a Maildir.


FROM_LINE = re.compile(
    rb"(?<![^\n])From (?=[^\n]{1,300}?\d\d:\d\d)[^\n]{1,600}+\n(?=>?[!-9;-~]{1,80}+[: ])"
)
"""The line before each message of a mailbox; the header follows."""
_FIELD = re.compile(rb"([!-9;-~]{1,80}):[^\n]*+\r?\n(?:[ \t][^\n]*+\r?\n)*+")
_TELLING = frozenset(
    {
        *(b"from", b"to", b"cc", b"subject", b"date", b"message-id", b"received", b"return-path"),
        *(b"mime-version", b"delivered-to", b"in-reply-to", b"references", b"content-type"),
    }
)
_LOOKED_AT = 64_000
"""Bytes by which a file is recognised."""


def read_unnamed(raw: RawFile) -> ReadResult | None:
    """Mail in a file without an ending that says so."""
    return read_mail(raw) if is_mailbox(raw.data) or is_message(raw.data) else None


def is_mailbox(data: bytes) -> bool:
    """Whether a file opens as a mailbox does: the line that parts messages, and a header."""
    return FROM_LINE.match(data.lstrip(b"\r\n")[:_LOOKED_AT]) is not None


def is_message(data: bytes) -> bool:
    """Whether a file opens with the header of a message: sender and two more of its fields."""
    names, at, head = set(), 0, data[:_LOOKED_AT]
    while field := _FIELD.match(head, at):
        names.add(field.group(1).lower())
        at = field.end()
    is_ended = at > 0 and (at == len(data) or head[at : at + 2].lstrip(b"\r").startswith(b"\n"))
    return is_ended and b"from" in names and len(names & _TELLING) > 2


# What the header of a message states: who sent it to whom, and what it answers.


_MOST_RECIPIENTS = 20
"""A message to more is an announcement and ties nobody to anybody."""
_ALIAS_SCORE = 0.95
_ROLES = frozenset(
    {
        *("admin", "alerts", "bounce", "bounces", "bugs", "contact", "daemon", "digest", "do"),
        *("donotreply", "help", "info", "list", "mailer", "mailman", "news", "newsletter", "no"),
        *("noreply", "notification", "notifications", "office", "owner", "postmaster", "reply"),
        *("request", "root", "sales", "service", "support", "system", "team", "updates"),
    }
)
"""What the part before the `@` says of addresses behind which there is nobody."""
_ANSWER = "re: "


@structure(of=MEDIA_TYPE, titled=False, prose=False, most=1_000)
def mail_structure(document: Document) -> Iterator[Statement | AliasEvidence]:
    """`sent`, `wrote_to` and `replies_to` of a message; its people's addresses as aliases."""
    people = {name: from_flat(document.metadata.get(name)) for name in ("from", "to", "cc")}
    sender, title = next(iter(people["from"]), None), document.title
    recipients = list(dict.fromkeys([*people["to"], *people["cc"]]))
    if sender:
        told = [(one.name or one.address, _type(one)) for one in recipients if one != sender]
        sent = [("sent", title, "name")]
        sent += [("wrote_to", *one) for one in told if len(recipients) <= _MOST_RECIPIENTS]
        opening = document.text.partition("\n\n")[0]
        for relation, tail, tail_type in sent:
            # The line of the opening that names somebody; its first line else.
            at = max(opening.find(tail), 0)
            start, end = opening.rfind("\n", 0, at) + 1, opening.find("\n", at)
            yield Statement(
                head=sender.name or sender.address,
                head_type=_type(sender),
                relation_type=relation,
                tail=tail,
                tail_type=tail_type,
                start=start,
                end=end if end >= 0 else len(opening),
                valid_from=document.created_at,
            )
    # The subject that a message answers is its own without the mark of an answer.
    if "in_reply_to" in document.metadata and title.casefold().startswith(_ANSWER):
        yield Statement(
            head=title,
            relation_type="replies_to",
            tail=title[len(_ANSWER) :].strip(),
            valid_from=document.created_at,
        )
    for person in [*([sender] if sender else []), *recipients[:_MOST_RECIPIENTS]]:
        if person.name and person.address:
            yield AliasEvidence(
                alias=person.address,
                name=person.name,
                method="exact",
                score=_ALIAS_SCORE,
                evidence=f'"{person.name}" <{person.address}>',
            )


def _type(person: Person) -> str:
    """A person where the name has the shape of one's and the address is none of a role."""
    words = person.address.partition("@")[0].replace("-", ".").replace("_", ".").split(".")
    return "person" if is_person_shaped(person.name) and _ROLES.isdisjoint(words) else "name"
