"""Reports of indexing and of checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from clew.types.answers import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """A file or record that could not be indexed, and why."""

    source: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexReport:
    """What one run of `index` did."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    pruned: int = 0
    chunks: int = 0
    skipped: tuple[Skipped, ...] = ()
    seconds: float = 0.0
    embedding_seconds: float = 0.0
    moved: tuple[tuple[str, str], ...] = ()
    """(source that is gone and still stored, new source with the same content)"""
    gone: tuple[str, ...] = ()
    """Records that are still stored, and that their files no longer hold; `prune` drops them."""
    for_packs: Mapping[str, int] = field(default_factory=dict)
    """Files that were read as plain text though a pack knows their format, by the pack, which is
    not enabled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexPreview:
    """What a run of `index` would do, as far as files tell without being read: their sources."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Stored from another state of the file, or by other settings; also every file that holds
    several documents, of which only reading tells which have changed."""
    unchanged: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """Stored, and their files below the paths given have vanished; `prune` drops them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A broken invariant that `check` found."""

    invariant: str
    detail: str
    repairable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """What `check` looked at, found and mended."""

    checked: Sequence[str]
    problems: tuple[Problem, ...]
    repaired: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EnrichmentReport:
    """What a language model added to a store, in one run."""

    kind: str
    """`extract`, `context`, `documents`, `entities`, `topics` or `reports`."""
    done: int = 0
    """Passages, or things to be described, that the model was asked about with success."""
    failed: tuple[Skipped, ...] = ()
    """Those where it failed, and why; what was found without it stays."""
    next_step: str = ""
    """What to do about those that failed; empty where none did."""
    facts: int = 0
    """Facts that the passages state, quoted and checked."""
    new_relations: int = 0
    """Those of them that no passage had stated before."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """What the model said and the text does not, by reason."""
    requests: int = 0
    """Those that were answered from kept replies not counted."""
    cached: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """US dollars; None where the price is not known."""
    seconds: float = 0.0
    stopped: str = ""
    """Why it ended before all was done; run it again to go on."""
