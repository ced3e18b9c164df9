"""Mail: messages, mailboxes, and what they state of who wrote to whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.hookspecs import hookimpl

_READING = "clew.plugins.mail.reading"


@hookimpl
def readers() -> Mapping[str, str]:
    """See `Hooks`."""
    return {
        "message/rfc822": f"{_READING}:read_mail",
        "application/mbox": f"{_READING}:read_mail",
        "text/plain": f"{_READING}:read_unnamed",
    }


@hookimpl
def structures() -> Sequence[str]:
    """See `Hooks`."""
    return [f"{_READING}:mail_structure"]
