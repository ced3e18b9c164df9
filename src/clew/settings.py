"""Settings, as values; the only reader of the environment and of `clew.toml`.

Order of precedence: arguments, environment (`CLEW_STORE`, `CLEW_SPLIT__CHUNK_TOKENS`, …), the file
`clew.toml` in the working directory, the defaults below.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from clew.errors import SettingsError
from clew.types import Fusion

SplitStrategy = Literal["recursive", "semantic", "page", "code", "fixed"]
Precision = Literal["fp32", "int8"]
RerankRuntime = Literal["onnx", "sentence-transformers"]


class _Values(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ReadSettings(_Values):
    """Reading files."""

    max_megabytes: float = Field(
        default=50.0, gt=0, description="Larger files are skipped and reported."
    )
    hidden: bool = Field(default=False, description="Read hidden files and folders, too.")
    git_ignored: bool = Field(default=False, description="Read what .gitignore leaves out, too.")


class SplitSettings(_Values):
    """Splitting documents into sections (parents) and chunks (children)."""

    strategy: SplitStrategy = Field(
        default="recursive",
        description="`recursive` (by structure), `semantic` (by topic), `page`, `code`, `fixed`.",
    )
    chunk_tokens: int = Field(
        default=200, ge=16, le=8192, description="Tokens of a chunk, at most."
    )
    overlap: float = Field(
        default=0.15, ge=0, le=0.5, description="Share of a chunk repeated in the next."
    )
    section_tokens: int = Field(
        default=800, ge=16, le=32768, description="Tokens of a section, at most."
    )

    @model_validator(mode="after")
    def _section_holds_chunk(self) -> SplitSettings:
        if self.section_tokens < self.chunk_tokens:
            raise ValueError(
                f"section_tokens ({self.section_tokens}) must be at least"
                f" chunk_tokens ({self.chunk_tokens})"
            )
        return self


class EmbedSettings(_Values):
    """The embedding model."""

    model: str = Field(
        default="all-MiniLM-L6-v2",
        description="A directory, the bundled model, or a name on the Hugging Face hub.",
    )
    precision: Precision = Field(
        default="fp32", description="`fp32`, or `int8` (faster, a little less exact)."
    )
    threads: int = Field(default=0, ge=0, description="Threads of the model; 0 for one a core.")
    batch_size: int = Field(
        default=8, ge=1, le=1024, description="Passages a batch; small is fast on a CPU."
    )
    cache: Path | None = Field(
        default=None, description="Where converted models are kept; default the user's cache."
    )


class LinkSettings(_Values):
    """Taking names for one entity."""

    fuzzy: bool = Field(default=True, description="Tie names that differ by spelling alone.")
    fuzzy_threshold: float = Field(
        default=0.92, ge=0.5, le=1.0, description="Least similarity (0 to 1) of two such names."
    )


class RelationSettings(_Values):
    """What relations mean."""

    functional: tuple[str, ...] = Field(
        default=("lives_in", "works_at", "works_for", "married_to"),
        description="Relation types of which one entity has one at a time: a later one ends it.",
    )


class SearchSettings(_Values):
    """Asking."""

    strategy: str = Field(
        default="auto",
        description="A name from `clew search --help`; `auto` lets the router choose.",
    )
    limit: int = Field(default=10, ge=1, le=1000, description="Passages a question, at most.")
    max_tokens: int = Field(
        default=4000, ge=64, le=1_000_000, description="Tokens of the assembled context, at most."
    )
    time_zone: str = Field(
        default="UTC", description="Where “today” and “last week” are meant, such as Europe/Paris."
    )
    max_hops: int = Field(default=2, ge=1, le=5, description="Steps from entity to entity.")
    fusion: Fusion = Field(
        default="rrf", description="How `hybrid` fuses: by rank (`rrf`), or `weighted` by α."
    )
    alpha: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Share of words in the weighted fusion; by the kind of question where not set.",
    )
    weights: tuple[float, float, float] = Field(
        default=(0.6, 0.3, 0.1),
        description="Of `weighted`: nearness of meaning, nearness in the graph, time.",
    )
    hierarchy: str = Field(
        default="",
        description="Layers of `hierarchical`, such as person -works_at-> organisation; else the"
        " documents' outline.",
    )
    cache: int = Field(
        default=256, ge=0, le=100_000, description="Answers kept until the store changes; 0: none."
    )

    @field_validator("time_zone")
    @classmethod
    def _zone_exists(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                "expected a zone of the IANA database, such as Europe/Paris"
            ) from error
        return name


class RerankSettings(_Values):
    """Reading the best passages once more, each together with the question."""

    model: str = Field(
        default="",
        description="A cross-encoder: a directory or a name on the Hugging Face hub; empty: none.",
    )
    runtime: RerankRuntime = Field(
        default="onnx", description="What runs it: `onnx`, or `sentence-transformers` (an extra)."
    )
    depth: int = Field(
        default=100, ge=1, le=1000, description="Passages that are read, from the best."
    )
    weight: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of the cross-encoder in the order; the rest is the first stage's.",
    )


class UsageSettings(_Values):
    """Preferring passages that were found useful before."""

    weight: float = Field(
        default=0.0, ge=0, le=1, description="Share of usage in the order; 0: not kept, not used."
    )
    half_life_days: float = Field(
        default=30.0, ge=0.01, description="Days after which a use counts half."
    )


class Settings(BaseSettings):
    """All settings of one engine. Equal settings compare equal; the value is frozen."""

    model_config = SettingsConfigDict(
        env_prefix="CLEW_",
        env_nested_delimiter="__",
        toml_file="clew.toml",
        frozen=True,
        extra="forbid",
    )

    store: Path = Field(
        default=Path(".clew"), description="Folder that holds the stores, one a namespace."
    )
    namespace: str = Field(
        default="default",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
        description="Tenant, user or project; each has a store of its own.",
    )
    busy_seconds: float = Field(
        default=30.0,
        ge=0,
        le=3600,
        description="How long to wait for a store that another process writes to.",
    )
    read: ReadSettings = ReadSettings()
    split: SplitSettings = SplitSettings()
    embed: EmbedSettings = EmbedSettings()
    link: LinkSettings = LinkSettings()
    relations: RelationSettings = RelationSettings()
    search: SearchSettings = SearchSettings()
    rerank: RerankSettings = RerankSettings()
    usage: UsageSettings = UsageSettings()

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
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load_settings(**given: object) -> Settings:
    """Settings from arguments (None means not given), environment, file and defaults.

    Raises `SettingsError` naming each setting that cannot be, and why.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        raise SettingsError("; ".join(_explain(item) for item in error.errors())) from error


def _explain(item: object) -> str:
    assert isinstance(item, dict)
    name = ".".join(str(part) for part in item["loc"]) or "settings"
    return f"setting {name} = {item['input']!r}: {item['msg']}"
