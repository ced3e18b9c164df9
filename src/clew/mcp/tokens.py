"""Tokens that name a caller: made here, kept as their hash alone."""

from __future__ import annotations

import hashlib
import secrets


def new_token() -> tuple[str, str]:
    """A token for a new caller, and its SHA-256 for the settings."""
    token = f"clew_{secrets.token_urlsafe(32)}"
    return token, token_hash(token)


def token_hash(token: str) -> str:
    """SHA-256 in hex. The token is random and long: nothing slower than that is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
