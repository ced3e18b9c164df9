"""How often one caller may ask."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import principal_components
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

KNOWN = 10_000
"""Callers that are remembered at a time; those that have been quiet are forgotten first."""


class RateLimit:
    """Answers 429 to callers who ask more often than they may (token bucket).

    A caller is whoever the verified token names; without one, the address that they call from.
    """

    def __init__(
        self, app: ASGIApp, per_minute: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._per_minute = per_minute
        self._clock = clock
        # When each caller's bucket will be full again, in the order of the last request.
        self._full_at: dict[object, float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        wait = self._take(caller_of(scope)) if scope["type"] == "http" else 0.0
        if wait <= 0:
            await self._app(scope, receive, send)
            return
        refused = PlainTextResponse(
            f"more than {self._per_minute} requests a minute; wait {wait:.0f} seconds",
            status_code=429,
            headers={"Retry-After": f"{wait:.0f}"},
        )
        await refused(scope, receive, send)

    def _take(self, caller: object) -> float:
        """Count one request; how many seconds it comes too early (0: not at all)."""
        now, share = self._clock(), 60.0 / self._per_minute
        full_at = max(self._full_at.pop(caller, now), now)
        early = full_at + share - now - 60.0
        self._full_at[caller] = full_at if early > 1e-9 else full_at + share
        if len(self._full_at) > KNOWN:
            self._full_at.pop(next(iter(self._full_at)))
        return max(early, 1.0) if early > 1e-9 else 0.0


def caller_of(scope: Scope) -> object:
    """Whoever the verified token names; without one, the address."""
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser):
        return principal_components(user.access_token)
    client = scope.get("client")
    return client[0] if client else None
