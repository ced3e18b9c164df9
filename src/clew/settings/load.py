"""All settings of an engine, and where they come from."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, get_origin

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator

from clew.errors import SettingsError
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
    Named,
    Neo4jSettings,
    PackSettings,
    QdrantSettings,
    QuotaSettings,
    ReadSettings,
    RelationSettings,
    RerankSettings,
    SearchSettings,
    ServeSettings,
    SettingsGroup,
    SplitSettings,
    UsageSettings,
    VersionSettings,
    merged,
    store_place,
)
from clew.settings.place import NAMESPACE, PREFIX, SETTINGS_FILE, StorePlace

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


class Settings(StorePlace, SettingsGroup):
    """All settings of one engine. Equal settings compare equal; the value is frozen.

    Example:
        >>> store.settings.search.limit
        10
    """

    store: Annotated[Path | str, BeforeValidator(store_place)] = Field(
        default=Path(".clew"),
        description="Folder that holds the stores, one a namespace, or neo4j://HOST:7687.",
    )
    vectors: Annotated[str, Named("vector_indexes", "store")] = Field(
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

    @model_validator(mode="after")
    def _texts_tell_the_same_time(self) -> Self:
        if self.search.time_zone and not self.read.time_zone:
            read = self.read.model_copy(update={"time_zone": self.search.time_zone})
            object.__setattr__(self, "read", read)
        return self


def load_settings(**given: object) -> Settings:
    """Settings from arguments (None means not given), environment, file and defaults.

    Raises `SettingsError` naming each setting that cannot be, and why.

    Example:
        >>> settings = clew.load_settings(store="notes.clew", search={"limit": 3})
        >>> settings.search.limit
        3
    """
    arguments = {name: value for name, value in given.items() if value is not None}
    try:
        return Settings.model_validate(
            merged(merged(_from_file(Path(SETTINGS_FILE)), _from_environment()), arguments)
        )
    except ValidationError as error:
        said = []
        for item in error.errors():
            name = ".".join(str(part) for part in item["loc"]) or "settings"
            # Somebody may have written a token where its hash belongs, or a password into an
            # address.
            secret = {"tokens", "password", "api_key", "token"}.intersection(item["loc"])
            hidden = secret or "@" in str(item["input"])
            shown = "(not shown)" if hidden else repr(item["input"])
            why = item["msg"].removeprefix("Value error, ")
            said.append(f"setting {name} = {shown}: {why}")
        raise SettingsError("; ".join(said)) from error


def _from_file(path: Path) -> dict[str, Any]:
    """The file's values; it may come with a folder from anywhere, so that it names no code to run.

    Raises `SettingsError` where it names folders of packs, or cannot be read.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read ({error}); correct it") from error
    if "packs" in values:
        raise SettingsError(
            f"packs stands in {path}, and packs are code that would run; say"
            " CLEW_PACKS__FOLDERS='[\"FOLDER\"]' in the environment, or give it as an argument"
        )
    return values


def _from_environment() -> dict[str, Any]:
    """The values of the variables that name settings, in groups as the settings are."""
    values: dict[str, Any] = {}
    # What names a whole group comes before what names a setting in it.
    for variable, text in sorted((name.lower(), text) for name, text in os.environ.items()):
        if not variable.startswith(PREFIX.lower()):
            continue
        parts = variable[len(PREFIX) :].split("__")
        if parts[0] in Settings.model_fields:
            value = _read_value(parts, text)
            for part in reversed(parts):
                value = {part: value}
            values = merged(values, value)
    return values


def _read_value(parts: Sequence[str], text: str) -> Any:  # noqa: ANN401 - any value
    """A variable's value: JSON where the setting is more than one value."""
    kind: Any = Settings
    for part in parts:
        field = kind.model_fields.get(part) if _is_group(kind) else None
        kind = field and field.annotation
    if get_origin(kind) not in (tuple, dict) and not _is_group(kind):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise SettingsError(
            f"the variable {PREFIX}{'__'.join(parts).upper()} is no JSON ({error}); expected a"
            ' list or an object, such as \'["one", "two"]\''
        ) from error


def _is_group(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def editable_toml(text: str) -> TOMLDocument:
    """TOML that keeps its comments and its order, to be changed and written by `as_string`.

    Raises:
        ValueError: where it is no TOML.
    """
    from tomlkit import parse
    from tomlkit.exceptions import TOMLKitError

    try:
        return parse(text)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error
