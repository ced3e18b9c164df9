"""What every command is given: the store that it works on, and whether it prints JSON.

A plain search loads this, and nothing of typer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.cli.output import print_facts, print_table, write_json, write_line
from clew.errors import NotFoundError

if TYPE_CHECKING:
    from clew import Clew
    from clew.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Common:
    """The values of the options that every command takes."""

    store: str | None = None
    namespace: str | None = None
    json: bool = False
    verbose: bool = False

    def first_of(self, namespaces: Sequence[str]) -> Common:
        """These options for the first of several namespaces; the default one need not exist."""
        return replace(self, namespace=namespaces[0]) if namespaces else self

    def open(
        self,
        *,
        make: bool = False,
        packs: Sequence[str] = (),
        light: bool = False,
        reads_here: bool = False,
    ) -> Clew:
        """The engine on the store that the options name, with packs enabled; a context manager.

        `light` is for what must start quickly (see `clew.settings.light`). With `reads_here`, tools
        read files of the working directory unless settings open another folder: a person, not a
        model, names the path. Raises `NotFoundError` where there is no store, unless one may be
        made.
        """
        import clew
        from clew.settings.light import light_settings

        load = light_settings if light else clew.load_settings
        settings = load(store=self.store, namespace=self.namespace)
        if not make:
            _check_exists(settings)
        if reads_here and not settings.access.roots:
            access = settings.access.model_copy(update={"roots": (Path.cwd(),)})
            settings = settings.model_copy(update={"access": access})
        return clew.open(settings=settings, packs=packs)

    def tell(self, value: object, line: str) -> None:
        """Print a value as JSON, or else a line that says the same."""
        if self.json:
            write_json(value)
        elif line:
            write_line(line)

    def table(
        self, value: object, columns: Sequence[str], rows: Iterable[Sequence[object]]
    ) -> None:
        """Print a value as JSON, or else the rows of a table."""
        if self.json:
            write_json(value)
        else:
            print_table(columns, rows)

    def facts(self, value: Mapping[str, Any]) -> None:
        """Print a value as JSON, or else its names and values in two columns."""
        if self.json:
            write_json(value)
        else:
            print_facts(value)

    def over(self, before: Common) -> Common:
        """These values, and for those not given the ones given before the command's name."""
        return Common(
            store=before.store if self.store is None else self.store,
            namespace=before.namespace if self.namespace is None else self.namespace,
            json=self.json or before.json,
            verbose=self.verbose or before.verbose,
        )


def _check_exists(settings: Settings) -> None:
    """Raise `NotFoundError` where there is no store; what is left of a damaged one is a store."""
    from clew.wiring import store_exists

    folder = settings.folder
    if store_exists(settings) or (
        not settings.on_server and folder.is_dir() and any(folder.iterdir())
    ):
        return
    place: object = settings.store
    others = ""
    if not settings.on_server:
        place = folder
        # The namespaces that there are; a folder that is not there holds none.
        found = sorted(place.parent.name for place in settings.stores_folder.glob("*/clew.db"))
        others = f" (namespaces there: {', '.join(found[:10])})" if found else ""
    raise NotFoundError(
        f"there is no store {str(place)!r}{others}; make one with clew index PATH, or"
        " name the one that you mean with --store and --namespace"
    )


def silence_driver() -> None:
    """Have Neo4j's driver print nothing of its trying again; its errors come as ours."""
    logging.getLogger("neo4j").addHandler(logging.NullHandler())
