"""What a pack declares: the types, relations, formats, tools and questions of a domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from clew.indexing.reading.formats.common import Reader
    from clew.types import Document, Structure

FieldKind = Literal["text", "number", "date", "time", "boolean", "list"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A property that entities of a type have, as metadata of the document that describes one."""

    name: str
    """snake_case: its name in the metadata."""
    kind: FieldKind = "text"
    """`date`: ISO 8601 by the day; `time`: in UTC; `list`: of texts."""
    description: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    """The values that there are; empty: any."""

    def expected(self, value: object) -> str:
        """What a value should be that is out of range or none of the choices; else empty."""
        if self.choices:
            return "" if value in self.choices else ", ".join(self.choices)
        least, most = self.minimum, self.maximum
        if least is None and most is None:
            return ""
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and (least is None or value >= least) and (most is None or value <= most):  # type: ignore[operator]
            return ""
        if most is None:
            return f"at least {least:g}"
        return f"at most {most:g}" if least is None else f"{least:g} to {most:g}"


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityType:
    """A kind of thing that the domain speaks of.

    A document describes the entity that its title names, where its metadata holds `entity_type`.
    """

    name: str
    """snake_case; `person`, `place`, `organisation`, `work`, `event`, `product`, `concept` are
    known to every store, and mean the same in all packs."""
    fields: tuple[Field, ...] = ()
    description: str = ""
    label: str = ""
    """Of its nodes on Neo4j, beside `ClewEntity`; by default the name in PascalCase."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationType:
    """A kind of relation."""

    name: str
    """snake_case."""
    functional: bool = False
    """One entity has one at a time: a later one ends an earlier one."""
    causal: bool = False
    """What it leads from is the cause of what it leads to."""
    inverse: str = ""
    """The same relation seen from its other end ("wrote" of `written_by`). One that is found is
    stored under `name`, from the other end; `get_entity_neighbors` knows both names."""
    synonyms: tuple[str, ...] = ()
    """Other names of it: what every store reads as `authored_by` is `written_by` of papers."""
    description: str = ""


def no_tools() -> Sequence[object]:
    """The tools of a pack that has none."""
    return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Pack:
    """What a domain adds to the engine. All functions are importable by name from their module."""

    name: str
    """Lower case: letters, digits and underscores."""
    title: str
    description: str = ""
    version: int = 1
    """To be raised where documents have to be indexed again."""
    entity_types: tuple[EntityType, ...] = ()
    relation_types: tuple[RelationType, ...] = ()
    hierarchies: tuple[str, ...] = ()
    """Entity types from the most general to the most particular, with what leads from each to the
    next, such as "value -defines-> principle". `hierarchical` follows the one that has the layer
    that is asked for."""
    readers: Mapping[str, Reader] = field(default_factory=dict)
    """By ending (".ics") or whole file name ("todo.txt"), in lower case. They run in the worker
    process, within the limits of the settings."""
    structures: tuple[Callable[[Document], Structure], ...] = ()
    """What documents state by their structure, as `clew.indexing.structure.READERS`: pure functions
    of the stored document."""
    tools: Callable[[], Sequence[object]] = no_tools
    """Gives `clew.tools.spec.Tool`s; what they need is imported inside. They are offered in the
    profile `full` while the pack is enabled."""
    strategies: Mapping[str, str] = field(default_factory=dict)
    """Strategy by kind of question (a rule of `clew.search.analysis.route`, or `fact`)."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Further instructions for a model by what it does: `extract`."""
    questions: Path | None = None
    """JSON Lines of `question` and `gold`: titles, or ends of sources, of which one answers it."""
