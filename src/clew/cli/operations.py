"""Commands made from operations: their parameters as arguments and options, their results shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter as Argument
from inspect import Signature, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.common import Common, steps
from clew.cli.options import read_question
from clew.cli.output import write_json
from clew.errors import InputError
from clew.operations.spec import Caller, Parameter, Tool

if TYPE_CHECKING:
    from clew import Clew
    from clew.operations.toolbox import Toolbox


ENTITY_IDS = frozenset({"entity_id", "other_id", "source_id", "target_id"})
"""Parameters of tools that are an entity's id; a person gives the entity's whole name as well."""
WORDS = "query"
"""The parameter that is a question, of which a shell gives the words."""
ALSO: Mapping[str, tuple[str, ...]] = {"top_k": ("--limit", "--top-k")}
"""Names of options that are not the parameter's alone."""
BUDGET = "max_tokens"
"""What a result may fill of a model's context: a person is shown as much as there may be."""
TYPES: Mapping[str, Any] = {
    "integer": int,
    "number": float,
    "boolean": bool,
    "strings": list[str],
}
"""What the kinds of a tool's parameters are at a shell; the others are texts."""


def made_from(operation: Tool) -> Callable[..., None]:
    """The command of an operation: what it requires are arguments, its other parameters options."""

    @takes(operation)
    def run(common: Common, **given: Any) -> None:  # noqa: ANN401 - values of any parameter
        with common.open() as engine, steps(shown=not common.json) as engine.state.progress:
            content = called(engine, operation, given)
        show(common, content)

    return run


def takes(operation: Tool, *left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the parameters of an operation, those left out aside, before its own.

    Its function gets by name those that were given, as the operation takes them.
    """
    taken = [p for p in operation.parameters if p.name not in (BUDGET, *left_out)]

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(common: Common, **given: Any) -> None:  # noqa: ANN401 - values of any parameter
            for parameter in taken:
                value = given.pop(parameter.name)
                if value not in (None, []):
                    # Numbers with commas are read as an array of JSON.
                    is_list = parameter.kind == "integers"
                    given[parameter.name] = f"[{value}]" if is_list else value
            if WORDS in given:
                given[WORDS] = read_question(given[WORDS])
            function(common, **given)

        run.__doc__ = function.__doc__ or operation.description
        common, *own = signature(function, eval_str=True).parameters.values()
        own = [one for one in own if one.kind is not Argument.VAR_KEYWORD]
        vars(run)["__signature__"] = Signature(
            [
                one.replace(kind=Argument.KEYWORD_ONLY)
                for one in (common, *map(_argument, taken), *own)
            ]
        )
        return run

    return declare


def called(engine: Clew, operation: Tool, given: dict[str, Any]) -> dict[str, Any]:
    """What an operation answers, entities by their names; a person is shown all that it can."""
    for parameter in operation.parameters:
        if parameter.name == BUDGET:
            given = {BUDGET: parameter.maximum, **given}
        elif parameter.name in ENTITY_IDS and parameter.kind == "integer":
            given = {**given, parameter.name: engine.entities.named(given[parameter.name]).id}
    return call_tool(engine.tools, operation.name, given, whole=True)


def show(common: Common, content: Mapping[str, Any]) -> None:
    """Print a result, as JSON or by the renderer of its type."""
    if common.json:
        write_json(content)
        return
    from clew.cli.render import print_content

    print_content(content)


def _argument(parameter: Parameter) -> Argument:
    """A parameter of a tool as typer reads it off a signature; defaults are the tool's own."""
    annotated: Any = Annotated  # mypy takes no type that is a value
    name, is_entity = parameter.name, parameter.name in ENTITY_IDS
    if name == WORDS:
        words = typer.Argument(metavar="QUESTION", help="Words of the question; `-` reads it.")
        kind: Any = list[str] if parameter.required else list[str] | None
        default = Argument.empty if parameter.required else None
        return Argument(
            name, Argument.KEYWORD_ONLY, default=default, annotation=annotated[kind, words]
        )
    kind = str if is_entity else TYPES.get(parameter.kind, str)
    metavar = name.upper().removesuffix("_ID" if is_entity else "")
    given: dict[str, Any] = {
        "help": parameter.description + (" A whole name, or an id." if is_entity else "")
    }
    if parameter.kind in ("integer", "number") and not (is_entity or parameter.clamped):
        given |= {"min": parameter.minimum, "max": parameter.maximum}
    if parameter.required:
        annotation = annotated[kind, typer.Argument(metavar=metavar, **given)]
        return Argument(name, Argument.KEYWORD_ONLY, annotation=annotation)
    option = f"--{name.replace('_', '-')}"
    names = ALSO.get(name, (option,))
    if parameter.kind == "boolean":
        names = (option if parameter.default is False else f"{option}/--no-{option[2:]}",)
    else:
        given["metavar"] = "N" if "min" in given else metavar
    annotation = annotated[kind | None, typer.Option(*names, show_default=False, **given)]
    return Argument(name, Argument.KEYWORD_ONLY, default=None, annotation=annotation)


def call_tool(
    toolbox: Toolbox, tool: str, given: Mapping[str, Any], *, whole: bool = False
) -> dict[str, Any]:
    """What a tool answers, with `whole` all of it; raises `InputError` where it fails."""
    # Whoever has the folder may name all that is in it.
    named = given.get("namespaces")
    caller = Caller(namespaces=tuple(named) if isinstance(named, list) else (), whole=whole)
    outcome = toolbox.call(tool, given, caller=caller)
    if outcome.is_error:
        raise InputError(outcome.text) from outcome.error
    return outcome.content
