"""Entities that were pruned: their names are remembered, so that no text brings them back."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from clew.errors import StoreCorruptError
from clew.stores.backend import distinct, writing
from clew.stores.moved_mentions import chunks_naming, count_move
from clew.stores.names.entities import delete_orphans
from clew.stores.relations.validity import heads_around, recompute_valid_until
from clew.stores.relations.weights import recompute_weights
from clew.stores.state import REMEMBER, StoreState
from clew.stores.statements import merge as statements
from clew.text import key_words

AT_A_TIME = 1000
"""Passages that are looked through together."""


class PrunedNames(StoreState):
    """The part of `ports.EntityEditor` that prunes entities and restores their names."""

    def pruned_names(self) -> dict[str, str]:
        """See `ports.EntityEditor`. Raises `StoreCorruptError` where they cannot be read."""
        text = self.backend.rows(statements.PRUNED)[0][0]
        try:
            return dict(json.loads(text or "{}"))
        except (TypeError, ValueError) as error:
            raise StoreCorruptError(
                f"the store is damaged: its pruned names are {str(text)[:80]!r}, which cannot be"
                " read; restore it from a backup, or delete it and index again"
            ) from error

    @writing
    def prune_entities(self, entity_ids: Sequence[int]) -> int:
        """See `ports.EntityEditor`."""
        ids = distinct(entity_ids)
        names = self.backend.rows(statements.NAMES_OF_ENTITIES, ids=ids)
        if not names:
            return 0
        relations = self.backend.rows(statements.RELATIONS_OF_ENTITIES, ids=ids)
        functional = self.state().functional
        heads = heads_around(self.backend, ids, functional) | {row[1] for row in relations}
        self.backend.delete("relations", [row[0] for row in relations])
        chunks = chunks_naming(self.backend, entities=ids)
        self.backend.execute(statements.FORGET_MENTIONS, ids=ids)
        delete_orphans(self.backend, ids)
        changed = recompute_valid_until(self.backend, heads - set(ids), functional)
        recompute_weights(self.backend, changed)
        self._remember_pruned({**self.pruned_names(), **{key: name for key, name, _ in names}})
        count_move(self.backend, chunks)
        return len({row[2] for row in names})

    @writing
    def restore_names(self, keys: Collection[str]) -> int:
        """See `ports.EntityEditor`."""
        pruned = self.pruned_names()
        kept = {key: name for key, name in pruned.items() if key not in keys}
        if len(kept) < len(pruned):
            self._remember_pruned(kept)
            ids = self._documents_with(pruned.keys() - kept.keys())
            self.backend.execute(statements.FORGET_RECIPES, ids=sorted(ids))
        return len(pruned) - len(kept)

    def _documents_with(self, keys: Collection[str]) -> set[str]:
        """Ids of the documents that may have a name; their mentions of it are gone."""
        found, after = set[str](), 0
        while rows := self.backend.rows(statements.TEXTS_AFTER, after=after, limit=AT_A_TIME):
            for after, document_id, title, metadata, *texts in rows:  # noqa: B007 - used above
                if document_id not in found:
                    said = key_words(" ".join((title, str(json.loads(metadata)), *texts)))
                    if any(key in said for key in keys):
                        found.add(document_id)
        return found

    def _remember_pruned(self, names: dict[str, Any]) -> None:
        value = json.dumps(names, ensure_ascii=False, sort_keys=True)
        self.backend.execute_many(REMEMBER, [{"name": "pruned", "value": value}])
