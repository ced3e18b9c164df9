"""Relations that the structure of a document states, beside what its sentences say.

Each kind of structure is a function of a whole `Document` (text, metadata, media type), so that a
document read back from the store gives the same. `structure_of` gathers them; `add_structure`
enters what they state into an `Extraction`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.hookspecs import listed
from clew.indexing.splitting.code import is_code
from clew.indexing.structure.code import code_structure
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
    code_structure,
)
"""Each gives what it sees in a document, nothing for documents that are none of its kind."""


def structure_of(
    document: Document, further: Sequence[Callable[[Document], Structure]] = ()
) -> Structure:
    """What all kinds of structure state, those of `further` readers and of plugins among them."""
    own = [read for read in READERS if read is not code_structure or is_code(document.media_type)]
    found = [read(document) for read in (*further, *listed("structures"), *own)]
    return Structure(
        entities=tuple(e for one in found for e in one.entities),
        statements=tuple(s for one in found for s in one.statements),
        aliases=tuple(a for one in found for a in one.aliases),
    )
