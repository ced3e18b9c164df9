"""Settings of servers, callers, quotas, jobs and access."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, IPvAnyNetwork, field_validator, model_validator

from clew.settings.group import SettingsGroup
from clew.settings.place import NAMESPACE

ToolProfile = Literal["core", "full", "memory"]
Right = Literal["read", "write", "admin"]
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
