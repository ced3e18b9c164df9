"""Tools, the server and the explorer: `tools`, `call`, `install`, `mcp`, `serve`, `ui`, `token`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from clew.cli.common import Common, note, steps
from clew.cli.operations import call_tool
from clew.cli.output import bare_standard_output, write_json, write_line, write_whole
from clew.derived_files import private
from clew.errors import InputError
from clew.operations.spec import Format, Tool, definitions, load_json
from clew.operations.toolbox import OPERATIONS, Toolbox, further_tools
from clew.settings import Settings
from clew.types import ToolProfile


def tools(
    common: Common,
    format: Annotated[
        Format,
        typer.Option(
            metavar="FORMAT",
            help="`mcp`, `openai`, `openai-strict`, `openai-responses`, `ollama` or `anthropic`.",
        ),
    ] = "mcp",
    profile: Annotated[
        ToolProfile, typer.Option("--profile", metavar="NAME", help="`core`, `full` or `memory`.")
    ] = "core",
) -> None:
    """Print the definitions of the tools for assistants, as a vendor's client takes them.

    Those of the packs that the store has enabled are among them.
    """
    import clew
    from clew.wiring import store_exists

    chosen: list[Tool] = [tool for tool in OPERATIONS if profile in tool.profiles]
    settings = clew.load_settings(store=common.store, namespace=common.namespace)
    if store_exists(settings):
        with common.open() as engine:
            chosen += further_tools(engine, profile)
    write_json(definitions(chosen, format))


_STATUS = "query_job_status"
_UNDER_WAY = ("queued", "running")
_POLL_SECONDS = 0.1
_QUOTED = 80
"""Characters of arguments that an error repeats."""


def call(
    common: Common,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Its name, as `clew tools` says.")],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON", help="Its arguments as an object; `-` reads them.")
    ] = "{}",
) -> None:
    """Run one of the tools by hand and print its result as JSON."""
    text = sys.stdin.read() if arguments == "-" else arguments
    quoted = repr(text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…")
    try:
        given = load_json(text)
    except ValueError as error:
        raise InputError(
            f"the arguments {quoted} are no JSON ({error}); expected an object such as"
            ' {"query": "…"}'
        ) from error
    if not isinstance(given, dict):
        raise InputError(
            f'the arguments {quoted} are no object; expected one such as {{"query": "…"}}'
        )
    writes = any(known.name == tool and not known.read_only for known in OPERATIONS)
    with common.open(make=writes, reads_here=True) as engine:
        content = call_tool(engine.tools, tool, given)
        if content.get("status") in _UNDER_WAY and tool != _STATUS:
            content |= _waited_for(engine.tools, content["job_id"])
    write_json(content)
    if content.get("status") == "failed" and tool != _STATUS:
        raise InputError(content["error"])


def _waited_for(toolbox: Toolbox, job_id: str) -> dict[str, Any]:
    """The status of a job once it has ended: it could not go on without this process."""
    with steps(shown=True) as report:
        while (status := call_tool(toolbox, _STATUS, {"job_id": job_id}))["status"] in _UNDER_WAY:
            of = "" if status["total"] is None else f" ({status['completed']} of {status['total']})"
            report(f"{status['description']}{of}", status["completed"], status["total"])
            time.sleep(_POLL_SECONDS)
    return status


# `clew install`: tell an assistant's client how to start the server.


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
        from clew.settings.load import editable_toml

        try:
            known: Any = (
                editable_toml(text) if self.is_toml else json.loads(text) if text.strip() else {}
            )
        except ValueError as error:
            kind = "TOML" if self.is_toml else "JSON"
            raise _unreadable(self, f"it is no plain {kind}: {error}") from error
        servers = known.setdefault(self.section, {}) if isinstance(known, dict) else None
        if not isinstance(servers, dict):
            raise _unreadable(self, f"its {self.section!r} is no object")
        before = servers.get(name)
        servers[name] = _kept(before if isinstance(before, dict) else {}, entry)
        if self.is_toml:
            written: str = known.as_string()
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


# `clew mcp`, `clew serve`, `clew token` and `clew ui`.


ProfileOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Which tools are served: core (default), full or memory.",
        show_default=False,
    ),
]


def mcp(common: Common, profile: ProfileOption = None) -> None:
    """Serve an assistant on standard input and output (Model Context Protocol)."""
    settings = _settings(common, profile=profile)
    from clew.mcp.http import serve_stdio

    with bare_standard_output():
        serve_stdio(settings)


def serve(
    common: Common,
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Default 127.0.0.1.", show_default=False),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=65535, help="Default 8766; 0: any free.", show_default=False
        ),
    ] = None,
    profile: ProfileOption = None,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Ask for no token; at an address of this machine alone."),
    ] = False,
) -> None:
    """Serve assistants over HTTP (Model Context Protocol), each with a token of its own.

    People log in to the explorer under /ui with the same tokens.
    """
    settings = _settings(common, host=host, port=port, profile=profile)
    from clew.mcp.http import serve_http
    from clew.web.app import mount

    serve_http(settings, insecure=insecure, on_ready=note, extend=mount)


def token(
    common: Common,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who it is for.")],
    revoke: Annotated[
        bool,
        typer.Option("--revoke", help="Take NAME's token out of clew.toml; servers heed it."),
    ] = False,
) -> None:
    """Make a token for a caller of `clew serve`, and the lines of clew.toml that let it in."""
    from clew.mcp import auth as tokens
    from clew.settings import SETTINGS_FILE

    settings = _settings(common)
    if revoke:
        file = Path(SETTINGS_FILE)
        write_whole(file, [tokens.without_token(name, file)])
        note(f"The token of {name} is revoked; running servers see it within seconds.")
        return
    made, digest = tokens.new_token()
    lines = tokens.token_settings(name, digest, settings.namespace)
    if common.json:
        write_json({"token": made, "sha256": digest})
        return
    write_line(made)
    note("It is shown once. Add to clew.toml:")
    for line in lines.rstrip("\n").split("\n"):
        note(line)


def _settings(common: Common, **serve: object) -> Settings:
    from clew.settings import load_settings

    given = {name: value for name, value in serve.items() if value is not None}
    return load_settings(store=common.store, namespace=common.namespace, serve=given or None)


def ui(
    common: Common,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0: any free.")] = 0,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Look at the store in a browser: ask, follow threads and the graph, put things right.

    The address is good for one login, on this machine alone.
    """
    from clew.mcp.http import MCP_PATH, serve_http
    from clew.settings import load_settings
    from clew.web.app import mount, owner
    from clew.web.request import Sessions

    settings = load_settings(store=common.store, namespace=common.namespace)
    bearer, settings = owner(settings, port)
    sessions = Sessions(settings.serve.session_hours)

    def ready(said: str) -> None:
        base = said.split()[-1].removesuffix(MCP_PATH)
        address = f"{base}/ui/?key={sessions.invite(bearer)}"
        note(f"Open {address}")
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    serve_http(settings, on_ready=ready, extend=partial(mount, sessions=sessions), file=None)
