"""Tokens that name a caller: made here, kept as their hash alone."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

from clew.errors import NotFoundError, SettingsError
from clew.settings import TokenSettings

if TYPE_CHECKING:
    from pathlib import Path


def new_token() -> tuple[str, str]:
    """A token for a new caller, and its SHA-256 for the settings."""
    token = f"clew_{secrets.token_urlsafe(32)}"
    return token, token_hash(token)


def token_hash(token: str) -> str:
    """SHA-256 in hex. The token is random and long: nothing slower than that is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def token_settings(name: str, digest: str, namespace: str) -> str:
    """The lines of the settings file that let a caller in; raises `SettingsError` for no name."""
    import tomlkit
    from pydantic import ValidationError

    try:
        token = TokenSettings(name=name, sha256=digest, namespaces=(namespace,))
    except ValidationError as error:
        raise SettingsError(
            f"a token cannot be for {name!r}; expected a name of 1 to 64 characters"
        ) from error
    lines = token.model_dump(include={"name", "sha256", "namespaces"}, mode="json")
    return tomlkit.dumps({"serve": {"tokens": [lines]}})


def without_token(name: str, file: Path) -> str:
    """The settings file without a caller's token; the rest of it is as it was.

    Raises `NotFoundError` where there is no such token in it.
    """
    import tomlkit

    document = tomlkit.parse(file.read_text(encoding="utf-8")) if file.is_file() else {}
    tokens = document.get("serve", {}).get("tokens", [])
    numbers = [number for number, token in enumerate(tokens) if token.get("name") == name]
    if not numbers:
        known = ", ".join(str(token.get("name")) for token in tokens) or "none"
        raise NotFoundError(f"no token {name!r} in {file.name}; there are: {known}")
    del tokens[numbers[0]]
    return tomlkit.dumps(document)
