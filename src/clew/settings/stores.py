"""Settings of stores and vector indexes on servers."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from clew.settings.group import SettingsGroup

ChromaKind = Literal["traditional", "contextual", "graph"]
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
    if not _is_address(value):
        raise ValueError(f"expected an address such as {schemes[0]}://localhost:7687")
    return value


def _is_address(text: str) -> bool:
    """Whether a host and, if any, a port can be read from a text without spaces or controls."""
    try:
        parts = urlsplit(text)
        known = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return known and text.isprintable() and " " not in text


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
    kind: ChromaKind = Field(
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
