"""Settings of language models; keys come from the environment alone."""

from __future__ import annotations

import os
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from clew.errors import keep_secret
from clew.settings.group import Named, SettingsGroup

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
