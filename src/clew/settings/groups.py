"""What every group of settings is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    IPvAnyNetwork,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from clew.errors import keep_secret
from clew.settings.place import NAMESPACE, zone_of
from clew.types import Fusion, Right, ToolProfile


class SettingsGroup(BaseModel):
    """Values that are frozen and know their names; no error quotes those that are secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _beside_defaults(cls, values: Any) -> Any:  # noqa: ANN401 - whatever was given
        """A group within this one that is given in part keeps the rest of its default here.

        That default may differ from those of its own fields: one task of a model has other limits
        than another.
        """
        if not isinstance(values, Mapping):
            return values
        defaults = {name: field.default for name, field in cls.model_fields.items()}
        whole = dict(values)
        for name, given in values.items():
            default = defaults.get(name)
            if isinstance(default, SettingsGroup) and default.model_fields_set:
                if isinstance(given, SettingsGroup):
                    given = given.model_dump(exclude_unset=True)
                if isinstance(given, Mapping):
                    given = merged(default.model_dump(exclude_unset=True), given)
                whole[name] = given
        return whole

    @model_validator(mode="after")
    def _keep_secrets(self) -> Self:
        for name in type(self).model_fields:
            if isinstance(value := getattr(self, name), SecretStr):
                keep_secret(value.get_secret_value())
        return self


def merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """The values of one source over those of another; groups are taken together."""
    both = dict(low)
    for name, value in high.items():
        below = both.get(name)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            value = merged(below, value)
        both[name] = value
    return both


@dataclass(frozen=True)
class Named:
    """Marks a setting as the name of what plugins bring by a hook, or one of the core's `own`."""

    hook: str
    own: str

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """A text that is checked where it is given."""
        return no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """With the names that there are, which the documentation lists."""
        from clew.hookspecs import named

        return {**handler(schema), "enum": [self.own, *named(self.hook)]}

    def _checked(self, name: str) -> str:
        from clew.hookspecs import named  # what is the core's own needs no plugin

        if name != self.own and name not in (brought := named(self.hook)):
            known = ", ".join(map(repr, (self.own, *brought)))
            raise ValueError(f"expected one of {known}")
        return name


TimeZone = Annotated[str, AfterValidator(lambda name: zone_of(name) and name)]


# Settings of reading, splitting, embedding and linking.


SplitStrategy = Literal["recursive", "semantic", "page", "code", "fixed"]


class ReadSettings(SettingsGroup):
    """Reading files."""

    max_megabytes: float = Field(
        default=50.0, gt=0, description="Larger files are skipped and reported."
    )
    hidden: bool = Field(default=False, description="Read hidden files and folders, too.")
    git_ignored: bool = Field(default=False, description="Read what .gitignore leaves out, too.")
    time_zone: TimeZone = Field(
        default="",
        description="Where the texts of calendars tell times; empty: that of search.time_zone.",
    )


class LimitSettings(SettingsGroup):
    """What reading one document, and one question, may take; what takes more is refused."""

    isolation: Literal["process", "none"] = Field(
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


class SplitSettings(SettingsGroup):
    """Splitting documents into sections (parents) and chunks (children)."""

    strategy: SplitStrategy = Field(
        default="recursive",
        description="`recursive` (by structure), `semantic` (by topic), `page`, `code`, `fixed`.",
    )
    chunk_tokens: int = Field(
        default=200,
        ge=16,
        le=8192,
        description="Tokens of a chunk, at most. One that is longer than the model reads has the"
        " mean of its parts' vectors.",
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


class EmbedSettings(SettingsGroup):
    """The embedding model."""

    model: str = Field(
        default="all-MiniLM-L6-v2",
        description="A directory, the bundled model, or a name on the Hugging Face hub;"
        " `ollama:MODEL`, `openai:MODEL` or `openai-compatible:MODEL` for one on a server.",
    )
    base_url: str = Field(
        default="",
        description="The server of such a model; else the provider's own, as `llm.base_url`.",
    )
    seconds: float = Field(
        default=60.0,
        gt=0,
        le=3600,
        description="How long the server of such a model may take for a batch, tries included.",
    )
    query_prefix: str = Field(
        default="", description="What such a model wants before a question, as `search_query: `."
    )
    document_prefix: str = Field(
        default="", description="The same before a passage, as `search_document: `."
    )
    threads: int = Field(default=0, ge=0, description="Threads of the model; 0 for one a core.")
    providers: tuple[str, ...] = Field(
        default=("CPUExecutionProvider",),
        min_length=1,
        description="Execution providers of onnxruntime, each for what those before it cannot, as"
        ' ["OpenVINOExecutionProvider", "CPUExecutionProvider"].',
    )
    batch_size: int = Field(
        default=8,
        ge=1,
        le=1024,
        description="Passages a batch at most; small is fast on a CPU, where long ones go fewer.",
    )
    vectors: Literal["one", "both"] = Field(
        default="one",
        description="`one`: of each passage with its context; `both`: also of its text alone, for"
        " the rag_type `traditional`, at the price of embedding it twice.",
    )
    cache: Path | None = Field(
        default=None,
        description="Folder of fetched models and remembered vectors; default the user's cache.",
    )
    remembered: int = Field(
        default=50_000,
        ge=0,
        description="Passages whose embeddings are remembered in that cache, by digests of their"
        " texts, so that the same text is embedded once, whatever store it comes to; 0 for none.",
    )


class LinkSettings(SettingsGroup):
    """Taking names for one entity."""

    fuzzy: bool = Field(default=True, description="Tie names that differ by spelling alone.")
    fuzzy_threshold: float = Field(
        default=0.92, ge=0.5, le=1.0, description="Least similarity (0 to 1) of two such names."
    )


class RelationSettings(SettingsGroup):
    """What relations mean."""

    functional: tuple[str, ...] = Field(
        default=("lives_in", "works_at", "married_to"),
        description="Relation types of which one entity has one at a time: a later one ends it, and"
        " so does one that means the same, such as `works_for`.",
    )


class VersionSettings(SettingsGroup):
    """Earlier texts of documents that changed."""

    keep: int = Field(
        default=3,
        ge=0,
        le=1000,
        description="Earlier texts of a document that `as_of` can ask, at most; 0: none.",
    )


class PackSettings(SettingsGroup):
    """Packs of the user's own."""

    folders: tuple[Path, ...] = Field(
        default=(),
        description="Folders that hold packs, each a folder of its own with an `__init__.py`. Their"
        " code runs: named by an argument or by the environment, never by a file.",
    )


# Settings of language models; keys come from the environment alone.


LOCAL_KEY = "CLEW_LLM_API_KEY"
"""Holds the key of the server that `llm.base_url` names."""
_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


class LlmTaskSettings(SettingsGroup):
    """What one task asks of the model; what is not set is as in `llm`."""

    model: str = Field(default="", description="Another model for this task; empty: `llm.model`.")
    temperature: float = Field(
        default=0.0, ge=0, le=2, description="0: the likeliest words; more: more variety."
    )
    max_output_tokens: int = Field(
        default=2048, ge=1, le=200_000, description="Tokens of a reply, at most."
    )
    seconds: float = Field(
        default=120.0, gt=0, le=3600, description="How long one request may take."
    )


class LlmSettings(SettingsGroup):
    """The language model; nothing depends on one. Keys are read from the environment alone."""

    provider: Annotated[str, Named("language_models", "")] = Field(
        default="",
        description="`ollama`, `openai`, `anthropic`, or `openai-compatible` for a server of that"
        " interface (LM Studio, vLLM, llama.cpp); empty: no language model.",
    )
    model: str = Field(default="", description="The model, as the provider names it.")
    base_url: str = Field(
        default="",
        description="The server, such as http://localhost:1234/v1; else the provider's own"
        " (`ollama`: http://localhost:11434).",
    )
    fallback_model: str = Field(
        default="", description="Asked where the model fails for good; empty: none."
    )
    context_tokens: int = Field(
        default=8192,
        ge=512,
        le=10_000_000,
        description="Tokens of a request and its reply, at most; of `ollama` also the model's own"
        " limit.",
    )
    concurrency: int = Field(
        default=4, ge=1, le=256, description="Requests to the provider at a time, at most."
    )
    retries: int = Field(
        default=3, ge=0, le=20, description="Further tries where the provider is overloaded."
    )
    connect_seconds: float = Field(
        default=0.8, gt=0, le=60, description="How long connecting may take."
    )
    keep_alive: str = Field(
        default="5m",
        pattern=r"^-?\d+[smh]?$",
        description="`ollama`: how long the model stays loaded after a request.",
    )
    think: bool = Field(
        default=False, description="`ollama`: let a model that can think do so before it answers."
    )
    routing: bool = Field(
        default=False, description="Let the model choose the strategy of each question."
    )
    entities: bool = Field(
        default=False,
        description="Let the model name the entities that a question is about, beside those that"
        " its words name.",
    )
    filter: bool = Field(
        default=False,
        description="Let the model choose, of the best passages with their bridges, those that"
        " answer together; its choice is weighed against the ranking.",
    )
    filter_depth: int = Field(
        default=30, ge=2, le=100, description="Passages that it chooses from; 20 to 40 are usual."
    )
    filter_weight: float = Field(
        default=0.5,
        ge=0,
        le=10,
        description="Weight of its choice next to the ranking, both in standard units.",
    )
    gleaning: bool = Field(
        default=False,
        description="Let extraction ask a second time for what the first reply missed.",
    )
    cache: bool = Field(default=True, description="Keep replies in the store and use them again.")
    max_tokens_spent: int = Field(
        default=0, ge=0, description="Tokens that one command may spend; 0: no limit."
    )
    max_cost: float = Field(
        default=0.0,
        ge=0,
        allow_inf_nan=False,
        description="US dollars that one command may spend, where prices are known; 0: no limit.",
    )
    extract: LlmTaskSettings = LlmTaskSettings(max_output_tokens=4096)
    context: LlmTaskSettings = LlmTaskSettings(max_output_tokens=256)
    summarise: LlmTaskSettings = LlmTaskSettings(max_output_tokens=1024)
    answer: LlmTaskSettings = LlmTaskSettings(max_output_tokens=1024, seconds=60)
    route: LlmTaskSettings = LlmTaskSettings(max_output_tokens=256, seconds=15)
    judge: LlmTaskSettings = LlmTaskSettings(max_output_tokens=256, seconds=30)

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        if not url:
            return url
        try:
            parts = urlsplit(url)
            sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            sound = False
        if not sound or not url.isprintable() or " " in url:
            raise ValueError("expected an address such as http://localhost:1234/v1")
        if "@" in parts.netloc:
            raise ValueError(f"an address must not hold a key; set {LOCAL_KEY} in the environment")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _is_complete(self) -> LlmSettings:
        if self.provider and not self.model:
            raise ValueError(f"provider {self.provider} needs llm.model, the model's name there")
        if self.provider == "openai-compatible" and not self.base_url:
            raise ValueError("provider openai-compatible needs llm.base_url, the server's address")
        return self

    def task(self, name: str) -> LlmTaskSettings:
        """The settings of a task."""
        found = getattr(self, name)
        assert isinstance(found, LlmTaskSettings)
        return found

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key.

        A vendor's key goes to the vendor alone: a `clew.toml` that somebody else wrote could name
        any address.
        """
        return LOCAL_KEY if self.base_url else _KEYS.get(self.provider, LOCAL_KEY)

    @property
    def api_key(self) -> SecretStr:
        """The key, empty where the environment has none; it is in no dump of the settings."""
        key = os.environ.get(self.key_variable, "")
        keep_secret(key)
        return SecretStr(key)


# Settings of searching, reranking and usage.


Snapshots = Literal["auto", "always", "never"]


class SearchSettings(SettingsGroup):
    """Asking."""

    strategy: str = Field(
        default="auto",
        description="A name from `clew search --help`; `auto` lets the router choose.",
    )
    limit: int = Field(default=10, ge=1, le=1000, description="Passages a question, at most.")
    max_tokens: int = Field(
        default=4000, ge=64, le=1_000_000, description="Tokens of the assembled context, at most."
    )
    time_zone: TimeZone = Field(
        default="",
        description="Where “today” and “last week” are meant and times are told, such as"
        " Europe/Paris; empty: the zone of the machine.",
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
    min_confidence: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Probability from which the best passage counts as an answer; below it the"
        " answer says that nothing found answers the question. 0: whatever it is.",
    )
    reader: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="Whether a small model reads the best passages with the question: `on`, `off`,"
        " or `auto`: where its files are installed.",
    )
    cache: int = Field(
        default=256, ge=0, le=100_000, description="Answers kept until the store changes; 0: none."
    )

    snapshot: Snapshots = Field(
        default="auto",
        description="Whether the whole graph is kept in memory to walk over (about 3 kB a passage),"
        " or each question reads what is near from the store; `auto`: up to two million passages.",
    )


class RerankSettings(SettingsGroup):
    """Reading the best passages once more, each together with the question."""

    model: str = Field(
        default="",
        description="A cross-encoder: a directory or a name on the Hugging Face hub; empty: none.",
    )
    runtime: Literal["onnx", "sentence-transformers"] = Field(
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


class BoostSettings(SettingsGroup):
    """Preferring documents by numbers that they have beside their words."""

    fields: dict[str, float] = Field(
        default={},
        description="Share in the order of numbers of the metadata, on a logarithmic scale:"
        ' {"citations": 0.1}.',
    )
    importance: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of the importance of what a document is about; 0: not looked at.",
    )

    @model_validator(mode="after")
    def _shares_fit(self) -> BoostSettings:
        shares = [*self.fields.values(), self.importance]
        if min(shares) < 0 or sum(shares) > 1:
            raise ValueError(f"the shares must be 0 or more and 1 together at most, not {shares}")
        return self


class UsageSettings(SettingsGroup):
    """Preferring passages that were found useful before."""

    weight: float = Field(
        default=0.0, ge=0, le=1, description="Share of usage in the order; 0: not kept, not used."
    )
    half_life_days: float = Field(
        default=30.0, ge=0.01, description="Days after which a use counts half."
    )


# Settings of servers, callers, quotas, jobs and access.


Namespace = Annotated[str, Field(pattern=NAMESPACE)]


class TokenSettings(SettingsGroup):
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


class OAuthSettings(SettingsGroup):
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


class QuotaSettings(SettingsGroup):
    """What one namespace may hold and have under way."""

    documents: int = Field(default=10_000_000, ge=1, description="Documents, at most.")
    megabytes: float = Field(
        default=20_000.0,
        gt=0,
        description="Size of the store on this machine, at which it takes no more.",
    )
    jobs: int = Field(default=100, ge=1, description="Jobs that have not ended, at most.")
    backups: int = Field(
        default=20, ge=1, description="Backups that tools keep beside the store, at most."
    )
    sessions: int = Field(
        default=100, ge=1, description="Sessions with `clew serve` (revision 2025-11-25), at most."
    )


class ServeSettings(SettingsGroup):
    """Serving assistants: `clew mcp` and `clew serve`."""

    host: str = Field(default="127.0.0.1", description="Address that `clew serve` listens on.")
    port: int = Field(default=8766, ge=0, le=65535, description="Its port; 0: any that is free.")
    profile: ToolProfile = Field(
        default="core", description="Which tools are served: `core`, `full` or `memory`."
    )
    namespaces: tuple[Namespace, ...] = Field(
        default=(),
        description="Namespaces that a caller without a token may name beside the one served.",
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
        default=365.0, gt=0, description="Days with entries for which the audit log is kept."
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


class JobSettings(SettingsGroup):
    """Work in the background."""

    concurrency: int = Field(
        default=2, ge=1, le=32, description="Jobs that one process runs at a time."
    )
    retention_days: float = Field(
        default=30.0, gt=0, description="Days for which jobs that have ended are kept."
    )


class AccessSettings(SettingsGroup):
    """What tools may read, and change, beyond the store."""

    roots: tuple[Path, ...] = Field(
        default=(),
        description="Folders below which tools read files that are named by a path; default none."
        " `clew install` sets one. Over HTTP: serve.roots.",
    )
    write: tuple[Path, ...] = Field(
        default=(),
        description="Folders below which tools may change files, too, such as those of tasks;"
        " default none.",
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


# Settings of stores and vector indexes on servers.


LargeIndex = Literal["auto", "always", "never"]


def store_place(value: object) -> object:
    """A folder as a path, a server's address as text."""
    if not isinstance(value, (str, Path)) or value == "":
        raise ValueError("expected a folder, or the address of a server")
    if isinstance(value, Path) or "://" not in value:
        return Path(value)
    from clew.hookspecs import named  # a store in a folder needs no plugin

    scheme, _, rest = value.partition("://")
    schemes = list(named("stores"))
    if scheme not in schemes:
        raise ValueError(f"expected a folder, or an address that begins with {schemes[0]}://")
    if "@" in rest:
        raise ValueError(
            "an address must not hold a password, since addresses are logged; set neo4j.user and"
            " CLEW_NEO4J__PASSWORD"
        )
    try:
        parts = urlsplit(value)
        can_be_read = bool(parts.hostname) and parts.port != 0
    except ValueError:
        can_be_read = False
    if not (can_be_read and value.isprintable() and " " not in value):
        raise ValueError(f"expected an address such as {schemes[0]}://localhost:7687")
    return value


class LargeSettings(SettingsGroup):
    """How a large store in a folder is searched; both need the extra `large`."""

    keywords: LargeIndex = Field(
        default="auto",
        description="Words in tantivy beside the store; auto: from 100,000 passages, where that is"
        " installed.",
    )
    vectors: LargeIndex = Field(
        default="auto",
        description="4-bit codes choose the vectors that are compared; auto: from 100,000 passages,"
        " where turbovec is installed.",
    )


class Neo4jSettings(SettingsGroup):
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
    examples: Path | None = Field(
        default=None,
        description="TOML of questions with their queries, the nearest of which a language model is"
        " shown before it writes one.",
    )


class QdrantSettings(SettingsGroup):
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


class ChromaSettings(SettingsGroup):
    """Vectors in Chroma (`vectors` is `chroma`): on a server, or in a folder."""

    url: str = Field(default="", description="The server, such as http://localhost:8000.")
    token: SecretStr = Field(
        default=SecretStr(""), description="Its token; best given as CLEW_CHROMA__TOKEN."
    )
    path: Path | None = Field(
        default=None, description="Folder of a local Chroma; default one beside the store."
    )
    kind: Literal["traditional", "contextual", "graph"] = Field(
        default="contextual",
        description="Collection of the passages with their context: documents_KIND_v1. Where"
        " `embed.vectors` is `both`, documents_traditional_v1 holds the texts alone.",
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
