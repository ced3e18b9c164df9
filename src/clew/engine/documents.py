"""Documents: looking at what is stored."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from clew.engine.state import Resources, not_one
from clew.errors import NotFoundError
from clew.text import whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.types import (
        DocumentInfo,
        DocumentVersion,
        StoredChunk,
        StoredSection,
    )


class Documents(Resources):
    """Reading documents."""

    def documents(self, where: Sequence[str] = ()) -> list[DocumentInfo]:
        """All documents, or those that meet every filter, by source."""
        from clew.search.options import parse_conditions

        return self.store.documents(where=parse_conditions(where))

    def document(self, name: str) -> DocumentInfo:
        """A document by id, by source, by path, or by the only ending of a source that fits.

        Raises `NotFoundError` where none or more than one fits.
        """
        from clew.types import document_id

        self._check_length("name", name)
        ids = [name, document_id(name)]
        if "\x00" not in name:  # which no path has
            ids.append(document_id(Path(os.path.realpath(name)).as_posix()))
        found = self.store.documents(ids=ids)
        if not found:
            found = [d for d in self.store.documents() if d.source.endswith(name) and name]
        if len(found) == 1:
            return found[0]
        raise NotFoundError(not_one("document", name, [d.source for d in found], "clew documents"))

    def versions(self, name: str) -> list[DocumentVersion]:
        """The texts that a document has had, oldest first: digests, and when each was held."""
        return self.store.lineage(self.document(name).id)

    def sections(self, name: str) -> list[StoredSection]:
        """A document's sections in order."""
        return self.store.document_sections(self.document(name).id)

    def chunks(self, name: str) -> list[StoredChunk]:
        """A document's chunks in order."""
        return self.store.document_chunks(self.document(name).id)

    def text(self, name: str) -> str:
        """A document's text, or a chunk's for `<document id>#<ordinal>`, as hits name it."""
        document, _, ordinal = name.rpartition("#")
        number = whole_number(ordinal)
        if number is not None and self.store.documents(ids=[document]):
            for chunk in self.store.document_chunks(document):
                if chunk.ordinal == number:
                    return chunk.text
        return "".join(section.text for section in self.sections(name))
