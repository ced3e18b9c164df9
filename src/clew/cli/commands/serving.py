"""`clew mcp`, `clew serve`, `clew token` and `clew ui`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.cli.common import Common
from clew.cli.errors import note
from clew.cli.output import bare_standard_output, write_json, write_line, write_whole

if TYPE_CHECKING:
    from clew.settings import Settings


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
    from clew.web.sessions import Sessions

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
