"""Tools, called as an assistant calls them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from clew.operations.spec import Caller
from clew.operations.toolbox import Toolbox


def call(
    toolbox: Toolbox, tool: str, caller: Caller | None = None, /, **arguments: object
) -> dict[str, Any]:
    """The result of a call that succeeds, of which the text says the same."""
    outcome = toolbox.call(tool, arguments, caller=caller)
    assert not outcome.is_error, outcome.text
    assert outcome.content["success"] is True
    assert json.loads(outcome.text) == outcome.content
    return dict(outcome.content)


def refusal(toolbox: Toolbox, tool: str, /, **arguments: object) -> str:
    """The message of a call that fails."""
    outcome = toolbox.call(tool, arguments)
    assert outcome.is_error, outcome.text
    assert outcome.content == {"success": False, "error": outcome.text}
    return outcome.text


def pages(toolbox: Toolbox, tool: str, /, **arguments: object) -> Iterator[dict[str, Any]]:
    """Each page of a result, by the cursor that the page before it gives."""
    cursor = None
    while True:
        page = call(toolbox, tool, cursor=cursor, **arguments)
        yield page
        cursor = page.get("next_cursor")
        if cursor is None:
            return
