"""Chats: exports of ChatGPT, Claude, Discord, Slack and WhatsApp, and the log of git."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.hookspecs import hookimpl

_READING = "clew.plugins.chats.reading"


@hookimpl
def readers() -> Mapping[str, str]:
    """See `Hooks`."""
    return {
        "application/json": f"{_READING}:read_json_export",
        "application/zip": f"{_READING}:read_zip_export",
        "text/plain": f"{_READING}:read_text_export",
    }


@hookimpl
def structures() -> Sequence[str]:
    """See `Hooks`."""
    return [f"{_READING}:chat_structure"]
