"""The messages of a file: one, or those of a mailbox, each a document."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from email.message import Message
from itertools import pairwise
from pathlib import PurePosixPath

from clew.errors import UnreadableError
from clew.indexing.reading.formats.common import RawFile, ReadResult
from clew.indexing.reading.formats.mail.fields import fields_of, message_ids
from clew.indexing.reading.formats.mail.message import message_document, parse, record_key
from clew.indexing.reading.formats.mail.recognise import FROM_LINE, is_mailbox
from clew.types import Document, Skipped

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
    message = _parsed(raw, raw.source, raw.data)
    if not fields_of(message):
        raise raw.unreadable("malformed (no header of a message)")
    folder = PurePosixPath(raw.source).parent.name
    held = None if folder in ("cur", "new") else ()
    return ReadResult(documents=(_document(raw, message, raw.source, held),))


def _read_mailbox(raw: RawFile) -> ReadResult:
    found: list[tuple[str, Message]] = []
    skipped: list[Skipped] = []
    for number, data in enumerate(_messages(raw.data), 1):
        # Programs write the first line as they like.
        digest = hashlib.sha256(data.partition(b"\n")[2]).hexdigest()
        try:
            found.append((digest, _parsed(raw, raw.record(number), data)))
        except UnreadableError as error:
            skipped.append(Skipped(source=error.source, reason=error.reason))
    held = {id_ for _, m in found for id_ in message_ids(fields_of(m).get("message-id", ""))}
    documents: dict[str, Document] = {}
    times: Counter[str] = Counter()
    for digest, message in found:
        try:
            document = _document(raw, message, raw.source, held)
        except UnreadableError as error:
            skipped.append(Skipped(source=raw.record(digest[:16]), reason=error.reason))
            continue
        key = record_key(dict(document.metadata), digest)
        if documents.get(raw.record(key), document).sha256 == digest:
            continue  # the same message again
        times[key] += 1
        source = raw.record(key) + (f"~{times[key]}" if times[key] > 1 else "")
        documents[source] = replace(document, source=source, origin=raw.source, sha256=digest)
    return ReadResult(documents=tuple(documents.values()), skipped=tuple(skipped))


def _messages(data: bytes) -> Iterator[bytes]:
    """The messages of a mailbox, each with the line before it."""
    data = data.lstrip(b"\r\n")
    breaks = (match.end() for match in _NEXT.finditer(data))
    starts = [0, *(at for at in breaks if FROM_LINE.match(data, at))]
    for start, end in pairwise([*starts, len(data)]):
        yield _ESCAPED.sub(rb"\1", data[start:end])


def _parsed(raw: RawFile, source: str, data: bytes) -> Message:
    with _broken(source):
        return parse(data)


def _document(
    raw: RawFile, message: Message, source: str, held: Collection[str] | None
) -> Document:
    with _broken(source):
        return message_document(raw, message, source, held)


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
