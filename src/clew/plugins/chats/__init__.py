"""Chats: exports of ChatGPT, Claude, Discord, Slack and WhatsApp, and the log of git."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.hookspecs import hookimpl

_FORMATS = "clew.indexing.reading.formats.chats"


@hookimpl
def readers() -> Mapping[str, str]:
    """See `Hooks`."""
    return {
        "application/json": f"{_FORMATS}:read_json_export",
        "application/zip": f"{_FORMATS}:read_zip_export",
        "text/plain": f"{_FORMATS}:read_text_export",
    }


@hookimpl
def structures() -> Sequence[str]:
    """See `Hooks`."""
    return ["clew.indexing.structure.people:chat_structure"]
