"""`clew install`: tell an assistant's client how to start the server."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from contextlib import suppress
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.clients import client_file
from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.output import write_json, write_whole
from clew.private_files import private

if TYPE_CHECKING:
    from clew.cli.clients import ClientFile, Entry

ROOTS = "CLEW_ACCESS__ROOTS"
"""The variable of the setting `access.roots`."""


class ClientName(StrEnum):
    """The clients whose configuration is known."""

    claude = "claude"
    cursor = "cursor"
    vscode = "vscode"
    codex = "codex"


def install(
    common: Common,
    client: Annotated[
        ClientName,
        typer.Argument(
            metavar="CLIENT", help="`claude`, `cursor`, `vscode` or `codex`.", show_default=False
        ),
    ],
    write: Annotated[
        bool, typer.Option("--write", help="Put it into the client's file.", show_default=False)
    ] = False,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="What the client calls the server.")
    ] = "clew",
    root: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            resolve_path=True,
            help="Whose files the assistant may name; default this folder, unless your home is in"
            " it or is it.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print how a client starts the server on this store, or write it into the client's file.

    The assistant may have files read below one folder, the root, and none without it. What else
    the file holds stays, and what its entry had beside the command, such as `env`; a copy of it as
    it was lies beside it, ending in `.bak` or, where that is taken, `.bak.1` and so on.
    """
    file, command = client_file(client.value), server_command(common)
    opened = root or _root_here()
    env = {ROOTS: json.dumps([str(opened)])} if opened else {}
    entry = file.entry(command, env)
    if write:
        _write(file, name, entry)
    if common.json:
        write_json({"path": str(file.path), "written": write, file.section: {name: entry}})
    elif write:
        note(f"Written to {file.path}. Start {client.value} anew to use it.")
    else:
        sys.stdout.write(file.text(name, entry))
        note(f"For {file.path}; --write puts it there.")
    if opened is None:
        note("The assistant may name no file, since your home is here; --root FOLDER opens one.")
    if client is ClientName.claude:
        told = [part for pair in env.items() for part in ("--env", "=".join(pair))]
        added = ["claude", "mcp", "add", "--scope", "user", name, *told, "--", *command]
        note(f"In Claude Code: {shlex.join(added)}")


def _root_here() -> Path | None:
    """The folder that the command is run in, unless that is the user's home or above it."""
    here = Path.cwd().resolve()
    return None if Path.home().resolve().is_relative_to(here) else here


def server_command(common: Common) -> list[str]:
    """The command that serves this store; clients start it anywhere, hence without relative paths.

    It names the store and nothing secret: what else there is to set comes from the environment and
    from `clew.toml`.
    """
    from clew.settings import load_settings

    settings = load_settings(store=common.store, namespace=common.namespace)
    store = settings.store if settings.on_server else settings.stores_folder.resolve()
    command = [sys.executable, "-m", "clew", "mcp", "--store", str(store)]
    if settings.namespace != "default":
        command += ["--namespace", settings.namespace]
    return command


def _write(file: ClientFile, name: str, entry: Entry) -> None:
    # Where the file is a link to somewhere, that place is written, and the link stays.
    path = file.path.resolve()
    known = file.read()
    merged = file.merged(known, name, entry)
    if merged == known:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_whole(path, [merged])
        return
    backup = _back_up(path)
    write_whole(path, [merged])
    shutil.copymode(backup, path)


def _back_up(path: Path) -> Path:
    """A copy beside the file under a name that was free, `.bak`, `.bak.1` and so on."""
    for number in count():
        backup = path.with_name(f"{path.name}.bak{f'.{number}' if number else ''}")
        with suppress(FileExistsError), open(backup, "xb", opener=private) as file:
            file.write(path.read_bytes())
            shutil.copystat(path, backup)
            return backup
    raise AssertionError("there is always a next number")
