"""What the tool `ask` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.tools.namespaces import own_namespaces

if TYPE_CHECKING:
    from clew.tools.spec import Arguments, Call, Result


def ask(call: Call, arguments: Arguments) -> Result:
    """`ask`."""
    mode = arguments["mode"]
    return call.engine.ask(
        arguments["query"],
        tell=call.progress.tell,
        mode=mode,
        steps=arguments["steps"],
        model_filter=arguments["model_filter"],
        model=call.caller.model,
        max_tokens_spent=arguments["max_tokens_spent"] or None,
        namespaces=own_namespaces(call, arguments["namespaces"]),
        # An overview reads more passages than it quotes.
        limit=None if mode == "global" else arguments["top_k"],
        where=arguments["where"],
        since=arguments["since"],
        until=arguments["until"],
        as_of=arguments["as_of"],
        min_confidence=arguments["min_confidence"] or None,
    ).to_dict()
