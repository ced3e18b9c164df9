"""Settings, as values; the only reader of the environment and of `clew.toml`.

Order of precedence: arguments, environment (`CLEW_STORE`, `CLEW_SPLIT__CHUNK_TOKENS`, …), the file
`clew.toml` in the working directory, the defaults below.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from platformdirs import user_cache_path
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    SecretStr,
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

Isolation = Literal["process", "none"]
SplitStrategy = Literal["recursive", "semantic", "page", "code", "fixed"]
Precision = Literal["fp32", "int8"]
VectorBackend = Literal["store", "qdrant", "chroma"]
ChromaKind = Literal["traditional", "contextual", "graph"]
RerankRuntime = Literal["onnx", "sentence-transformers"]
ToolProfile = Literal["core", "full", "memory"]
Right = Literal["read", "write", "admin"]
SETTINGS_FILE = "clew.toml"
"""In the working directory."""
NAMESPACE = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
"""What a namespace's name looks like."""
Namespace = Annotated[str, Field(pattern=NAMESPACE)]
_SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")


def _place(value: object) -> object:
    """A folder as a path, a server's address as text."""
    if not isinstance(value, (str, Path)) or value == "":
        raise ValueError("expected a folder, or the address of a server")
    if isinstance(value, Path) or "://" not in value:
        return Path(value)
    scheme, _, rest = value.partition("://")
    if scheme not in _SCHEMES:
        raise ValueError(f"expected a folder, or an address that begins with {_SCHEMES[0]}://")
    if "@" in rest:
        raise ValueError(
            "an address must not hold a password, since addresses are logged; set neo4j.user and"
            " CLEW_NEO4J__PASSWORD"
        )
    if not _is_address(value):
        raise ValueError(f"expected an address such as {_SCHEMES[0]}://localhost:7687")
    return value


def _is_address(text: str) -> bool:
    """Whether a host and, if any, a port can be read from a text without spaces or controls."""
    try:
        parts = urlsplit(text)
        known = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return known and text.isprintable() and " " not in text


class _Values(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ReadSettings(_Values):
    """Reading files."""

    max_megabytes: float = Field(
        default=50.0, gt=0, description="Larger files are skipped and reported."
    )
    hidden: bool = Field(default=False, description="Read hidden files and folders, too.")
    git_ignored: bool = Field(default=False, description="Read what .gitignore leaves out, too.")


class LimitSettings(_Values):
    """What reading one document, and one question, may take; what takes more is refused."""

    isolation: Isolation = Field(
        default="process",
        description="Read documents in a `process` that can be ended; `none`: in this one, whose"
        " time and memory nothing bounds.",
    )
    workers: int = Field(
        default=2, ge=1, le=64, description="Such processes of one store at a time, at most."
    )
    document_seconds: float = Field(
        default=120.0, gt=0, le=86_400, description="Seconds for a document of any size."
    )
    seconds_per_megabyte: float = Field(
        default=30.0, ge=0, le=86_400, description="Seconds more for each megabyte of it."
    )
    memory_megabytes: int = Field(
        default=2048, ge=64, description="Memory that reading may add, where the system limits it."
    )
    output_megabytes: int = Field(
        default=256, ge=1, le=2047, description="What comes of one document, as it is handed over."
    )
    characters: int = Field(default=50_000_000, ge=1, description="Characters of text of a file.")
    chunks: int = Field(default=250_000, ge=1, description="Chunks of a document.")
    sentences: int = Field(default=1_000_000, ge=1, description="Sentences of a document.")
    names: int = Field(
        default=2_000_000, ge=1, description="Mentions of names, and relations, of a document."
    )
    cells: int = Field(
        default=5_000_000, ge=1, description="Cells of a table, the empty ones of a sheet too."
    )
    elements: int = Field(
        default=2_000_000, ge=1, description="XML elements of an office file, all parts together."
    )
    members: int = Field(default=10_000, ge=1, description="Parts of an office file.")
    question_characters: int = Field(default=100_000, ge=1, description="Characters of a question.")
    name_characters: int = Field(
        default=4096, ge=1, description="Characters of the name of an entity or a document."
    )


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


class Neo4jSettings(_Values):
    """A store on a Neo4j server: `store` is its address."""

    user: str = Field(default="neo4j", description="Who logs in; empty: without logging in.")
    password: SecretStr = Field(
        default=SecretStr(""), description="Their password; best given as CLEW_NEO4J__PASSWORD."
    )
    database: str = Field(
        default="neo4j",
        pattern=r"^[A-Za-z][A-Za-z0-9.-]{2,62}$",
        description="Database on the server; every namespace is a part of it.",
    )
    connect_seconds: float = Field(
        default=10.0, gt=0, le=600, description="How long connecting may take."
    )
    query_seconds: float = Field(
        default=120.0, gt=0, le=3600, description="How long one query may take."
    )
    retry_seconds: float = Field(
        default=10.0,
        ge=0,
        le=600,
        description="How long a query is repeated that failed for a reason that passes.",
    )
    local: Path | None = Field(
        default=None,
        description="Where jobs and what is derived are kept here; default the user's cache.",
    )


class QdrantSettings(_Values):
    """Vectors in Qdrant (`vectors` is `qdrant`): on a server, or in a folder."""

    url: str = Field(default="", description="The server, such as http://localhost:6333.")
    api_key: SecretStr = Field(
        default=SecretStr(""), description="Its key; best given as CLEW_QDRANT__API_KEY."
    )
    path: Path | None = Field(
        default=None,
        description="Folder of local Qdrants, one a namespace; default one beside the store.",
    )
    quantization: bool = Field(
        default=False, description="Keep vectors as int8 in memory; a quarter of the size."
    )
    on_disk: bool = Field(
        default=False, description="Keep vectors on disk; for collections beyond memory."
    )
    seconds: float = Field(default=10.0, gt=0, le=600, description="How long one call may take.")


class ChromaSettings(_Values):
    """Vectors in Chroma (`vectors` is `chroma`): on a server, or in a folder."""

    url: str = Field(default="", description="The server, such as http://localhost:8000.")
    token: SecretStr = Field(
        default=SecretStr(""), description="Its token; best given as CLEW_CHROMA__TOKEN."
    )
    path: Path | None = Field(
        default=None, description="Folder of a local Chroma; default one beside the store."
    )
    kind: ChromaKind = Field(
        default="contextual", description="Collection: documents_KIND_v1, one each kind."
    )
    ef_construction: int = Field(
        default=200, ge=8, le=4096, description="HNSW: candidates when adding; more is better."
    )
    ef_search: int = Field(
        default=200, ge=8, le=4096, description="HNSW: candidates when asking; more is better."
    )
    max_neighbors: int = Field(
        default=32, ge=4, le=256, description="HNSW: ties of each vector; more is better."
    )
    seconds: float = Field(default=10.0, gt=0, le=600, description="How long one call may take.")


class TokenSettings(_Values):
    """A caller of `clew serve` who shows a token."""

    name: str = Field(min_length=1, max_length=64, description="Who it is, in logs and audit rows.")
    sha256: str = Field(
        pattern="^[0-9a-f]{64}$",
        repr=False,
        description="SHA-256 of the token in hex; the token itself is kept nowhere.",
    )
    namespaces: tuple[Namespace, ...] = Field(
        min_length=1, description="Those that the caller may use; the first unless it names one."
    )
    scopes: tuple[Right, ...] = Field(
        default=("read", "write"), description="Among read, write and admin; read is always one."
    )
    tools: tuple[str, ...] | None = Field(
        default=None,
        description="Names of the tools allowed; all that the scopes allow if not set.",
    )

    @field_validator("scopes")
    @classmethod
    def _reads(cls, scopes: tuple[Right, ...]) -> tuple[Right, ...]:
        if "read" not in scopes:
            raise ValueError("expected read among the scopes")
        return scopes


class OAuthSettings(_Values):
    """Callers who show a token of an authorization server (OAuth 2.1, JWT)."""

    issuer: str = Field(default="", description="URL of the authorization server; empty: none.")
    audience: str = Field(
        default="", description="This server's own URL, as tokens name it: https://host/mcp."
    )
    jwks_url: str = Field(default="", description="Where the issuer's public keys are.")
    namespace_claim: str = Field(
        default="",
        description="Claim that names the namespaces; else each subject has one of its own.",
    )

    @model_validator(mode="after")
    def _all_or_none(self) -> OAuthSettings:
        if any(parts := (self.issuer, self.audience, self.jwks_url)) and not all(parts):
            raise ValueError("expected issuer, audience and jwks_url together, or none of them")
        return self


class QuotaSettings(_Values):
    """What one namespace may hold and have under way."""

    documents: int = Field(default=1_000_000, ge=1, description="Documents, at most.")
    megabytes: float = Field(
        default=20_000.0,
        gt=0,
        description="Size of the store on this machine, uploads aside, at which it takes no more.",
    )
    jobs: int = Field(default=100, ge=1, description="Jobs that have not ended, at most.")
    sessions: int = Field(
        default=100, ge=1, description="Sessions with `clew serve` (revision 2025-11-25), at most."
    )


class ServeSettings(_Values):
    """Serving assistants: `clew mcp` and `clew serve`."""

    host: str = Field(default="127.0.0.1", description="Address that `clew serve` listens on.")
    port: int = Field(default=8766, ge=0, le=65535, description="Its port; 0: any that is free.")
    profile: ToolProfile = Field(
        default="core", description="Which tools are served: `core`, `full` or `memory`."
    )
    tokens: tuple[TokenSettings, ...] = Field(
        default=(), description="Callers who show a token, as tables of `clew.toml`."
    )
    oauth: OAuthSettings = OAuthSettings()
    allowed_hosts: tuple[str, ...] = Field(
        default=(), description="Names that requests may be addressed to, beside the address."
    )
    allowed_origins: tuple[str, ...] = Field(
        default=(), description="Origins of web pages that may call, such as https://example.org."
    )
    rate_per_minute: int = Field(
        default=6000, ge=1, le=1_000_000, description="Requests of one caller a minute, at most."
    )
    request_seconds: float = Field(
        default=60.0, gt=0, le=3600, description="How long one request may take."
    )
    header_seconds: float = Field(
        default=10.0, gt=0, le=600, description="How long the headers of a request may take."
    )
    connections: int = Field(
        default=500, ge=1, le=1_000_000, description="Connections at a time, at most."
    )
    connections_per_caller: int = Field(
        default=100,
        ge=1,
        le=1_000_000,
        description="Connections of one address, and requests of one caller, at a time, at most.",
    )
    sessions: int = Field(
        default=1000, ge=1, description="Sessions of all namespaces together, at most."
    )
    session_minutes: float = Field(
        default=30.0, gt=0, description="Minutes after which an idle session ends."
    )
    session_hours: float = Field(
        default=24.0, gt=0, description="Hours after which any session ends."
    )
    audit_days: float = Field(
        default=365.0, gt=0, description="Days for which the audit log is kept."
    )
    trusted_proxies: tuple[IPvAnyNetwork, ...] = Field(
        default=(),
        description="Addresses of reverse proxies, whose X-Forwarded-For is believed.",
    )
    body_megabytes: float = Field(
        default=4.0, gt=0, le=1024, description="Size of one request, at most."
    )
    roots: tuple[str, ...] = Field(
        default=(),
        description="Folders of this machine that callers over HTTP may have read, such as"
        " /srv/documents/{namespace}; default none.",
    )
    upload_megabytes: float = Field(
        default=500.0,
        gt=0,
        description="Files that a namespace has in upload and not read yet, together, at most.",
    )
    upload_hours: float = Field(
        default=24.0, gt=0, le=720, description="Hours after which an idle upload is forgotten."
    )

    @field_validator("roots")
    @classmethod
    def _one_each(cls, roots: tuple[str, ...]) -> tuple[str, ...]:
        for root in roots:
            if "{namespace}" not in root or not Path(root).expanduser().is_absolute():
                raise ValueError(
                    "expected absolute folders with {namespace} in them: no namespace reads"
                    " another's files"
                )
        return roots

    @field_validator("tokens")
    @classmethod
    def _told_apart(cls, tokens: tuple[TokenSettings, ...]) -> tuple[TokenSettings, ...]:
        for kind in ("name", "sha256"):
            if len({getattr(token, kind) for token in tokens}) < len(tokens):
                raise ValueError(f"expected tokens that differ in {kind}")
        return tokens


class JobSettings(_Values):
    """Work in the background."""

    concurrency: int = Field(
        default=2, ge=1, le=32, description="Jobs that one process runs at a time."
    )
    retention_days: float = Field(
        default=30.0, gt=0, description="Days for which jobs that have ended are kept."
    )


class AccessSettings(_Values):
    """What tools may read from beyond the store."""

    roots: tuple[Path, ...] = Field(
        default=(Path(),),
        description="Folders below which paths may be; default the working directory. Over HTTP:"
        " serve.roots.",
    )
    allow_urls: bool = Field(default=True, description="Whether http and https may be fetched.")
    allow_private_addresses: bool = Field(
        default=False, description="Fetch from this machine and private networks, too."
    )
    max_url_megabytes: float = Field(
        default=20.0, gt=0, description="Megabytes of what is fetched, at most."
    )
    url_seconds: float = Field(
        default=30.0, gt=0, le=3600, description="Seconds that fetching may take, at most."
    )


class Settings(BaseSettings):
    """All settings of one engine. Equal settings compare equal; the value is frozen."""

    model_config = SettingsConfigDict(
        env_prefix="CLEW_",
        env_nested_delimiter="__",
        toml_file=SETTINGS_FILE,
        frozen=True,
        extra="forbid",
    )

    store: Annotated[Path | str, BeforeValidator(_place)] = Field(
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
    search: SearchSettings = SearchSettings()
    rerank: RerankSettings = RerankSettings()
    usage: UsageSettings = UsageSettings()
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
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


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
