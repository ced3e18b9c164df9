"""`clew install`: tell an assistant's client how to start the server."""

from __future__ import annotations

import shlex
import shutil
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.clients import client_file
from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.output import write_json, write_whole

if TYPE_CHECKING:
    from clew.cli.clients import ClientFile, Entry


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
) -> None:
    """Print how a client starts the server on this store, or write it into the client's file.

    What else the file holds stays; a copy of it as it was lies beside it, ending in `.bak`.
    """
    file, command = client_file(client.value), server_command(common)
    entry = file.entry(command)
    if write:
        _write(file, name, entry)
    if common.json:
        write_json({"path": str(file.path), "written": write, file.section: {name: entry}})
    elif write:
        note(f"Written to {file.path}. Start {client.value} anew to use it.")
    else:
        sys.stdout.write(file.text(name, entry))
        note(f"For {file.path}; --write puts it there.")
    if client is ClientName.claude:
        added = ["claude", "mcp", "add", "--scope", "user", name, "--", *command]
        note(f"In Claude Code: {shlex.join(added)}")


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
    merged = file.merged(file.read(), name, entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_whole(path, [merged])
        return
    backup = path.with_name(f"{path.name}.bak")
    shutil.copy2(path, backup)
    write_whole(path, [merged])
    shutil.copymode(backup, path)
