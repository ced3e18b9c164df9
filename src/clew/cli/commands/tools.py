"""Commands that are made from a tool's declaration, `clew tools`, and `clew call`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from inspect import Parameter as Argument
from inspect import Signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.common import Common
from clew.cli.output import write_json
from clew.cli.progress import steps
from clew.errors import InputError
from clew.tools.spec import Caller, Format, Parameter, Tool
from clew.tools.toolbox import TOOLS
from clew.types import ToolProfile

if TYPE_CHECKING:
    from clew.tools.toolbox import Toolbox


ENTITY_IDS = frozenset({"entity_id", "other_id", "source_id", "target_id"})
"""Parameters of tools that are an entity's id; a person gives the entity's whole name as well."""
BUDGET = "max_tokens"
"""What a result may fill of a model's context: a person is shown as much as there may be."""
TYPES: Mapping[str, Any] = {
    "integer": int,
    "number": float,
    "boolean": bool,
    "strings": list[str],
    "integers": list[int],
}
"""What the kinds of a tool's parameters are at a shell; the others are texts."""


def made_from(name: str) -> Callable[..., None]:
    """The command of a tool: what it requires are arguments, its other parameters options."""
    (tool,) = (one for one in TOOLS if one.name == name)

    def run(common: Common, **given: Any) -> None:  # noqa: ANN401 - values of any parameter
        arguments = {name: value for name, value in given.items() if value not in (None, [])}
        with common.open() as engine, steps(shown=not common.json) as progress:
            engine.state.progress = progress
            for parameter in tool.parameters:
                if parameter.name == BUDGET:
                    arguments[BUDGET] = parameter.maximum
                elif parameter.name in ENTITY_IDS and parameter.kind == "integer":
                    arguments[parameter.name] = engine.entities.named(given[parameter.name]).id
            content = _called(engine.tools, tool.name, arguments)
        if common.json:
            write_json(content)
        else:
            from clew.cli.render import print_content

            print_content(content)

    run.__doc__ = tool.description
    own = [_argument(p) for p in tool.parameters if p.name != BUDGET]
    common = Argument("common", Argument.KEYWORD_ONLY, annotation=Common)
    vars(run)["__signature__"] = Signature([common, *own])
    return run


def _argument(parameter: Parameter) -> Argument:
    """A parameter of a tool as typer reads it off a signature; defaults are the tool's own."""
    is_entity = parameter.name in ENTITY_IDS
    kind = str if is_entity else TYPES.get(parameter.kind, str)
    metavar = parameter.name.upper().removesuffix("_ID" if is_entity else "")
    is_bounded = parameter.kind in ("integer", "number") and not is_entity
    bounds = {"min": parameter.minimum, "max": parameter.maximum} if is_bounded else {}
    by_name = " A whole name, or an id." if is_entity else ""
    given: dict[str, Any] = {"help": f"{parameter.description}{by_name}"}
    given |= {} if parameter.clamped else bounds
    annotated: Any = Annotated  # mypy takes no type that is a value
    if parameter.required:
        annotation = annotated[kind, typer.Argument(metavar=metavar, **given)]
        return Argument(parameter.name, Argument.KEYWORD_ONLY, annotation=annotation)
    option = f"--{parameter.name.replace('_', '-')}"
    if parameter.kind == "boolean":
        name = option if parameter.default is False else f"{option}/--no-{option[2:]}"
        setting = typer.Option(name, show_default=False, **given)
    else:
        setting = typer.Option(option, metavar=metavar, show_default=False, **given)
    annotation = annotated[kind | None, setting]
    return Argument(parameter.name, Argument.KEYWORD_ONLY, default=None, annotation=annotation)


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
    from clew.tools.spec import definitions
    from clew.tools.toolbox import further_tools
    from clew.wiring import store_exists

    chosen: list[Tool] = [tool for tool in TOOLS if profile in tool.profiles]
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
    from clew.tools.spec import load_json

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
        raise InputError(outcome.text) from outcome.error
    return outcome.content


def _waited_for(toolbox: Toolbox, job_id: str) -> dict[str, Any]:
    """The status of a job once it has ended: it could not go on without this process."""
    with steps(shown=True) as report:
        while (status := _called(toolbox, _STATUS, {"job_id": job_id}))["status"] in _UNDER_WAY:
            of = "" if status["total"] is None else f" ({status['completed']} of {status['total']})"
            report(f"{status['description']}{of}", status["completed"], status["total"])
            time.sleep(_POLL_SECONDS)
    return status
