"""`clew tools` and `clew call`: what assistants are offered, and a call of it by hand."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.common import Common
from clew.cli.output import write_json
from clew.cli.progress import steps
from clew.errors import InputError
from clew.tools.spec import Caller

if TYPE_CHECKING:
    from clew.tools.toolbox import Toolbox

_STATUS = "query_job_status"
_UNDER_WAY = ("queued", "running")
_POLL_SECONDS = 0.1


class ToolFormat(StrEnum):
    """Whose definitions `clew tools` prints; see `clew.tools.formats`."""

    mcp = "mcp"
    openai = "openai"
    openai_strict = "openai-strict"
    openai_responses = "openai-responses"
    ollama = "ollama"
    anthropic = "anthropic"


class ToolProfile(StrEnum):
    """Which tools are meant."""

    core = "core"
    full = "full"
    memory = "memory"


ProfileOption = Annotated[
    ToolProfile, typer.Option("--profile", metavar="NAME", help="`core`, `full` or `memory`.")
]


def tools(
    common: Common,
    format: Annotated[
        ToolFormat,
        typer.Option(
            metavar="FORMAT",
            help="`mcp`, `openai`, `openai-strict`, `openai-responses`, `ollama` or `anthropic`.",
        ),
    ] = ToolFormat.mcp,
    profile: ProfileOption = ToolProfile.core,
) -> None:
    """Print the definitions of the tools for assistants, as a vendor's client takes them.

    With `--profile full`, those of the store's packs among them.
    """
    import clew
    from clew.tools.formats import definitions
    from clew.tools.registry import TOOLS, pack_tools
    from clew.wiring import store_exists

    chosen = [tool for tool in TOOLS if profile.value in tool.profiles]
    settings = clew.load_settings(store=common.store, namespace=common.namespace)
    if profile is ToolProfile.full and store_exists(settings):
        with common.open() as engine:
            chosen += pack_tools(engine)
    write_json(definitions(chosen, format.value))


def call(
    common: Common,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Its name, as `clew tools` says.")],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON", help="Its arguments as an object; `-` reads them.")
    ] = "{}",
) -> None:
    """Run one of the tools by hand and print its result as JSON."""
    from clew.tools.registry import TOOLS

    given = _object(sys.stdin.read() if arguments == "-" else arguments)
    writes = any(known.name == tool and not known.read_only for known in TOOLS)
    with common.open(make=writes, reads_here=True) as engine:
        content = _called(engine.tools, tool, given)
        if content.get("status") in _UNDER_WAY and tool != _STATUS:
            content |= _waited_for(engine.tools, content["job_id"])
    write_json(content)
    if content.get("status") == "failed" and tool != _STATUS:
        raise InputError(content["error"])


def _called(toolbox: Toolbox, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    # Whoever has the folder may name all that is in it.
    named = given.get("namespaces")
    caller = Caller(namespaces=tuple(named) if isinstance(named, list) else ())
    outcome = toolbox.call(tool, given, caller=caller)
    if outcome.is_error:
        raise InputError(outcome.text)
    return outcome.content


def _waited_for(toolbox: Toolbox, job_id: str) -> dict[str, Any]:
    """The status of a job once it has ended: it could not go on without this process."""
    with steps(shown=True) as report:
        while (status := _called(toolbox, _STATUS, {"job_id": job_id}))["status"] in _UNDER_WAY:
            report(_shown(status), status["completed"], status["total"])
            time.sleep(_POLL_SECONDS)
    return status


def _shown(status: dict[str, Any]) -> str:
    total = "" if status["total"] is None else f" ({status['completed']} of {status['total']})"
    return f"{status['description']}{total}"


def _object(text: str) -> dict[str, Any]:
    from clew.tools.validate import load_json

    try:
        value = load_json(text)
    except ValueError as error:
        raise InputError(
            f"the arguments {_short(text)} are no JSON ({error}); expected an object such as"
            ' {"query": "…"}'
        ) from error
    if not isinstance(value, dict):
        raise InputError(
            f'the arguments {_short(text)} are no object; expected one such as {{"query": "…"}}'
        )
    return value


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
