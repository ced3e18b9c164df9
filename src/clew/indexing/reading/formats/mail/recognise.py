"""Mail known by its content: mailboxes without an ending, the files of a Maildir."""

from __future__ import annotations

import re

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


def may_be_mail(data: bytes) -> bool:
    """Whether a file without an ending that says so is mail."""
    return is_mailbox(data) or is_message(data)


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
