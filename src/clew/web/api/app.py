"""The routes of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import Route

    from clew.mcp.server import ClewServer
    from clew.settings import ServeSettings
    from clew.web.sessions import Sessions


def api_routes(server: ClewServer, serve: ServeSettings, sessions: Sessions) -> list[Route]:
    """All of them."""
    return []
