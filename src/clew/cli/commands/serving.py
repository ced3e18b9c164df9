"""`clew mcp`, `clew serve` and `clew token`."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.cli.errors import note
from clew.cli.options import Common
from clew.cli.output import bare_standard_output, write_json, write_line, write_whole
from clew.cli.progress import steps
from clew.errors import InputError
from clew.tools.spec import Caller

if TYPE_CHECKING:
    from clew.settings import Settings
    from clew.tools.toolbox import Toolbox


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
    from clew.mcp.http.serve import serve_stdio

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
    from clew.mcp.http.serve import serve_http
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


# `clew ui`.


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
    from clew.mcp.http.serve import PATH, serve_http
    from clew.settings import load_settings
    from clew.web.app import mount, owner
    from clew.web.request import Sessions

    settings = load_settings(store=common.store, namespace=common.namespace)
    bearer, settings = owner(settings, port)
    sessions = Sessions(settings.serve.session_hours)

    def ready(said: str) -> None:
        base = said.split()[-1].removesuffix(PATH)
        address = f"{base}/ui/?key={sessions.invite(bearer)}"
        note(f"Open {address}")
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    serve_http(settings, on_ready=ready, extend=partial(mount, sessions=sessions), file=None)


# `clew tools` and `clew call`: what assistants are offered, and a call of it by hand.


_STATUS = "query_job_status"
_UNDER_WAY = ("queued", "running")
_POLL_SECONDS = 0.1


class ToolFormat(StrEnum):
    """Whose definitions `clew tools` prints; see `clew.tools.spec`."""

    mcp = "mcp"
    openai = "openai"
    openai_strict = "openai-strict"
    openai_responses = "openai-responses"
    ollama = "ollama"
    anthropic = "anthropic"


class ToolProfile(StrEnum):
    """Which tools are meant."""

    core = "core"
    full = "full"
    memory = "memory"


ProfileOption_tools = Annotated[
    ToolProfile, typer.Option("--profile", metavar="NAME", help="`core`, `full` or `memory`.")
]


def tools(
    common: Common,
    format: Annotated[
        ToolFormat,
        typer.Option(
            metavar="FORMAT",
            help="`mcp`, `openai`, `openai-strict`, `openai-responses`, `ollama` or `anthropic`.",
        ),
    ] = ToolFormat.mcp,
    profile: ProfileOption_tools = ToolProfile.core,
) -> None:
    """Print the definitions of the tools for assistants, as a vendor's client takes them.

    With `--profile full`, those of the store's packs among them.
    """
    import clew
    from clew.tools.spec import definitions
    from clew.tools.toolbox import TOOLS, further_tools
    from clew.wiring import store_exists

    chosen = [tool for tool in TOOLS if profile.value in tool.profiles]
    settings = clew.load_settings(store=common.store, namespace=common.namespace)
    if profile is ToolProfile.full and store_exists(settings):
        with common.open() as engine:
            chosen += further_tools(engine)
    write_json(definitions(chosen, format.value))


def call(
    common: Common,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Its name, as `clew tools` says.")],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON", help="Its arguments as an object; `-` reads them.")
    ] = "{}",
) -> None:
    """Run one of the tools by hand and print its result as JSON."""
    from clew.tools.toolbox import TOOLS

    given = _object(sys.stdin.read() if arguments == "-" else arguments)
    writes = any(known.name == tool and not known.read_only for known in TOOLS)
    with common.open(make=writes, reads_here=True) as engine:
        content = _called(engine.tools, tool, given)
        if content.get("status") in _UNDER_WAY and tool != _STATUS:
            content |= _waited_for(engine.tools, content["job_id"])
    write_json(content)
    if content.get("status") == "failed" and tool != _STATUS:
        raise InputError(content["error"])


def _called(toolbox: Toolbox, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    # Whoever has the folder may name all that is in it.
    named = given.get("namespaces")
    caller = Caller(namespaces=tuple(named) if isinstance(named, list) else ())
    outcome = toolbox.call(tool, given, caller=caller)
    if outcome.is_error:
        raise InputError(outcome.text)
    return outcome.content


def _waited_for(toolbox: Toolbox, job_id: str) -> dict[str, Any]:
    """The status of a job once it has ended: it could not go on without this process."""
    with steps(shown=True) as report:
        while (status := _called(toolbox, _STATUS, {"job_id": job_id}))["status"] in _UNDER_WAY:
            report(_shown(status), status["completed"], status["total"])
            time.sleep(_POLL_SECONDS)
    return status


def _shown(status: dict[str, Any]) -> str:
    total = "" if status["total"] is None else f" ({status['completed']} of {status['total']})"
    return f"{status['description']}{total}"


def _object(text: str) -> dict[str, Any]:
    from clew.tools.spec import load_json

    try:
        value = load_json(text)
    except ValueError as error:
        raise InputError(
            f"the arguments {_short(text)} are no JSON ({error}); expected an object such as"
            ' {"query": "…"}'
        ) from error
    if not isinstance(value, dict):
        raise InputError(
            f'the arguments {_short(text)} are no object; expected one such as {{"query": "…"}}'
        )
    return value


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
