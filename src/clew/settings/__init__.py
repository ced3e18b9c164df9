"""Settings, as values; the only reader of the environment and of `clew.toml`.

Order of precedence: arguments, environment (`CLEW_STORE`, `CLEW_SPLIT__CHUNK_TOKENS`, …), the file
`clew.toml` in the working directory, the defaults.
"""

from clew.settings.indexing import (
    EmbedSettings,
    LimitSettings,
    LinkSettings,
    PackSettings,
    Precision,
    ReadSettings,
    RelationSettings,
    SplitSettings,
    SplitStrategy,
    VersionSettings,
)
from clew.settings.llm import LlmProvider, LlmSettings, LlmTaskSettings
from clew.settings.load import SETTINGS_FILE, Settings, load_settings
from clew.settings.search import BoostSettings, RerankSettings, SearchSettings, UsageSettings
from clew.settings.serving import (
    NAMESPACE,
    AccessSettings,
    JobSettings,
    OAuthSettings,
    QuotaSettings,
    Right,
    ServeSettings,
    TokenSettings,
)
from clew.settings.stores import ChromaSettings, LargeSettings, Neo4jSettings, QdrantSettings

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
    "LlmProvider",
    "LlmSettings",
    "LlmTaskSettings",
    "Neo4jSettings",
    "OAuthSettings",
    "PackSettings",
    "Precision",
    "QdrantSettings",
    "QuotaSettings",
    "ReadSettings",
    "RelationSettings",
    "RerankSettings",
    "Right",
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
