"""Conversations with ChatGPT and with Claude, of their `conversations.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clew.indexing.reading.formats.chats.conversation import Conversation, Turn
from clew.times import to_time

USER = "User"
_KINDS = frozenset({"text", "multimodal_text", "code"})


def chatgpt(record: Mapping[str, Any], number: int) -> Conversation:
    """The branch of the tree of messages that was last shown."""
    key = record.get("conversation_id") or record.get("id") or str(number)
    turns = [turn for node in _branch(record) if (turn := _chatgpt_turn(node)) is not None]
    return Conversation(app="chatgpt", key=str(key), title=_title(record.get("title")), turns=turns)


def _branch(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Messages from the root to the node shown, or to the last one where none is named."""
    mapping = record["mapping"]
    at = record.get("current_node")
    if not isinstance(at, str) or at not in mapping:
        at = next(reversed(mapping), None)
    found: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(at, str) and at in mapping and at not in seen:
        seen.add(at)
        node = mapping[at]
        if not isinstance(node, dict):
            break
        if isinstance(node.get("message"), dict):
            found.append(node["message"])
        at = node.get("parent")
    return found[::-1]


def _chatgpt_turn(message: Mapping[str, Any]) -> Turn | None:
    author, content = message.get("author"), message.get("content")
    about = message.get("metadata")
    hidden = isinstance(about, dict) and about.get("is_visually_hidden_from_conversation")
    if not isinstance(author, dict) or not isinstance(content, dict) or hidden:
        return None
    speaker = {"user": USER, "assistant": "ChatGPT"}.get(str(author.get("role")))
    if speaker is None or content.get("content_type") not in _KINDS:
        return None
    # Code written for a tool is no turn of the conversation.
    if message.get("recipient", "all") != "all":
        return None
    parts = content.get("parts")
    given = parts if isinstance(parts, list) else [content]
    texts = (part.get("text") if isinstance(part, dict) else part for part in given)
    text = "\n".join(text for text in texts if isinstance(text, str) and text)
    return Turn(speaker=speaker, text=text, time=to_time(message.get("create_time")))


def claude(record: Mapping[str, Any], number: int) -> Conversation:
    """A conversation with its messages in order."""
    key = record.get("uuid") or str(number)
    messages = [m for m in record["chat_messages"] if isinstance(m, dict)]
    return Conversation(
        app="claude",
        key=str(key),
        title=_title(record.get("name")),
        turns=[_claude_turn(message) for message in messages],
    )


def _claude_turn(message: Mapping[str, Any]) -> Turn:
    speaker = USER if message.get("sender") in ("human", "user") else "Claude"
    texts = [*_claude_texts(message), *_attached(message)]
    time = to_time(message.get("created_at"))
    return Turn(speaker=speaker, text="\n\n".join(texts), time=time)


def _claude_texts(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    texts = [p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)]
    if not any(text.strip() for text in texts) and isinstance(message.get("text"), str):
        return [message["text"]]
    return texts


def _attached(message: Mapping[str, Any]) -> Iterator[str]:
    for name in ("attachments", "files"):
        items = message.get(name)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and isinstance(item.get("file_name"), str):
                yield f"[{item['file_name']}]"


def _title(value: object) -> str:
    return value if isinstance(value, str) else ""
