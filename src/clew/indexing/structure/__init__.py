"""Relations that the structure of a document states, beside what its sentences say.

Each kind of structure is a function of a whole `Document` (text, metadata, media type), so that a
document read back from the store gives the same. `structure_of` gathers them; `add_structure`
enters what they state into an `Extraction`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.indexing.structure.chat import chat_structure
from clew.indexing.structure.citations import citations
from clew.indexing.structure.code import code_structure
from clew.indexing.structure.code_names import code_names
from clew.indexing.structure.definitions import definitions
from clew.indexing.structure.fields import fields
from clew.indexing.structure.headings import described, section_references
from clew.indexing.structure.labels import labels
from clew.indexing.structure.mail import mail_structure
from clew.indexing.structure.markdown_links import markdown_links
from clew.indexing.structure.paths import paths
from clew.indexing.structure.people.blocks import signed_blocks
from clew.indexing.structure.people.credits import credited
from clew.indexing.structure.people.minutes import minutes_structure
from clew.indexing.structure.tables import tables
from clew.indexing.structure.works import cited_works
from clew.types import Structure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.types import Document

READERS: tuple[Callable[[Document], Structure], ...] = (
    mail_structure,
    chat_structure,
    minutes_structure,
    fields,
    labels,
    signed_blocks,
    paths,
    tables,
    definitions,
    citations,
    cited_works,
    credited,
    described,
    section_references,
    code_names,
    markdown_links,
    code_structure,
)
"""Each gives what it sees in a document, nothing for documents that are none of its kind."""


def structure_of(
    document: Document, further: Sequence[Callable[[Document], Structure]] = ()
) -> Structure:
    """What all kinds of structure state, those of `further` readers among them."""
    found = [read(document) for read in (*further, *READERS)]
    return Structure(
        entities=tuple(e for one in found for e in one.entities),
        statements=tuple(s for one in found for s in one.statements),
        aliases=tuple(a for one in found for a in one.aliases),
    )
