"""`clew tools` and `clew call`: the definitions of tools, and one of them run by hand."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.common import Common
from clew.cli.operations import call_tool
from clew.cli.output import write_json
from clew.cli.progress import steps
from clew.errors import InputError
from clew.operations.spec import Format, Tool
from clew.operations.toolbox import OPERATIONS
from clew.types import ToolProfile

if TYPE_CHECKING:
    from clew.operations.toolbox import Toolbox


def tools(
    common: Common,
    format: Annotated[
        Format,
        typer.Option(
            metavar="FORMAT",
            help="`mcp`, `openai`, `openai-strict`, `openai-responses`, `ollama` or `anthropic`.",
        ),
    ] = "mcp",
    profile: Annotated[
        ToolProfile, typer.Option("--profile", metavar="NAME", help="`core`, `full` or `memory`.")
    ] = "core",
) -> None:
    """Print the definitions of the tools for assistants, as a vendor's client takes them.

    With `--profile full`, those of the store's packs among them.
    """
    import clew
    from clew.operations.spec import definitions
    from clew.operations.toolbox import further_tools
    from clew.wiring import store_exists

    chosen: list[Tool] = [tool for tool in OPERATIONS if profile in tool.profiles]
    settings = clew.load_settings(store=common.store, namespace=common.namespace)
    if profile == "full" and store_exists(settings):
        with common.open() as engine:
            chosen += further_tools(engine)
    write_json(definitions(chosen, format))


_STATUS = "query_job_status"
_UNDER_WAY = ("queued", "running")
_POLL_SECONDS = 0.1
_QUOTED = 80
"""Characters of arguments that an error repeats."""


def call(
    common: Common,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Its name, as `clew tools` says.")],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON", help="Its arguments as an object; `-` reads them.")
    ] = "{}",
) -> None:
    """Run one of the tools by hand and print its result as JSON."""
    from clew.operations.spec import load_json

    text = sys.stdin.read() if arguments == "-" else arguments
    quoted = repr(text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…")
    try:
        given = load_json(text)
    except ValueError as error:
        raise InputError(
            f"the arguments {quoted} are no JSON ({error}); expected an object such as"
            ' {"query": "…"}'
        ) from error
    if not isinstance(given, dict):
        raise InputError(
            f'the arguments {quoted} are no object; expected one such as {{"query": "…"}}'
        )
    writes = any(known.name == tool and not known.read_only for known in OPERATIONS)
    with common.open(make=writes, reads_here=True) as engine:
        content = call_tool(engine.tools, tool, given)
        if content.get("status") in _UNDER_WAY and tool != _STATUS:
            content |= _waited_for(engine.tools, content["job_id"])
    write_json(content)
    if content.get("status") == "failed" and tool != _STATUS:
        raise InputError(content["error"])


def _waited_for(toolbox: Toolbox, job_id: str) -> dict[str, Any]:
    """The status of a job once it has ended: it could not go on without this process."""
    with steps(shown=True) as report:
        while (status := call_tool(toolbox, _STATUS, {"job_id": job_id}))["status"] in _UNDER_WAY:
            of = "" if status["total"] is None else f" ({status['completed']} of {status['total']})"
            report(f"{status['description']}{of}", status["completed"], status["total"])
            time.sleep(_POLL_SECONDS)
    return status
