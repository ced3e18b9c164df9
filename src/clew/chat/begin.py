"""From what a caller asks for to a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.chat.conversation import Conversation
from clew.chat.tools import ChatTools, choose_tools
from clew.errors import InputError, NotFoundError, check_several
from clew.tools.registry import TOOLS
from clew.types.values import random_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.chat.tools import Permit
    from clew.engine import Engine
    from clew.ports.conversations import ConversationLog
    from clew.tools.toolbox import Toolbox

MOST_ROUNDS = 50


def begin(
    engine: Engine,
    toolbox: Toolbox,
    log: ConversationLog,
    *,
    conversation: str | None,
    tools: Sequence[str],
    allow: Sequence[str],
    permit: Permit | None,
    max_rounds: int,
    max_tokens_spent: int | None,
    max_cost: float | None,
    remember: bool,
) -> Conversation:
    """The conversation; see `clew.library.Clew.chat`."""
    check_several(tools=tools, allow=allow)
    if not 1 <= max_rounds <= MOST_ROUNDS:
        raise InputError(f"max_rounds {max_rounds!r} cannot be; expected 1 to {MOST_ROUNDS}")
    if conversation is not None and not log.messages(conversation):
        raise NotFoundError(f"no conversation {conversation!r}; `clew chat --list` names all")
    chosen, llm = choose_tools(TOOLS, tools, allow), engine.settings.llm
    own = engine.state.language_model
    # Replies hold texts of documents that nobody could name: they are not kept.
    model = None if own is None else own.limited(max_tokens_spent, max_cost, keep=False)
    return Conversation(
        engine,
        model,
        # Four characters a token: an answer takes at most a quarter of the context.
        ChatTools(
            toolbox,
            chosen,
            permit or _yes,
            llm.context_tokens,
            # Its calls have no ids: models know answers by their order, and share its processors.
            in_turn=llm.provider == "ollama",
            model=model,
        ),
        log,
        conversation or random_id(12),
        max_rounds=max_rounds,
        remembers=remember,
    )


def _yes(tool: str, arguments: object) -> bool:
    return True
