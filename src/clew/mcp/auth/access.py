"""Who calls over HTTP, and what they may do: static tokens and tokens of an OAuth issuer."""

from __future__ import annotations

import hmac
import logging
import time
from typing import TYPE_CHECKING

import anyio.to_thread
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from clew.errors import SettingsError
from clew.mcp.auth.scopes import READ, SCOPES
from clew.mcp.auth.tokens import token_hash
from clew.settings import load_settings
from clew.tools.spec import Caller

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clew.mcp.auth.oauth import TokenReader
    from clew.settings import ServeSettings, Settings, TokenSettings

_log = logging.getLogger("clew.mcp")


class Access:
    """Implements the SDK's `TokenVerifier`, and says what the owner of a verified token may do.

    Raises:
        SettingsError: Nobody could call: neither tokens nor an issuer are set.
    """

    def __init__(self, settings: ServeSettings, file: Path | None = None) -> None:
        """`file` is where the tokens come from; they are read again where it changes."""
        self._tokens: Mapping[str, TokenSettings] = {token.name: token for token in settings.tokens}
        self._file = file
        self._read = self._state()
        self._oauth: TokenReader | None = None
        if settings.oauth.issuer:
            from clew.mcp.auth.oauth import TokenReader

            self._oauth = TokenReader(settings.oauth)
        if not self._tokens and self._oauth is None:
            raise SettingsError(
                "nobody could call: serve.tokens and serve.oauth.issuer are empty. Run `clew"
                " token NAME` for one; `clew serve --insecure` asks for none, on this machine alone"
            )

    async def verify_token(self, token: str) -> AccessToken | None:
        """What the token says about its owner; None where it is not a good one."""
        static = self._static(token)
        if static is not None:
            scopes = [name for name, right in SCOPES.items() if right in static.scopes]
            # The hash tells a token from the one that replaced it.
            return AccessToken(token=static.sha256, client_id=static.name, scopes=scopes)
        if self._oauth is None:
            return None
        return await anyio.to_thread.run_sync(self._oauth.read, token)

    def _static(self, token: str) -> TokenSettings | None:
        """Compared with every hash, so that the time taken says nothing."""
        given = token_hash(token)
        found = [t for t in self._tokens.values() if hmac.compare_digest(given, t.sha256)]
        return found[0] if found else None

    def refresh(self) -> None:
        """Read the tokens again where their file changed; what cannot be read changes nothing."""
        state = self._state()
        if state == self._read:
            return
        self._read = state
        try:
            self._tokens = {token.name: token for token in load_settings().serve.tokens}
        except SettingsError as error:
            _log.error("the tokens stay as they were: %s", error)

    def _state(self) -> tuple[int, ...] | None:
        """What differs once the file is another."""
        try:
            found = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return found and (found.st_mtime_ns, found.st_ino, found.st_size)

    def allows(self, token: AccessToken) -> bool:
        """Whether a token that was verified is still good."""
        if token.claims is not None:
            return token.expires_at is None or time.time() < token.expires_at
        static = self._tokens.get(token.client_id)
        return static is not None and static.sha256 == token.token

    def caller(self, token: AccessToken) -> Caller:
        """Who the owner of a verified token is, and what they may do.

        Raises `MCPError` where the token was revoked meanwhile.
        """
        # Tokens of the issuer say who issued them; a client of the same name is somebody else.
        if token.claims is not None and self._oauth is not None:
            return self._oauth.caller(token)
        static = self._tokens.get(token.client_id)
        if static is None:
            raise MCPError(code=INVALID_PARAMS, message="this token was revoked; ask for another")
        return Caller(
            name=static.name,
            namespaces=static.namespaces,
            scopes=frozenset(static.scopes),
            tools=None if static.tools is None else frozenset(static.tools),
        )


def auth_settings(serve: ServeSettings) -> AuthSettings:
    """Settings for the SDK; static tokens have no issuer but this server."""
    here = f"http://{serve.host}:{serve.port}"
    return AuthSettings.model_validate(
        {
            "issuer_url": serve.oauth.issuer or here,
            "resource_server_url": serve.oauth.audience or None,
            # The token's audience is checked where it is verified.
            "validate_token_resource": False,
            "required_scopes": [READ],
        }
    )


def anonymous(settings: Settings) -> Caller:
    """Whoever calls where nobody is asked for a token."""
    names = dict.fromkeys((settings.namespace, *settings.serve.namespaces))
    return Caller(name="local", namespaces=tuple(names))


def chosen_namespace(caller: Caller, asked: str | None) -> str:
    """The namespace that a request is about: the one that it names, else the caller's first.

    Raises `MCPError` in the same words whether another's namespace exists or not.
    """
    if asked is None:
        return caller.namespaces[0]
    if asked not in caller.namespaces:
        yours = ", ".join(caller.namespaces)
        raise MCPError(
            code=INVALID_PARAMS, message=f"no namespace {asked!r} of yours; yours are {yours}"
        )
    return asked
