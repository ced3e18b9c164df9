"""Documents in Neo4j."""

from __future__ import annotations

from collections.abc import Sequence

from clew.errors import StoreError
from clew.stores import neo4j_save
from clew.stores.neo4j_connection import Neo4jDatabase
from clew.types import IndexedDocument


class Neo4jDocuments:
    """`ports.DocumentStore` on a database."""

    _database: Neo4jDatabase

    def embedder(self) -> tuple[str, int] | None:
        """Name and dimension of the embedder that the store was built with."""
        raise NotImplementedError

    def save(self, entry: IndexedDocument) -> None:
        """See `ports.DocumentStore`. Raises `InputError` where the entry's parts do not fit."""
        from clew.stores.prepare import prepare

        embedder = self.embedder()
        if embedder is None:
            raise StoreError(
                f"the store {self._database.address!r} has no embedder yet; open it with"
                " embedder=(name, dimension) before saving"
            )
        prepared = prepare(entry, embedder[1])
        self._database.write(lambda: neo4j_save.write_document(self._database, prepared))

    def delete(self, document_ids: Sequence[str]) -> int:
        """See `ports.DocumentStore`."""
        return self._database.write(
            lambda: neo4j_save.delete_documents(self._database, document_ids)
        )
