"""The settings of a server for whoever sits at this machine, and for nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.mcp.auth.tokens import new_token
from clew.settings import OAuthSettings, TokenSettings

if TYPE_CHECKING:
    from clew.settings import Settings

HOST = "127.0.0.1"


def owner(settings: Settings, port: int) -> tuple[str, Settings]:
    """A new token that may do everything, and the settings of a server that knows it alone."""
    bearer, digest = new_token()
    names = dict.fromkeys((settings.namespace, *settings.serve.namespaces))
    token = TokenSettings(
        name="local", sha256=digest, namespaces=tuple(names), scopes=("read", "write", "admin")
    )
    serve = settings.serve.model_copy(
        update={
            "host": HOST,
            "port": port,
            "tokens": (token,),
            "oauth": OAuthSettings(),
            "allowed_hosts": (),
            "allowed_origins": (),
            "trusted_proxies": (),
        }
    )
    return bearer, settings.model_copy(update={"serve": serve})
