"""The command line and the tools call the same thing by the same name."""

from __future__ import annotations

import pytest
import typer
from typer.core import TyperGroup

from clew.cli.app import app
from clew.tools.toolbox import TOOLS

ARGUMENTS = {"question": "query", "name": "entity", "document": "document"}
"""What a command takes without a name, and the parameter that is."""
OF_EVERY_COMMAND = {"store", "namespace", "json", "verbose", "help"}
TO_FIT = {"cursor", "max_tokens"}
"""A tool's result has to fit into a window; a terminal shows all of it."""
PAIRS: dict[str, tuple[str, set[str], set[str]]] = {
    # By tool: the command, what only the tool has, what only the command has.
    "query_documents": (
        "search",
        set(),
        # What one strategy takes, and how it is printed.
        {"alpha", "fusion", "hierarchy", "layer", "level", "temporal"}
        | {"citations", "context", "explain"},
    ),
    "find_paths": ("path", set(), set()),
    "entity_timeline": ("timeline", set(), set()),
    "relevant_subgraph": ("subgraph", set(), {"output"}),
    "list_communities": ("communities", set(), set()),
    "list_documents": ("documents", {"limit"}, set()),
    "get_document": ("show", {"document"}, {"entity", "text", "versions"}),
    "audit": ("audit", set(), set()),
}


def options_of(command: str) -> set[str]:
    """Names of a command's options, of those with several every one, and of its arguments."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    found = set()
    for parameter in group.commands[command].params:
        if parameter.param_type_name == "argument":
            found.add(ARGUMENTS.get(parameter.name or "", parameter.name or ""))
        else:
            found |= {o.lstrip("-").replace("-", "_") for o in parameter.opts if o[:2] == "--"}
    return found - OF_EVERY_COMMAND


@pytest.mark.parametrize("tool", PAIRS)
def test_what_both_take_has_one_name(tool: str) -> None:
    command, tool_alone, command_alone = PAIRS[tool]
    (parameters,) = [{p.name for p in t.parameters} - TO_FIT for t in TOOLS if t.name == tool]
    options = options_of(command) - TO_FIT
    if {"limit", "top_k"} <= options and not {"limit", "top_k"} <= parameters:
        options -= {"limit", "top_k"} - parameters  # one option with two names
    assert parameters - options == tool_alone
    assert options - parameters == command_alone
