"""What a language model says of topics, documents, entities and communities, over any back end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.ports.enrichment import StoredDescription
from clew.stores.statements.enrichments import COLUMNS, DESCRIPTIONS
from clew.stores.store import Store as AnyStore

if TYPE_CHECKING:
    from clew.ports import Store
    from clew.stores.backend import Backend

_LISTS = ("sources", "documents")


class Descriptions:
    """`ports.enrichment.DescriptionLog`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def descriptions(self, *kinds: str) -> dict[str, StoredDescription]:
        """See `DescriptionLog`."""
        found = {}
        for kind in kinds:
            # ";" is the character after ":".
            rows = self._backend.rows(DESCRIPTIONS, first=f"{kind}:", after=f"{kind};")
            for row in rows:
                values = dict(zip(COLUMNS, row, strict=True))
                values |= {name: tuple(json.loads(values[name])) for name in _LISTS}
                found[row[0]] = StoredDescription(**values)
        return found

    def describe(self, made: Sequence[StoredDescription]) -> None:
        """See `DescriptionLog`."""
        rows = [
            {name: getattr(one, name) for name in COLUMNS}
            | {name: json.dumps(getattr(one, name)) for name in _LISTS}
            for one in made
        ]

        def work() -> None:
            self._backend.delete("descriptions", [one.key for one in made])
            self._backend.insert({"descriptions": rows})

        self._backend.write(work)

    def forget(self, keys: Sequence[str]) -> None:
        """See `DescriptionLog`."""
        self._backend.write(lambda: self._backend.delete("descriptions", list(keys)))


def descriptions_of(store: Store) -> Descriptions:
    """What a language model says of a store's contents, over whichever back end."""
    assert isinstance(store, AnyStore)
    return Descriptions(store.backend)
