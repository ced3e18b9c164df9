"""Requests by their hash, and replies as the store keeps them."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from clew.models.llm.tokens import prompt_text
from clew.ports.language_model import LoggedReply, Reply, ToolCall, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.ports.language_model import Message, Request

_VERSION = 1
"""Of what is hashed and how replies are written; another one makes all of them unknown."""


class UnderWay:
    """Requests that are being asked: whoever wants the same waits, and finds the reply kept."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """Have nobody else ask the request of this key meanwhile."""
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            yield


def request_key(provider: str, request: Request) -> str:
    """Hash of all that the answer depends on; the same for the same request in every process."""
    asked = request.parameters
    assert asked is not None
    schema = None if request.schema is None else request.schema.model_json_schema()
    parts = [
        _VERSION,
        provider,
        [asked.model, asked.temperature, asked.max_output_tokens],
        request.instructions,
        [_said(message) for message in request.messages],
        schema,
        [[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools],
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _said(message: Message) -> dict[str, Any]:
    """What is said; where a provider keeps it makes no other request."""
    said = asdict(message)
    del said["response_id"]
    return said


def answered(key: str, request: Request, reply: Reply) -> LoggedReply:
    """A reply as the store keeps it."""
    kept = {"text": reply.text, "finish": reply.finish, "calls": list(map(asdict, reply.calls))}
    return _entry(key, request, reply, reply=json.dumps(kept), reason="")


def failed(key: str, request: Request, reason: str, reply: Reply | None = None) -> LoggedReply:
    """A failure as the store keeps it, with what it took."""
    spent = reply or Reply(text="", finish="stop", model=_model(request))
    return _entry(key, request, spent, reply="", reason=reason)


def restored(entry: LoggedReply) -> Reply:
    """A reply that was kept; nothing was spent on it."""
    kept = json.loads(entry.reply)
    return Reply(
        text=kept["text"],
        finish=kept["finish"],
        model=entry.model,
        usage=Usage(),
        cost=None,
        calls=tuple(ToolCall(**call) for call in kept["calls"]),
        cached=True,
    )


def _model(request: Request) -> str:
    return request.parameters.model if request.parameters else ""


def _entry(key: str, request: Request, spent: Reply, *, reply: str, reason: str) -> LoggedReply:
    return LoggedReply(
        key=key,
        task=request.task,
        model=_model(request),
        subject=request.subject[:200],
        documents=request.documents,
        reason=reason,
        reply=reply,
        characters=len(prompt_text(request)),
        usage=spent.usage,
        cost=spent.cost,
        seconds=spent.seconds,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
