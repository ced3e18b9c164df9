"""What the tool `ask` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.tools.spec import Arguments, Call, Result


def ask(call: Call, arguments: Arguments) -> Result:
    """`ask`."""
    return call.engine.ask(
        arguments["query"],
        limit=arguments["top_k"],
        where=arguments["where"],
        since=arguments["since"],
        until=arguments["until"],
        as_of=arguments["as_of"],
    ).to_dict()
