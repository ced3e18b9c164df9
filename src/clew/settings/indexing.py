"""Settings of reading, splitting, embedding and linking."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from clew.settings.group import SettingsGroup

Isolation = Literal["process", "none"]
SplitStrategy = Literal["recursive", "semantic", "page", "code", "fixed"]
VectorSets = Literal["one", "both"]


class ReadSettings(SettingsGroup):
    """Reading files."""

    max_megabytes: float = Field(
        default=50.0, gt=0, description="Larger files are skipped and reported."
    )
    hidden: bool = Field(default=False, description="Read hidden files and folders, too.")
    git_ignored: bool = Field(default=False, description="Read what .gitignore leaves out, too.")


class LimitSettings(SettingsGroup):
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
        description="A directory, the bundled model, or a name on the Hugging Face hub.",
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
    vectors: VectorSets = Field(
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
