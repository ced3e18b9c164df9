"""The parts of a message: what is to be read of it, and the names of what is attached."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from typing import Literal, cast

from clew.errors import UnreadableError
from clew.indexing.reading.formats.common import RawFile, check_limit, clean_text
from clew.indexing.reading.formats.encoding import decode
from clew.indexing.reading.formats.html import html_document
from clew.indexing.reading.formats.mail.fields import text_field

_LONGEST_ATTACHMENT = 200_000
"""Characters of an attached text that are read."""
_SLOW_CODECS = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape"})
_UNREAD = frozenset({"text/calendar", "text/vcard", "text/x-vcard", "text/rfc822-headers"})


@dataclass(frozen=True, slots=True)
class Part:
    """A text of a message."""

    kind: Literal["body", "attachment", "message"]
    text: str = ""
    name: str = ""
    """Of an attachment's file."""
    message: Message | None = None
    """Where a message is attached: that message."""


def read_parts(raw: RawFile, message: Message) -> tuple[list[Part], list[str]]:
    """The texts of a message in order, and the names of its attachments.

    Of alternatives the plain text is read, where it says anything. Raises `LimitError` for too many
    parts.
    """
    found: list[Part] = []
    names: list[str] = []
    for part in _leaves(raw, message):
        kind = part.get_content_type()
        name = text_field(part.get_filename() or "")
        if kind == "message/rfc822":
            nested = part.get_payload()
            if isinstance(nested, list) and nested:
                found.append(Part("message", message=cast("Message", nested[0])))
            continue
        is_attached = part.get_content_disposition() == "attachment" or bool(name)
        if is_attached and name:
            names.append(name)
        if part.get_content_maintype() != "text" or kind in _UNREAD:
            continue
        text = _text(raw, part, kind)
        if is_attached:
            text = text[:_LONGEST_ATTACHMENT]
        if text.strip():
            found.append(Part("attachment" if is_attached else "body", text, name))
    return found, list(dict.fromkeys(names))


def _leaves(raw: RawFile, message: Message) -> Iterator[Message]:
    """The parts that hold no others, in order; messages within count as one."""
    stack, count = [message], 0
    while stack:
        part = stack.pop()
        count += 1
        check_limit(raw.limits, "members", count, raw.source)
        children = part.get_payload() if part.get_content_maintype() == "multipart" else None
        if not isinstance(children, list):
            yield part
            continue
        inner = cast("list[Message]", children)
        if part.get_content_subtype() == "alternative" and inner:
            inner = [_best(inner)]
        stack.extend(reversed(inner))


def _best(alternatives: list[Message]) -> Message:
    """The plain text where it says something, else the richest, which stands last."""
    plain = (p for p in alternatives if p.get_content_type() == "text/plain")
    return next((p for p in plain if _bytes(p).strip()), alternatives[-1])


def _bytes(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(raw: RawFile, part: Message, kind: str) -> str:
    """A part's text; empty where it is none."""
    data = _bytes(part)
    text = _declared(data, part.get_content_charset())
    if text is None:
        whole = RawFile(source=raw.source, data=data, settings=raw.settings, limits=raw.limits)
        with suppress(UnreadableError):
            text = decode(whole)
    if text is None or "\x00" in text:
        return ""
    return html_document(text, raw.source).text if kind == "text/html" else clean_text(text)


def _declared(data: bytes, charset: str | None) -> str | None:
    """The text in the encoding that the part declares, which UTF-8 must not be taken for."""
    try:
        if not charset or codecs.lookup(charset).name in _SLOW_CODECS:
            return None
        return data.decode(charset)
    except (LookupError, ValueError):
        return None
