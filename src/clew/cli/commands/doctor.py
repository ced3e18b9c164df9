"""What a person asks where something does not work: what is there, and what mends the rest."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import typer

import clew
from clew.cli import foreign
from clew.cli.common import INCOMPLETE, Common
from clew.cli.output import write_json, write_line
from clew.derived_files import folder_size, is_private
from clew.errors import EXTRAS, ClewError, has_extra, redacted
from clew.models.locate import BUNDLED_MODEL, locate_model
from clew.settings import Settings, load_settings
from clew.stores.sqlite.connection import Database
from clew.stores.sqlite.schema import STORE_FILE, has_tables

_SIGNS = {"good": "✓", "note": "!", "wrong": "✗"}
_SECONDS = 2.0
"""How long a server may take to take a connection."""
_PORTS = {"http": 80, "https": 443, "ollama": 11434}  # all others are Neo4j's
_LITTLE, _ENOUGH = 100_000_000, 1_000_000_000
"""Bytes of free disk: with less nothing can be indexed; with less that will soon be so."""


class Finding(NamedTuple):
    """One thing that was looked at."""

    state: Literal["good", "note", "wrong"]
    name: str
    found: str
    mend: str = ""
    """What a person does where it is not good."""


def doctor(common: Common) -> None:
    """Look at what Clew needs here and at the store, and say what mends what is wrong."""
    found = list(_findings(common))
    if common.json:
        write_json([one._asdict() for one in found])
    for one in () if common.json else found:
        write_line(f"{_SIGNS[one.state]} {one.name}: {'; '.join(filter(None, one[2:]))}")
    if any(one.state == "wrong" for one in found):
        raise typer.Exit(INCOMPLETE)


def _findings(common: Common) -> Iterator[Finding]:
    version = getattr(clew, "__version__", "unknown")  # another's module may have none
    yield Finding("good", "python", f"{platform.python_version()} ({sys.platform}); Clew {version}")
    place, others = str(Path(__file__).parents[2]), foreign()
    said = f"{place} is of {', '.join(others)}, too" if others else place
    mend = f"pip uninstall {' '.join(others)} clew && pip install clew" if others else ""
    yield Finding("wrong" if others else "good", "module", said, mend)
    for extra, (purpose, _) in EXTRAS.items():
        missing = "" if has_extra(extra) else f"pip install 'clew[{extra}]'"
        yield Finding("note" if missing else "good", f"clew[{extra}]", purpose, missing)
    try:
        settings = load_settings(store=common.store, namespace=common.namespace)
    except ClewError as error:
        yield Finding("wrong", "settings", error.line, "docs/settings.md has them all")
        return
    yield _model(settings)
    yield _reading(settings)
    yield from _servers(settings)
    yield _language_model(settings)
    yield from () if settings.on_server else _store(settings.folder)
    yield _disk(settings.stores_folder.absolute())


def _model(settings: Settings) -> Finding:
    """Its files; it is not loaded, and nothing is fetched."""
    model = settings.embed.model
    if model.rpartition("/")[2] != BUNDLED_MODEL and not Path(model).expanduser().is_dir():
        return Finding("good", "model", f"{model}, of a server or the hub: not looked for")
    try:
        files = locate_model(model)
        folder = files.tokenizer.parent  # of all bundled models, which have files in common
        size = f"{folder_size(folder) / 1e6:,.0f} MB"
    except (ClewError, OSError) as error:
        return Finding("wrong", "model", str(error), "pip install --force-reinstall clew-models")
    return Finding("good", "model", f"{files.name}, {size} in {folder}")


def _reading(settings: Settings) -> Finding:
    isolated = settings.limits.isolation != "none" and sys.platform != "win32"
    if isolated and sys.platform == "linux":
        return Finding("good", "reading", "in a process of its own, its time and memory bounded")
    said = f"nothing bounds the {'' if isolated else 'time and '}memory of what reads documents"
    return Finding("note", "reading", said, "index only those that you trust")


def _servers(settings: Settings) -> Iterator[Finding]:
    """Whatever is configured and is not on this machine's disk."""
    llm, vectors = settings.llm, settings.vectors
    own = "ollama://localhost" if llm.provider == "ollama" else ""
    named = {
        "store": str(settings.store) if settings.on_server else "",
        "vectors": getattr(settings, vectors).url if vectors in ("qdrant", "chroma") else "",
        "model server": llm.base_url or own if llm.provider else "",
    }
    for name, address in filter(lambda one: one[1], named.items()):
        try:
            parts = urlsplit(address)
            port = parts.port or _PORTS.get(parts.scheme, 7687)
            socket.create_connection((parts.hostname or "", port), _SECONDS).close()
            yield Finding("good", name, f"{redacted(address)} takes connections")
        except (OSError, ValueError) as error:
            said = f"{redacted(address)} cannot be reached ({error})"
            yield Finding("wrong", name, said, "start it, or correct its address in the settings")


def _language_model(settings: Settings) -> Finding:
    llm = settings.llm
    if not llm.provider:
        return Finding("good", "language model", "none: answers are quoted from the documents")
    said = f"{llm.model} ({llm.provider})"
    if llm.provider != "ollama" and not has_extra("llm"):
        return Finding("wrong", "language model", said, "pip install 'clew[llm]'")
    return Finding("good", "language model", said, "clew check --llm tries it")


def _store(folder: Path) -> Iterator[Finding]:
    """A store in a folder; nothing is made, mended or put beside it."""
    file = folder / STORE_FILE
    if not file.is_file():
        yield Finding("note", "store", f"none in {folder}", "clew index PATH makes one")
        return
    try:
        with closing(Database(file, _SECONDS)) as database, database.read() as connection:
            has_tables(connection, str(file))
            ((documents,),) = connection.execute("SELECT count(*) FROM documents")
        yield Finding("good", "store", f"{documents:,} documents in {file}")
    except ClewError as error:  # which names `clew check` where that helps
        yield Finding("wrong", "store", error.line)
    if not os.access(file, os.W_OK) or not os.access(folder, os.W_OK):
        yield Finding("note", "rights", f"{folder} is read-only", "chmod -R u+w ends that")
    if not is_private(folder):
        yield Finding("note", "rights", f"others may read {folder}", f"chmod -R go= {folder}")


def _disk(folder: Path) -> Finding:
    there = next(place for place in (folder, *folder.parents) if place.is_dir())
    free = shutil.disk_usage(there).free
    said = f"{free / 1e9:,.1f} GB free at {there}"
    if free >= _ENOUGH:
        return Finding("good", "disk", said)
    return Finding(
        "wrong" if free < _LITTLE else "note",
        "disk",
        said,
        "make room, or put the store elsewhere: --store",
    )
