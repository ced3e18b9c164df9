"""What may be added to reading and extraction from outside: see `clew.packs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from clew.hookspecs import Reader
    from clew.types import Document, Extraction, Structure


@dataclass(frozen=True, kw_only=True, slots=True)
class Domain:
    """What a model that reads passages is told beside what it is always told."""

    entity_types: tuple[str, ...] = ()
    relation_types: tuple[str, ...] = ()
    """To be used where they fit; others may be, too."""
    instructions: tuple[str, ...] = ()


class Extension(Protocol):
    """Further formats, structures and meanings of relations; can be sent to another process."""

    @property
    def fingerprint(self) -> str:
        """Changes where documents have to be indexed again; empty for nothing added."""
        ...

    @property
    def readers(self) -> Mapping[str, Sequence[Reader]]:
        """As in `RawFile`."""
        ...

    @property
    def structures(self) -> Sequence[Callable[[Document], Structure]]:
        """As `indexing.structure.READERS`."""
        ...

    def normalised(self, extraction: Extraction) -> Extraction:
        """The extraction with relations in the direction and with the marks of their types."""
        ...


class NoExtension:
    """Implements `Extension`: nothing is added."""

    fingerprint = ""
    readers: Mapping[str, Sequence[Reader]] = {}
    structures: Sequence[Callable[[Document], Structure]] = ()

    def normalised(self, extraction: Extraction) -> Extraction:
        """See `Extension`."""
        return extraction
