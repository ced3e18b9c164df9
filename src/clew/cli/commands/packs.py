"""`clew pack …`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.errors import INCOMPLETE
from clew.cli.options import Common
from clew.cli.output import stdout_console, write_json, write_line

if TYPE_CHECKING:
    from clew.hookspecs import Pack
    from clew.settings import Settings


_ENOUGH = 0.9
PackArgument = Annotated[str, typer.Argument(metavar="NAME", help="As `clew pack list` says.")]


def list_packs(common: Common) -> None:
    """List the packs that there are, and which of them the store has enabled."""
    from clew.packs import available

    settings, enabled = _asked(common)
    there = available(settings.packs.folders)
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
    from clew.packs import load

    settings, enabled = _asked(common)
    described = {**_described(load(name, settings.packs.folders)), "enabled": name in enabled}
    if common.json:
        write_json(described)
        return
    from clew.cli.render import facts

    shown = {
        key: ", ".join(map(str, value)) if isinstance(value, list) else value
        for key, value in described.items()
    }
    stdout_console().print(facts({key: value for key, value in shown.items() if value != ""}))


def _asked(common: Common) -> tuple[Settings, list[str]]:
    """The settings, and the packs that the store has enabled: none where there is no store."""
    import clew
    from clew.wiring import store_exists

    settings = clew.load_settings(store=common.store, namespace=common.namespace)
    if not store_exists(settings):
        return settings, []
    with common.open() as engine:
        return settings, engine.packs.enabled()


def _described(pack: Pack) -> dict[str, Any]:
    return {
        "name": pack.name,
        "title": pack.title,
        "description": pack.description,
        "version": pack.version,
        "entity_types": [one.name for one in pack.entity_types],
        "relation_types": [one.name for one in pack.relation_types],
        "hierarchies": list(pack.hierarchies),
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


def test(common: Common, name: PackArgument) -> None:
    """Ask the pack's questions over its own corpus; exit status 1 where under nine in ten are met.

    A question is met where one of its gold documents is among the first three. No store is needed.
    """
    import clew
    from clew.evaluation.pack_questions import FIRST, ask_questions
    from clew.packs import load

    settings = clew.load_settings(store=common.store, namespace=common.namespace)
    asked = ask_questions(load(name, settings.packs.folders), settings)
    met = sum(one.answered for one in asked)
    if common.json:
        write_json({"questions": len(asked), "answered": met, "asked": asked})
    else:
        for one in asked:
            if not one.answered:
                write_line(f"not met: {one.question} ({one.strategy}: {'; '.join(one.found)})")
        write_line(f"{met} of {len(asked)} questions answered among the first {FIRST}")
    if met < _ENOUGH * len(asked):
        raise typer.Exit(INCOMPLETE)


def _print(common: Common, enabled: list[str]) -> None:
    if common.json:
        write_json({"enabled": enabled})
    else:
        write_line(f"enabled: {', '.join(enabled) or 'none'}")
