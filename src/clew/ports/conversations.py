"""Conversations with a language model, as the store keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from clew.ports.language_model import Message


@dataclass(frozen=True, kw_only=True, slots=True)
class ConversationInfo:
    """A conversation that is kept."""

    id: str
    title: str
    """How it began, shortened."""
    began_at: str
    """In UTC."""
    messages: int


class ConversationLog(Protocol):
    """Conversations, kept until they are forgotten."""

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Keep further messages of a conversation, which begins with its first."""
        ...

    def messages(self, conversation: str) -> list[Message]:
        """All messages of a conversation, the earliest first; none where there is none such."""
        ...

    def conversations(self) -> list[ConversationInfo]:
        """All conversations, the latest first."""
        ...

    def forget(self, conversation: str) -> bool:
        """Forget a conversation; whether there was one."""
        ...
