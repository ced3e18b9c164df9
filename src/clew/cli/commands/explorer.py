"""`clew ui`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from clew.cli.common import Common
from clew.cli.errors import note


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
    from clew.web.app import mount
    from clew.web.local import owner
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
