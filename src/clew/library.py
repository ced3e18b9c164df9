"""What users of the library get: the engine, and the tools that call it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from clew.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.chat import Conversation, Permit
    from clew.operations.toolbox import Toolbox
    from clew.stores.sqlite.journal import SqliteConversations


class Clew(Engine):
    """One namespace's store and what can be done with it; made by `clew.open`."""

    @cached_property
    def tools(self) -> Toolbox:
        """Everything that an assistant may call, by name: `tools.call("search", {"query": …})`."""
        from clew.operations.toolbox import make_toolbox  # takes longer than opening a store

        return make_toolbox(self)

    @cached_property
    def conversations(self) -> SqliteConversations:
        """Conversations that are kept, and forgetting them."""
        from clew.stores.sqlite.journal import SqliteConversations

        return SqliteConversations(self.state.journal)

    def chat(
        self,
        *,
        conversation: str | None = None,
        tools: Sequence[str] = (),
        allow: Sequence[str] = (),
        permit: Permit | None = None,
        max_rounds: int = 8,
        max_tokens_spent: int | None = None,
        max_cost: float | None = None,
        remember: bool = False,
    ) -> Conversation:
        """A conversation with the language model, which reads the store by Clew's own tools.

        Args:
            conversation: Id of one that goes on; None: a new one.
            tools: Names of the tools that it may call; none: those of `core` that only read.
            allow: Further tools, which change something.
            permit: Asked before each call of these, with its arguments; None: they are allowed.
            max_rounds: Replies with calls of tools in one turn, 1 to 50.
            max_tokens_spent: Tokens of the whole conversation; None: those of the settings.
            max_cost: US dollars, where prices are known; None: those of the settings.
            remember: Keep the facts that the user states, with their sentences.

        Raises `NotFoundError` for an unknown conversation, `InputError` for an unknown tool, for
        one that changes something without being allowed, and for rounds that cannot be.
        """
        from clew.chat import Conversation

        return Conversation(
            self,
            self.tools,
            self.conversations,
            conversation=conversation,
            tools=tools,
            allow=allow,
            permit=permit,
            max_rounds=max_rounds,
            max_tokens_spent=max_tokens_spent,
            max_cost=max_cost,
            remember=remember,
        )
