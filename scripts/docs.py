"""Write or check the pages of docs/ that say what the code says.

    uv run python scripts/docs.py            write docs/cli.md, docs/settings.md, docs/tools.md
    uv run python scripts/docs.py --check    exit with 1 where they, or a version, are out of date

The command line is read from the typer application, the settings from their JSON schema, the tools
from their catalogue.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from clew import __version__
from clew.cli.app import EXIT_STATUSES, app
from clew.cli.options import COMMON_OPTIONS
from clew.operations.spec import Parameter, Tool
from clew.operations.toolbox import MEMORY_TOOLS, OPERATIONS, TOOLS
from clew.settings import Settings
from clew.settings.groups import SettingsGroup

ROOT = Path(__file__).resolve().parent.parent
GENERATED = "<!-- Written by scripts/docs.py; change the code, not this page. -->"


def main() -> int:
    """Do what the arguments say; the exit status."""
    parser = argparse.ArgumentParser(description="Write or check the generated pages.")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder that holds docs/")
    arguments = parser.parse_args()
    pages = {
        "docs/cli.md": command_line_page(),
        "docs/settings.md": settings_page(),
        "docs/tools.md": tools_page(),
        "src/clew/settings/defaults.json": default_settings(),
    }
    if arguments.check:
        return check(arguments.root, pages)
    for name, text in pages.items():
        path = arguments.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"{name} written")
    return 0


def check(root: Path, pages: Mapping[str, str]) -> int:
    """Name what is out of date; 1 where anything is."""
    stale = [name for name, text in pages.items() if read(root / name) != text]
    for name in stale:
        print(f"{name} is out of date; run: python scripts/docs.py")
    versions = list(wrong_versions(root))
    for line in versions:
        print(line)
    return int(bool(stale or versions))


def read(path: Path) -> str | None:
    """The file's text; None where there is no file."""
    return path.read_text(encoding="utf-8") if path.exists() else None


def wrong_versions(root: Path) -> Iterator[str]:
    """Places that name another version than `clew.__version__`."""
    project = tomllib.loads(read(root / "pyproject.toml") or "").get("project", {})
    if project.get("version", __version__) != __version__:
        yield f"pyproject.toml has version {project['version']}, clew.__version__ {__version__}"
    newest = re.search(r"^## \[?(\d+\.\d+\S*?)\]?(?:\s|$)", read(root / "CHANGELOG.md") or "", re.M)
    if newest and newest[1] != __version__:
        yield f"CHANGELOG.md begins with {newest[1]}, clew.__version__ is {__version__}"


TOOLS_AS_COMMANDS = """\
Some commands are [operations](tools.md) under a short name: `path`, `timeline`, `communities`,
`audit`, and `entity neighbors`, `merge`, `split` and `edit`. What the operation requires are their
arguments (an entity by its whole name or its id), its other parameters their options, and `--json`
prints its result as it is. `search`, `ask`, `documents` and `subgraph` take the parameters of
theirs, too. Every other one is called by its name, with its parameters as JSON:

```
clew call suggest_merges                                  entities that may be one
clew call refuse_merge '{"entity_id": 3, "other_id": 7}'  they are not
clew call search_entities '{"query": "mills"}'            entities that a question finds
clew call delete_relation '{"relation_id": 12, "confirm": true}'
clew call prune_graph '{"below": 0.4}'                    relations that little speaks for
clew call prune_graph '{"below": 0.4, "dry_run": false, "confirm": true}'
clew call restore_pruned                                  bring them back
clew call restore_pruned '{"names": ["Vell"]}'            let texts name an entity again
clew call undo_change '{"entry_id": 5}'                   take back what `clew audit` lists
```"""

# --- the command line --------------------------------------------------------------------


def command_line_page() -> str:
    """docs/cli.md."""
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    shared = [option for option in options(root) if option.name in COMMON_OPTIONS]
    parts = [
        "# Command line",
        GENERATED,
        root.help or "",
        "Data goes to standard output; progress, notes and errors go to standard error. "
        "Colours and progress bars appear on a terminal only, and `NO_COLOR` is honoured.",
        EXIT_STATUSES.replace("Exit status:", "Exit status:\n\n-", 1).replace("; ", "\n- "),
        "## Options of every command",
        "They stand before the command's name or after it.",
        bullets(describe_option(option) for option in shared),
        "## Tools as commands",
        TOOLS_AS_COMMANDS,
        *commands(root, "clew"),
    ]
    return "\n\n".join(parts) + "\n"


def commands(group: TyperGroup, trail: str) -> Iterator[str]:
    """Sections for the group's commands, in their order, those of groups within groups too."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, f"{trail} {name}")
        elif isinstance(command, TyperCommand) and not command.hidden:
            yield from command_section(command, f"{trail} {name}")


def command_section(command: TyperCommand, trail: str) -> Iterator[str]:
    """Heading, usage, what it does, its arguments and its own options."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    own = [option for option in options(command) if option.name not in COMMON_OPTIONS]
    shown = [
        argument_usage(a.metavar or (a.name or "").upper(), a.required, a.nargs) for a in arguments
    ]
    yield f"## `{trail}`"
    yield command.help or ""
    yield f"```\n{' '.join([trail, '[OPTIONS]', *shown])}\n```"
    described = [
        *(
            f"`{usage}`: {getattr(a, 'help', '')}"
            for usage, a in zip(shown, arguments, strict=True)
        ),
        *(describe_option(option) for option in own),
    ]
    if described:
        yield bullets(described)


def argument_usage(name: str, required: bool, nargs: int) -> str:
    """`NAME`, `NAME...`, `[NAME]` or `[NAME]...`."""
    return (name if required else f"[{name}]") + ("..." if nargs == -1 else "")


def options(command: TyperCommand | TyperGroup) -> list[TyperOption]:
    """The options that the application itself defines, in their order."""
    return [p for p in command.params if isinstance(p, TyperOption)]


def describe_option(option: TyperOption) -> str:
    """Its names, its value's name, what it does, its default."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else f" `{option.metavar or 'TEXT'}`"
    default = option.default
    shown = f" Default: `{default}`." if default not in (None, False, "") else ""
    return f"{names}{value}: {option.help}{shown}"


def bullets(items: Iterable[str]) -> str:
    """A list in Markdown."""
    return "\n".join(f"- {item}" for item in items)


# --- settings ----------------------------------------------------------------------------

SETTINGS_INTRODUCTION = """\
Each setting comes from the first of these that has it: an argument, an environment variable, the
file `clew.toml` in the working directory, the default. In `clew.toml` the groups are tables:

```toml
namespace = "work"

[split]
chunk_tokens = 180
```"""


def settings_page() -> str:
    """docs/settings.md."""
    schema = Settings.model_json_schema()
    general = {**schema, "description": ""}
    sections = settings_sections("", general, schema["$defs"])
    return "\n\n".join(["# Settings", GENERATED, SETTINGS_INTRODUCTION, *sections]) + "\n"


def default_settings() -> str:
    """What settings are, and say of themselves, where nothing is set; groups in groups left out."""
    found = {
        name: plain_values(value) if isinstance(value, SettingsGroup) else value
        for name, value in Settings.model_construct()
    }
    return json.dumps({**found, "store": str(found["store"])}, indent=1) + "\n"


def plain_values(group: SettingsGroup) -> dict[str, Any]:
    """Fields and properties by name, where JSON holds their values as they are."""
    own = vars(type(group)).items()
    names = [*type(group).model_fields, *(n for n, v in own if isinstance(v, property))]
    values = ((name, getattr(group, name)) for name in names)
    return {name: value for name, value in values if is_plain(value)}


def is_plain(value: object) -> bool:
    """Whether JSON holds the value as it is, tuples as lists."""
    values = tuple(value.values()) if isinstance(value, dict) else value
    values = values if isinstance(values, tuple) else [values]
    return all(one is None or isinstance(one, (str, int, float)) for one in values)


def settings_sections(
    group: str, schema: Mapping[str, Any], definitions: Mapping[str, Any]
) -> Iterator[str]:
    """Heading, meaning and table of a group of settings, then of the groups within it."""
    fields: Mapping[str, Any] = schema["properties"]
    yield f"## `{group}`" if group else "## General"
    if schema["description"]:
        yield schema["description"]
    yield settings_table(group, {n: f for n, f in fields.items() if "$ref" not in f})
    for name, field in fields.items():
        if "$ref" in field:
            within = with_defaults(
                definitions[field["$ref"].rpartition("/")[2]], field.get("default", {})
            )
            path = f"{group}.{name}" if group else name
            yield from settings_sections(path, within, definitions)


def with_defaults(schema: Mapping[str, Any], defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a group with the defaults that it has where it stands."""
    fields = schema["properties"].items()
    held = {n: {**f, "default": defaults[n]} if n in defaults else f for n, f in fields}
    return {**schema, "properties": held}


def settings_table(group: str, fields: Mapping[str, Any]) -> str:
    """A row a setting."""
    header = "| Setting | Environment variable | Type | Default | Range | Meaning |"
    rows = [setting_row(group, name, field) for name, field in fields.items()]
    return "\n".join([header, "| --- " * 6 + "|", *rows])


def setting_row(group: str, name: str, field: Mapping[str, Any]) -> str:
    """Name, variable, type, default, range and meaning of a setting."""
    path = [*group.split("."), name] if group else [name]
    default = field.get("default")
    cells = [
        f"`{'.'.join(path)}`",
        f"`CLEW_{'__'.join(path).upper()}`",
        type_name(field),
        "" if default is None else f"`{json.dumps(default).strip(chr(34))}`",
        value_range(field),
        field.get("description", ""),
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def type_name(field: Mapping[str, Any]) -> str:
    """The JSON type, or `path`; what may be left out is what it is when given."""
    given: Mapping[str, Any] = next(
        (choice for choice in field.get("anyOf", ()) if choice.get("type") != "null"), field
    )
    return str(given.get("format") or given["type"])


def value_range(field: Mapping[str, Any]) -> str:
    """The values that can be."""
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    limits = [f"{words[name]} {field[name]:,}" for name in words if name in field]
    if "pattern" in field:
        limits.append(f"matches `{field['pattern']}`")
    return ", ".join(limits)


# --- tools -------------------------------------------------------------------------------

TOOLS_INTRODUCTION = """\
What an assistant may call. The same tools are served over MCP, run by hand and called in Python:

```
clew call graph_enhanced_search '{"query": "Who built the mill?"}'
clew tools --format openai-strict --profile core
```

```python
tools = store.tools.definitions("openai")
answer = client.chat.completions.create(model=model, messages=messages, tools=tools)
for call in answer.choices[0].message.tool_calls or ():
    print(store.tools.call(call.function.name, json.loads(call.function.arguments)).text)
```

Formats are `mcp`, `openai` (chat completions), `openai-strict`, `openai-responses`, `ollama` and
`anthropic`. A result
carries `success`; one that failed says what was given, what is allowed and what to do next. Null
stands for a parameter's default. `core` is what a server offers unless told otherwise, `full` is
everything. The tools of plugins come with `full`, those of enabled packs with both
([plugins](plugins.md))."""

MEMORY_INTRODUCTION = """\
Assistants rely on the names of the reference memory server. These tools, counted apart from those
above, are the profile `memory`, and come with `full`, too."""

PEOPLE_INTRODUCTION = """\
What else can be done is offered to no assistant: it has commands (`clew audit`, `clew entity
split`), pages and addresses of the explorer, `clew call NAME`, and `store.tools.call(…)`."""


def tools_page() -> str:
    """docs/tools.md."""
    parts = ["# Tools", GENERATED, TOOLS_INTRODUCTION]
    people = tuple(one for one in OPERATIONS if not one.profiles)
    for heading, introduction, operations in (
        ("", "", TOOLS),
        ("# Tools of the memory server", MEMORY_INTRODUCTION, MEMORY_TOOLS),
        ("# Operations for people", PEOPLE_INTRODUCTION, people),
    ):
        parts += [heading, introduction] if heading else []
        for operation in operations:
            parts += tool_section(operation)
    return "\n\n".join(parts) + "\n"


def tool_section(tool: Tool) -> Iterator[str]:
    """Name, what it does, what it may change, its parameters and what it answers."""
    marks = {
        "destructive": tool.destructive,
        "idempotent": tool.idempotent or tool.scope == "read",
        "reaches beyond the store": tool.open_world,
        "asks before it acts": tool.confirm,
    }
    rights = [f"scope `{tool.scope}`", *(mark for mark, holds in marks.items() if holds)]
    profiles = ", ".join(f"`{profile}`" for profile in sorted(tool.profiles))
    yield f"## `{tool.name}`"
    yield tool.description
    yield f"{f'Profiles: {profiles}; ' if profiles else ''}{', '.join(rights)}."
    if tool.parameters:
        yield bullets(describe_parameters(tool.parameters))
    answers = ", ".join(f"`{name}`" for name in tool.result["properties"])
    yield f"Answers with `success` and, above all, {answers}."


def describe_parameters(parameters: Iterable[Parameter], indent: str = "") -> Iterator[str]:
    """Name, type, whether it is required, and what it means; fields of objects below it."""
    for parameter in parameters:
        required = ", required" if parameter.required else ""
        yield f"{indent}`{parameter.name}` ({parameter.kind}{required}): {parameter.description}"
        yield from describe_parameters(parameter.fields, f"{parameter.name}[].")


if __name__ == "__main__":
    sys.exit(main())
