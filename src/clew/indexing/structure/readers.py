"""Relations that the structure of a document states, beside what its sentences say.

Each kind of structure is a function of a whole `Document` (text, metadata, media type), so that a
document read back from the store gives the same. `structure_of` gathers them; `add_structure`
enters what they state into an `Extraction`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.hookspecs import listed
from clew.indexing.structure.document import (
    described,
    fields,
    markdown_links,
)
from clew.indexing.structure.people import credited
from clew.indexing.structure.terms import citations, code_names, definitions
from clew.types import Structure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.types import Document


READERS: tuple[Callable[[Document], Structure], ...] = (
    fields,
    definitions,
    citations,
    credited,
    described,
    code_names,
    markdown_links,
)
"""Each gives what it sees in a document, nothing for documents that are none of its kind."""


def structure_of(
    document: Document, further: Sequence[Callable[[Document], Structure]] = ()
) -> Structure:
    """What all kinds of structure state, those of `further` readers and of plugins among them."""
    found = [read(document) for read in (*further, *listed("structures"), *READERS)]
    return Structure(
        entities=tuple(e for one in found for e in one.entities),
        statements=tuple(s for one in found for s in one.statements),
        aliases=tuple(a for one in found for a in one.aliases),
    )
