"""Settings of searching, reranking and usage."""

from __future__ import annotations

from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator

from clew.settings.group import SettingsGroup
from clew.types import Fusion

Snapshots = Literal["auto", "always", "never"]
RerankRuntime = Literal["onnx", "sentence-transformers"]


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
    min_confidence: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Probability from which the best passage counts as an answer; below it the"
        " answer says that nothing found answers the question. 0: whatever it is.",
    )
    cache: int = Field(
        default=256, ge=0, le=100_000, description="Answers kept until the store changes; 0: none."
    )

    snapshot: Snapshots = Field(
        default="auto",
        description="Whether the whole graph is kept in memory to walk over (about 3 kB a passage),"
        " or each question reads what is near from the store; `auto`: up to two million passages.",
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


class RerankSettings(SettingsGroup):
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

    @property
    def any(self) -> bool:
        """Whether anything is preferred."""
        return bool(self.fields) or self.importance > 0


class UsageSettings(SettingsGroup):
    """Preferring passages that were found useful before."""

    weight: float = Field(
        default=0.0, ge=0, le=1, description="Share of usage in the order; 0: not kept, not used."
    )
    half_life_days: float = Field(
        default=30.0, ge=0.01, description="Days after which a use counts half."
    )
