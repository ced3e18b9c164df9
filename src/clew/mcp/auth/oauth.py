"""Tokens of an OAuth 2.1 authorization server: JWTs, verified by the issuer's public keys."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from typing import TYPE_CHECKING, Any

import jwt
from mcp.server.auth.provider import AccessToken

from clew.mcp.auth.scopes import rights
from clew.settings import NAMESPACE
from clew.tools.spec import Caller

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.settings import OAuthSettings

ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
"""Signatures by a private key; nothing that a public key could forge."""
LEEWAY_SECONDS = 30
"""How far clocks may differ."""
KEYS_SECONDS = 10
"""How long the issuer may take to send its keys."""

_log = logging.getLogger("clew.mcp")


class TokenReader:
    """Reads and verifies tokens: signature, issuer, audience, expiry (RFC 9068, RFC 8707)."""

    def __init__(self, settings: OAuthSettings) -> None:
        self._settings = settings
        self._keys = jwt.PyJWKClient(settings.jwks_url, timeout=KEYS_SECONDS)

    def read(self, token: str) -> AccessToken | None:
        """What the token says; None where it is not a good one, and the log says why."""
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                self._keys.get_signing_key_from_jwt(token),
                algorithms=ALGORITHMS,
                issuer=self._settings.issuer,
                audience=self._settings.audience,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            # The kind alone: messages may repeat what the token says.
            _log.info("a bearer token was refused: %s", type(error).__name__)
            return None
        try:
            json.dumps(claims, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            # Half of a surrogate pair: no text that could be a name, in a log or anywhere.
            _log.info("a bearer token was refused: a claim of it is no text")
            return None
        if not self._namespaces(claims):
            _log.info("a bearer token was refused: it names no namespace")
            return None
        return AccessToken(
            token="",
            client_id=str(claims.get("client_id") or claims.get("azp") or claims["sub"]),
            scopes=_scopes(claims),
            expires_at=int(claims["exp"]),
            resource=self._settings.audience,
            subject=str(claims["sub"]),
            claims=claims,
        )

    def caller(self, token: AccessToken) -> Caller:
        """Who the owner of a verified token is, and what they may do."""
        return Caller(
            name=str(token.subject),
            namespaces=self._namespaces(token.claims or {}),
            scopes=rights(token.scopes),
        )

    def _namespaces(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        """Those that the claim names; else the subject's own, named so that nobody else's is."""
        if not self._settings.namespace_claim:
            owner = f"{self._settings.issuer}\n{claims['sub']}"
            return (f"user-{hashlib.sha256(owner.encode()).hexdigest()[:32]}",)
        named = claims.get(self._settings.namespace_claim)
        names = named if isinstance(named, list) else [named]
        return tuple(n for n in names if isinstance(n, str) and re.fullmatch(NAMESPACE, n))


def _scopes(claims: dict[str, Any]) -> list[str]:
    """From `scope` (words, RFC 9068) or `scp` (words or a list, as some issuers have it)."""
    given = claims.get("scope", claims.get("scp", ""))
    if isinstance(given, str):
        return given.split()
    return [s for s in given if isinstance(s, str)] if isinstance(given, list) else []
