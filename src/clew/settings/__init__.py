"""Settings, as values; the only reader of the environment and of `clew.toml`.

Order of precedence: arguments, environment (`CLEW_STORE`, `CLEW_SPLIT__CHUNK_TOKENS`, …), the file
`clew.toml` in the working directory, the defaults.

They are imported when they are asked for: pydantic takes as long to load as a search does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.settings.groups import (
        AccessSettings,
        BoostSettings,
        ChromaSettings,
        EmbedSettings,
        JobSettings,
        LargeSettings,
        LimitSettings,
        LinkSettings,
        LlmSettings,
        LlmTaskSettings,
        Neo4jSettings,
        OAuthSettings,
        PackSettings,
        QdrantSettings,
        QuotaSettings,
        ReadSettings,
        RelationSettings,
        RerankSettings,
        SearchSettings,
        ServeSettings,
        SplitSettings,
        SplitStrategy,
        TokenSettings,
        UsageSettings,
        VersionSettings,
    )
    from clew.settings.load import Settings, load_settings
    from clew.settings.place import NAMESPACE, SETTINGS_FILE

__all__ = [
    "NAMESPACE",
    "SETTINGS_FILE",
    "AccessSettings",
    "BoostSettings",
    "ChromaSettings",
    "EmbedSettings",
    "JobSettings",
    "LargeSettings",
    "LimitSettings",
    "LinkSettings",
    "LlmSettings",
    "LlmTaskSettings",
    "Neo4jSettings",
    "OAuthSettings",
    "PackSettings",
    "QdrantSettings",
    "QuotaSettings",
    "ReadSettings",
    "RelationSettings",
    "RerankSettings",
    "SearchSettings",
    "ServeSettings",
    "Settings",
    "SplitSettings",
    "SplitStrategy",
    "TokenSettings",
    "UsageSettings",
    "VersionSettings",
    "load_settings",
]

_MODULES = ("load", "groups", "place")


def __getattr__(name: str) -> object:
    """What is imported only when it is first asked for."""
    if name in __all__:
        for module in (import_module(f"clew.settings.{part}") for part in _MODULES):
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module 'clew.settings' has no attribute {name!r}")
