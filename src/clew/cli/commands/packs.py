"""`clew pack …`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.common import Common
from clew.cli.output import stdout_console, write_json, write_line

if TYPE_CHECKING:
    from clew.packs.pack import Pack

PackArgument = Annotated[str, typer.Argument(metavar="NAME", help="As `clew pack list` says.")]


def list_packs(common: Common) -> None:
    """List the packs that there are, and which of them the store has enabled."""
    with common.open() as engine:
        enabled = engine.packs.enabled()
        there = engine.packs.available()
    rows = [
        {"name": name, "enabled": name in enabled, "found": name in there}
        for name in sorted({*there, *enabled})
    ]
    if common.json:
        write_json(rows)
        return
    for row in rows:
        state = "enabled" if row["enabled"] else ""
        write_line(f"{row['name']:20} {state if row['found'] else f'{state}, not found here'}")


def show(common: Common, name: PackArgument) -> None:
    """Say what a pack adds: types, relations, formats, tools."""
    with common.open() as engine:
        pack = engine.packs.get(name)
        enabled = name in engine.packs.enabled()
    described = {**_described(pack), "enabled": enabled}
    if common.json:
        write_json(described)
        return
    from clew.cli.tables import facts

    shown = {
        key: ", ".join(map(str, value)) if isinstance(value, list) else value
        for key, value in described.items()
    }
    stdout_console().print(facts({key: value for key, value in shown.items() if value != ""}))


def _described(pack: Pack) -> dict[str, Any]:
    return {
        "name": pack.name,
        "title": pack.title,
        "description": pack.description,
        "version": pack.version,
        "entity_types": [one.name for one in pack.entity_types],
        "relation_types": [one.name for one in pack.relation_types],
        "hierarchies": [" ▸ ".join(one) for one in pack.hierarchies],
        "formats": list(pack.readers),
        "tools": [getattr(tool, "name", str(tool)) for tool in pack.tools()],
        "questions": "" if pack.questions is None else pack.questions.name,
    }


def enable(common: Common, name: PackArgument) -> None:
    """Enable a pack for the store; `clew index` then reads its formats."""
    with common.open(make=True) as engine:
        engine.packs.enable(name)
        enabled = engine.packs.enabled()
    _print(common, enabled)


def disable(common: Common, name: PackArgument) -> None:
    """Take a pack back; what was indexed with it stays until it is indexed again."""
    with common.open() as engine:
        engine.packs.disable(name)
        enabled = engine.packs.enabled()
    _print(common, enabled)


def _print(common: Common, enabled: list[str]) -> None:
    if common.json:
        write_json({"enabled": enabled})
    else:
        write_line(f"enabled: {', '.join(enabled) or 'none'}")
