"""`clew pack`: what a domain adds to a store."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

import clew
from clew.cli.common import INCOMPLETE, Common
from clew.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from clew.hookspecs import Pack
    from clew.settings import Settings


ENOUGH = 0.9
"""Of a pack's questions, met."""


def pack(
    common: Common,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Say what this one adds; else list all.")
    ] = None,
    enable: Annotated[
        bool,
        typer.Option("--enable", help="Enable it for the store; `clew index` reads its formats."),
    ] = False,
    disable: Annotated[
        bool,
        typer.Option(
            "--disable", help="Take it back; what was indexed stays until it is indexed again."
        ),
    ] = False,
    test: Annotated[
        bool,
        typer.Option(
            "--test",
            help="Ask its questions over its own corpus; exit status 1 where under nine in ten"
            " have a gold document among the first three. No store is needed.",
        ),
    ] = False,
) -> None:
    """List what domains add to a store (types, formats, tools), enable it, or take it back."""
    import clew
    from clew.packs import available, load
    from clew.wiring import store_exists

    if enable + disable + test > (name is not None):
        raise typer.BadParameter("--enable, --disable and --test each take a NAME and stand alone")
    settings = clew.load_settings(store=common.store, namespace=common.namespace)
    if test:
        _test(common, load(name or "", settings.packs.folders), settings)
        return
    enabled: list[str] = []
    if enable or disable or store_exists(settings):
        with common.open(make=enable) as engine:
            if enable:
                engine.packs.enable(name or "")
            if disable:
                engine.packs.disable(name or "")
            enabled = engine.packs.enabled()
    if enable or disable:
        common.tell({"enabled": enabled}, f"enabled: {', '.join(enabled) or 'none'}")
    elif name is not None:
        found = load(name, settings.packs.folders)
        common.facts(
            {
                "name": found.name,
                "title": found.title,
                "description": found.description,
                "version": found.version,
                "entity_types": [one.name for one in found.entity_types],
                "relation_types": [one.name for one in found.relation_types],
                "hierarchies": list(found.hierarchies),
                "formats": list(found.readers),
                "tools": [getattr(tool, "name", str(tool)) for tool in found.tools()],
                "questions": "" if found.questions is None else found.questions.name,
                "enabled": name in enabled,
            }
        )
    else:
        there = available(settings.packs.folders)
        rows = [
            {"name": one, "enabled": one in enabled, "found": one in there}
            for one in sorted({*there, *enabled})
        ]
        lines = [
            f"{one:20} {'enabled' if one in enabled else ''}"
            f"{'' if one in there else ', not found here'}"
            for one in sorted({*there, *enabled})
        ]
        common.tell(rows, "\n".join(lines))


def _test(common: Common, asked: Pack, settings: Settings) -> None:
    pass

    found = ask_questions(asked, settings)
    met = sum(one.answered for one in found)
    lines = [
        f"not met: {one.question} ({one.strategy}: {'; '.join(one.found)})"
        for one in found
        if not one.answered
    ]
    lines.append(f"{met} of {len(found)} questions answered among the first {FIRST}")
    common.tell({"questions": len(found), "answered": met, "asked": found}, "\n".join(lines))
    if met < ENOUGH * len(found):
        raise typer.Exit(INCOMPLETE)


# The questions of a pack, asked over its own corpus.


FIRST = 3
"""Passages among which an answer counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question and what came back."""

    question: str
    gold: tuple[str, ...]
    """Titles, or ends of sources, of which any one answers."""
    found: tuple[str, ...]
    """Titles of the first passages, best first."""
    strategy: str
    answered: bool


def ask_questions(pack: Pack, settings: Settings) -> list[Asked]:
    """Index the folder `corpus` beside the pack's questions into a store of its own, and ask.

    Raises `InputError` where the pack has no questions, or the corpus cannot be read whole.
    """
    if pack.questions is None:
        raise InputError(f"the pack {pack.name!r} has no questions; name a file of them in it")
    questions = list(_questions(pack.questions))
    corpus = pack.questions.parent / "corpus"
    with tempfile.TemporaryDirectory(prefix="clew-pack-") as folder:
        there = {"store": folder, "namespace": "default"}
        own = clew.load_settings(**{**settings.model_dump(), **there})
        with clew.open(settings=own, packs=[pack.name]) as store:
            for skipped in store.index([corpus]).skipped:
                raise InputError(f"{skipped.source!r} cannot be read: {skipped.reason}")
            return [
                Asked(
                    question=question,
                    gold=gold,
                    found=tuple(hit.chunk.title for hit in result.hits),
                    strategy=result.strategy,
                    answered=any(
                        hit.chunk.title in gold or hit.chunk.source.endswith(gold)
                        for hit in result.hits
                    ),
                )
                for question, gold in questions
                for result in [store.search(question, limit=FIRST)]
            ]


def _questions(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    lines = path.read_text("utf-8").splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        try:
            one = json.loads(line)
            found.append((str(one["question"]), tuple(map(str, one["gold"]))))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path.name}, line {number} cannot be used ({error!r}); expected an object such as"
                ' {"question": "…", "gold": ["title"]}'
            ) from error
    return found
