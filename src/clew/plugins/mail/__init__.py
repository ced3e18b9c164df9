"""Mail: messages, mailboxes, and what they state of who wrote to whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clew.hookspecs import hookimpl

if TYPE_CHECKING:
    from clew.indexing.reading.formats.common import RawFile, ReadResult

_FORMATS = "clew.indexing.reading.formats"


def read_unnamed(raw: RawFile) -> ReadResult | None:
    """Mail in a file without an ending that says so."""
    from clew.indexing.reading.formats.mail import may_be_mail, read_mail

    return read_mail(raw) if may_be_mail(raw.data) else None


@hookimpl
def readers() -> Mapping[str, object]:
    """See `Hooks`."""
    read_mail = f"{_FORMATS}.mail:read_mail"
    return {
        "message/rfc822": read_mail,
        "application/mbox": read_mail,
        "text/plain": read_unnamed,
    }


@hookimpl
def structures() -> Sequence[str]:
    """See `Hooks`."""
    return ["clew.indexing.structure.people:mail_structure"]
