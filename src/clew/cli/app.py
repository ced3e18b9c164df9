"""The command line, put together; each command lives in `clew.cli.commands`.

To start quickly, only the command that is asked for is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pkgutil import resolve_name
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from clew.cli.common import Common, silence_driver
from clew.cli.options import JsonOption, NamespaceOption, StoreOption, VerboseOption, command
from clew.cli.output import write_line

EXIT_STATUSES = (
    "Exit status: 0 done; 1 done, but something was left out or found wrong; "
    "2 wrong use, or the command failed; 130 interrupted."
)

COMMANDS = {
    "demo": "asking.demo",
    "index": "indexing.index",
    "search": "asking.search",
    "ask": "asking.ask",
    "documents": "inspect.documents",
    "show": "inspect.show",
    "delete": "indexing.delete",
    "path": "graph_queries:find_paths",
    "timeline": "graph_queries:entity_timeline",
    "communities": "graph_queries:list_communities",
    "topics": "inspect.topics",
    "subgraph": "inspect.subgraph",
    "stats": "inspect.stats",
    "check": "inspect.check",
    "doctor": "doctor.doctor",
    "audit": "documents:audit",
    "reindex": "inspect.reindex",
    "backup": "inspect.backup",
    "restore": "inspect.restore",
    "copy": "inspect.copy",
    "export": "inspect.export",
    "import": "inspect.import_memory",
    "pack": "indexing.pack",
    "tools": "serving.tools",
    "call": "serving.call",
    "install": "serving.install",
    "mcp": "serving.mcp",
    "serve": "serving.serve",
    "ui": "serving.ui",
    "token": "serving.token",
}
"""Each command's function in its module, or the operation that it is made from."""
GROUPS = {
    "entity": (
        "Look at the entities of the graph, and put right what was taken for one.",
        {
            "show": "inspect.show_entity",
            "neighbors": "graph_queries:get_entity_neighbors",
            "merge": "graph_changes:merge_entities",
            "split": "graph_changes:split_entity",
            "edit": "graph_changes:edit_entity",
        },
    ),
}
"""Help and commands of each group of commands."""


class _Commands(Mapping[str, Any]):
    """Commands by name, each imported when it is asked for."""

    def __init__(
        self, places: Mapping[str, str], groups: Mapping[str, tuple[str, Mapping[str, str]]]
    ) -> None:
        self._places = places
        self._groups = groups

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - typer keeps its classes to itself
        if name in self._groups:
            text, places = self._groups[name]
            return _Group(name=name, help=text, commands=_Commands(places, {}))
        if name not in self._places:
            run = resolve_name(self._further()[name][0])
        elif ":" not in self._places[name]:
            module, function = self._places[name].split(".")
            run = getattr(import_module(f"clew.cli.commands.{module}"), function)
        else:
            from clew.cli.operations import made_from

            run = made_from(resolve_name(f"clew.operations.{self._places[name]}"))
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)
        alone.command(name)(command(run))
        return get_command(alone)

    def _further(self) -> Mapping[str, Sequence[Any]]:
        """The commands of plugins, none of which is in a group."""
        from clew.hookspecs import named  # the core's own commands need no plugin

        return named("commands") if self._groups else {}

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*self._places, *self._further(), *self._groups))

    def __len__(self) -> int:
        return len(list(iter(self)))


class _Group(TyperGroup):
    """A group of the commands given."""

    def __init__(
        self,
        *,
        commands: Mapping[str, Any] | None = None,
        **given: Any,  # noqa: ANN401 - typer's own
    ) -> None:
        super().__init__(**{**given, "no_args_is_help": True, "rich_markup_mode": None})
        self.commands = commands or _Commands(COMMANDS, GROUPS)  # type: ignore[assignment]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's own
        """The command meant; where that is the name of an option, say whose."""
        option = f"--{args[0]}"
        if args[0] not in self.commands:
            for name, found in self.commands.items():
                if any(option in parameter.opts for parameter in getattr(found, "params", ())):
                    ctx.fail(f"No such command {args[0]!r}; see {ctx.command_path} {name} {option}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's own
        """Run the command; a value that cannot be read is told beside what was expected."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            found: list[Any] = getattr(error.__cause__, "errors", list)()
            if found:  # pydantic's; its message names no value
                error.message += f", not {found[0]['input']!r}"
            raise


# rich is slow to load: help is plain text, and only commands that draw import it.
app = typer.Typer(
    name="clew",
    cls=_Group,
    help="Find the passages that answer a question, and the path that leads to them.",
    epilog=EXIT_STATUSES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from clew import __version__

        write_line(f"clew {__version__}")
        raise typer.Exit


@app.callback()
def _common_options(
    context: typer.Context,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    silence_driver()
    context.obj = Common(store=store, namespace=namespace, json=json, verbose=verbose)
