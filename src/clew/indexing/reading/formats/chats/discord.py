"""A channel of Discord, as DiscordChatExporter writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clew.indexing.reading.formats.chats.conversation import Conversation, Turn
from clew.times import to_time

_SAID = frozenset({"Default", "Reply", "ThreadStarterMessage", "0", "19"})
"""Types of messages that somebody wrote; others tell of joining, pinning and the like."""


def discord(value: Mapping[str, Any]) -> list[Conversation]:
    """The channel as one conversation."""
    server, channel = (_text(value[part].get("name")) for part in ("guild", "channel"))
    title = f"#{channel}, {server}" if server and server != "Direct Messages" else channel
    messages = [m for m in value["messages"] if isinstance(m, dict)]
    known = {"channel": channel, "server": server, "topic": _text(value["channel"].get("topic"))}
    return [
        Conversation(
            app="discord",
            title=title,
            turns=[_turn(message) for message in messages],
            metadata={name: text for name, text in known.items() if text},
        )
    ]


def _turn(message: Mapping[str, Any]) -> Turn:
    author = message.get("author")
    author = author if isinstance(author, dict) else {}
    name = _text(author.get("nickname")) or _text(author.get("name")) or "unknown"
    said = str(message.get("type", "Default")) in _SAID
    texts = [_text(message.get("content")), *_attached(message)]
    text = "\n".join(filter(None, texts))
    metadata: dict[str, Any] = {}
    reference = message.get("reference")
    if isinstance(reference, dict) and isinstance(reference.get("messageId"), str):
        metadata["replies_to"] = reference["messageId"]
    if isinstance(message.get("id"), str):
        metadata["message_id"] = message["id"]
    return Turn(
        speaker=name if said else "",
        text=text if said else f"{name}: {text}",
        time=to_time(message.get("timestamp")),
        metadata=metadata,
    )


def _attached(message: Mapping[str, Any]) -> list[str]:
    """Names of files, and titles and texts of what is shown of links."""
    found: list[str] = []
    for name, keys in (("attachments", ("fileName",)), ("embeds", ("title", "description"))):
        items = message.get(name)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict):
                texts = [_text(item.get(key)) for key in keys]
                found.append(" – ".join(filter(None, texts)))
    return [f"[{text}]" for text in found if text]


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
