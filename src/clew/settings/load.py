"""All settings of an engine, and where they come from."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Annotated, Any

from platformdirs import user_cache_path
from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from clew.errors import SettingsError
from clew.settings.indexing import (
    EmbedSettings,
    LimitSettings,
    LinkSettings,
    PackSettings,
    ReadSettings,
    RelationSettings,
    SplitSettings,
    VersionSettings,
)
from clew.settings.llm import LlmSettings
from clew.settings.search import BoostSettings, RerankSettings, SearchSettings, UsageSettings
from clew.settings.serving import (
    NAMESPACE,
    AccessSettings,
    JobSettings,
    QuotaSettings,
    ServeSettings,
)
from clew.settings.stores import (
    ChromaSettings,
    LargeSettings,
    Neo4jSettings,
    QdrantSettings,
    VectorBackend,
    store_place,
)

SETTINGS_FILE = "clew.toml"
"""In the working directory."""


class _SettingsFile(TomlConfigSettingsSource):
    """`clew.toml`, which may come with a folder from anywhere: it names no code to run."""

    def __call__(self) -> dict[str, Any]:
        """Its values. Raises `SettingsError` where it names folders of packs."""
        values = super().__call__()
        if "packs" in values:
            raise SettingsError(
                f"packs stands in {SETTINGS_FILE}, and packs are code that would run; say"
                " CLEW_PACKS__FOLDERS='[\"FOLDER\"]' in the environment, or give it as an argument"
            )
        return values


class Settings(BaseSettings):
    """All settings of one engine. Equal settings compare equal; the value is frozen."""

    model_config = SettingsConfigDict(
        env_prefix="CLEW_",
        env_nested_delimiter="__",
        toml_file=SETTINGS_FILE,
        frozen=True,
        extra="forbid",
    )

    store: Annotated[Path | str, BeforeValidator(store_place)] = Field(
        default=Path(".clew"),
        description="Folder that holds the stores, one a namespace, or neo4j://HOST:7687.",
    )
    vectors: VectorBackend = Field(
        default="store", description="Where vectors are searched: the store itself, or beside it."
    )
    namespace: str = Field(
        default="default",
        pattern=NAMESPACE,
        description="Tenant, user or project; each has a store of its own.",
    )
    busy_seconds: float = Field(
        default=30.0,
        ge=0,
        le=3600,
        description="How long to wait for a store that another process writes to.",
    )
    read: ReadSettings = ReadSettings()
    limits: LimitSettings = LimitSettings()
    split: SplitSettings = SplitSettings()
    embed: EmbedSettings = EmbedSettings()
    link: LinkSettings = LinkSettings()
    relations: RelationSettings = RelationSettings()
    versions: VersionSettings = VersionSettings()
    packs: PackSettings = PackSettings()
    search: SearchSettings = SearchSettings()
    rerank: RerankSettings = RerankSettings()
    usage: UsageSettings = UsageSettings()
    boost: BoostSettings = BoostSettings()
    llm: LlmSettings = LlmSettings()
    large: LargeSettings = LargeSettings()
    neo4j: Neo4jSettings = Neo4jSettings()
    qdrant: QdrantSettings = QdrantSettings()
    chroma: ChromaSettings = ChromaSettings()
    jobs: JobSettings = JobSettings()
    access: AccessSettings = AccessSettings()
    serve: ServeSettings = ServeSettings()
    quota: QuotaSettings = QuotaSettings()

    @property
    def on_server(self) -> bool:
        """Whether the store is on a server; `store` is its address then."""
        return isinstance(self.store, str)

    @property
    def folder(self) -> Path:
        """The namespace's folder on this machine.

        It is the store itself; of one on a server it holds jobs and what is derived.
        """
        return self.stores_folder / self.namespace

    @property
    def stores_folder(self) -> Path:
        """The folder that holds those of all namespaces."""
        if isinstance(self.store, Path):
            return self.store.expanduser()
        # Told apart by the server and by the database on it, readably.
        name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{self.store.partition('://')[2]}/").strip("-")
        place = f"{name}-{self.neo4j.database}-{zlib.crc32(self.store.encode()):08x}"
        return (self.neo4j.local or user_cache_path("clew") / "servers").expanduser() / place

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then environment, then `clew.toml`."""
        return init_settings, env_settings, _SettingsFile(settings_cls)


def load_settings(**given: object) -> Settings:
    """Settings from arguments (None means not given), environment, file and defaults.

    Raises `SettingsError` naming each setting that cannot be, and why.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        raise SettingsError("; ".join(_explain(item) for item in error.errors())) from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"{SETTINGS_FILE} cannot be read ({error}); correct it") from error


def _explain(item: object) -> str:
    assert isinstance(item, dict)
    name = ".".join(str(part) for part in item["loc"]) or "settings"
    # Somebody may have written a token where its hash belongs, or a password into an address.
    secret = {"tokens", "password", "api_key", "token"}.intersection(item["loc"])
    hidden = secret or "@" in str(item["input"])
    given = "(not shown)" if hidden else repr(item["input"])
    return f"setting {name} = {given}: {str(item['msg']).removeprefix('Value error, ')}"
