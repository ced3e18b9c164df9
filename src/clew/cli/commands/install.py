"""`clew install`: tell an assistant's client how to start the server."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.output import write_json, write_whole
from clew.derived_files import private
from clew.errors import InputError

ROOTS = "CLEW_ACCESS__ROOTS"
"""The variable of the setting `access.roots`."""


Client: TypeAlias = Literal["claude", "cursor", "vscode", "codex"]
"""The clients whose configuration is known."""


def install(
    common: Common,
    client: Annotated[
        Client,
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
    file, command = client_file(client), server_command(common)
    here = Path.cwd().resolve()
    # A home, or what holds it, is not opened unless it is named.
    opened = root or (None if Path.home().resolve().is_relative_to(here) else here)
    env = {ROOTS: json.dumps([str(opened)])} if opened else {}
    entry = file.entry(command, env)
    if write:
        _write(file, name, entry)
    if common.json:
        write_json({"path": str(file.path), "written": write, file.section: {name: entry}})
    elif write:
        note(f"Written to {file.path}. Start {client} anew to use it.")
    else:
        sys.stdout.write(file.merged("", name, entry))
        note(f"For {file.path}; --write puts it there.")
    if opened is None:
        note("The assistant may name no file, since your home is here; --root FOLDER opens one.")
    if client == "claude":
        told = [part for pair in env.items() for part in ("--env", "=".join(pair))]
        added = ["claude", "mcp", "add", "--scope", "user", name, *told, "--", *command]
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
    known = file.read()
    merged = file.merged(known, name, entry)
    if merged == known:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_whole(path, [merged])
        return
    # A copy beside the file under a name that was free, `.bak`, `.bak.1` and so on.
    for number in count():
        backup = path.with_name(f"{path.name}.bak{f'.{number}' if number else ''}")
        with suppress(FileExistsError), open(backup, "xb", opener=private) as copied:
            copied.write(path.read_bytes())
            shutil.copystat(path, backup)
            break
    write_whole(path, [merged])
    shutil.copymode(backup, path)


# Where assistants keep their list of servers, and how an entry is put into it.


Entry = Mapping[str, Any]
"""How a client starts a server: `command`, `args`, for some `env` and `type`."""

_BY_ADDRESS = ("url", "headers")
"""What an entry has that names a server by its address; none that starts one has these."""


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A client's configuration."""

    path: Path
    section: str
    """What holds the servers, by name."""
    typed: bool
    """Whether an entry says that it is of type `stdio`."""

    @property
    def is_toml(self) -> bool:
        """Whether it is TOML; else it is JSON."""
        return self.path.suffix == ".toml"

    def entry(self, command: Sequence[str], env: Mapping[str, str]) -> Entry:
        """The entry for a command that serves on standard input and output."""
        kind = {"type": "stdio"} if self.typed else {}
        told = {"env": dict(env)} if env else {}
        return {**kind, "command": command[0], "args": list(command[1:]), **told}

    def read(self) -> str:
        """What the file holds; nothing where there is none."""
        try:
            return self.path.read_text(encoding="utf-8-sig") if self.path.exists() else ""
        except UnicodeDecodeError as error:
            raise _unreadable(self, f"it is not in UTF-8: {error}") from error

    def merged(self, text: str, name: str, entry: Entry) -> str:
        """The configuration `text` with the server in place of one of the same name.

        All else stays as it is, and what that one had beside the entry, such as `env`, too. Raises
        `InputError` where the text cannot be read or changed.
        """
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            known: Any = (
                tomlkit.parse(text) if self.is_toml else json.loads(text) if text.strip() else {}
            )
        except (ValueError, TOMLKitError) as error:
            kind = "TOML" if self.is_toml else "JSON"
            raise _unreadable(self, f"it is no plain {kind}: {error}") from error
        servers = known.setdefault(self.section, {}) if isinstance(known, dict) else None
        if not isinstance(servers, dict):
            raise _unreadable(self, f"its {self.section!r} is no object")
        before = servers.get(name)
        servers[name] = _kept(before if isinstance(before, dict) else {}, entry)
        if self.is_toml:
            written = tomlkit.dumps(known)
            if tomllib.loads(written) != known.unwrap():
                raise _unreadable(self, f"its {self.section!r} cannot be written anew")
            return written
        return json.dumps(known, ensure_ascii=False, indent=2) + "\n"


def client_file(client: Client) -> ClientFile:
    """The user's own configuration of a client, on this system."""
    from platformdirs import user_config_path

    if client == "claude":
        folder = user_config_path("Claude", appauthor=False, roaming=True)
        return ClientFile(folder / "claude_desktop_config.json", "mcpServers", False)
    if client == "cursor":
        return ClientFile(Path.home() / ".cursor" / "mcp.json", "mcpServers", True)
    if client == "vscode":
        folder = user_config_path("Code", appauthor=False, roaming=True)
        return ClientFile(folder / "User" / "mcp.json", "servers", True)
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    return ClientFile(home / "config.toml", "mcp_servers", False)


def _kept(had: Mapping[str, Any], entry: Entry) -> Entry:
    """The entry with what one of the same name had beside it."""
    kept = {field: had[field] for field in had if field not in _BY_ADDRESS} | dict(entry)
    if isinstance(had.get("env"), dict):
        kept["env"] = {**had["env"], **entry.get("env", {})}
    return kept


def _unreadable(file: ClientFile, why: str) -> InputError:
    return InputError(
        f"cannot add to {str(file.path)!r}, since {why}. It is left as it was: without --write,"
        " `clew install` prints what to add by hand"
    )
