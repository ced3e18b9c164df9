"""A store as tables of rows, read and written over any back end.

The target holds a mark until the copy is whole. Nobody but `clew copy` opens a store that holds
one, and a target that is made holds one from its first moment.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from clew.derived_files import derived_files, remove_files
from clew.errors import StoreCorruptError, StoreError
from clew.stores.backend import Header, Mark, Place, Table, pairs, writing
from clew.stores.backend import WholeRow as Row
from clew.stores.entities import PrunedNames
from clew.stores.state import (
    ENTITIES_OF_ALIASES,
    FORGET_MARK,
    NEXT_IDS,
    RESERVE_IDS,
    NextIds,
    remember,
    remember_embedder,
)
from clew.stores.statements.snapshot import BUILT, KEEP

NOT_BEGUN = ""
"""In place of the mark, where a target has been made and nothing is copied yet."""
_ENDS: Mapping[Table, Sequence[str]] = {"mentions": ("",), "relations": ("from_", "to_")}


class StoreCopy(PrunedNames):
    """A store that is copied, or copied into; one under construction cannot be opened otherwise."""

    @property
    def place(self) -> Place:
        """Where it is; the same place has the same text in every process."""
        return self.backend.place

    # --- reading

    def mark(self) -> Mark | None:
        """How far a copy into this store has come; None for a store that is whole."""
        return mark_from_text(self.state().copying)

    @property
    def begun(self) -> bool:
        """False for a target that was made, and into which nothing was copied yet."""
        return self.state().copying != NOT_BEGUN

    def header(self) -> Header:
        """What the store remembers of itself."""
        state = self.state()
        ((built, _),) = self.backend.rows(BUILT)
        return Header(
            embedder=state.vectors,
            functional=tuple(state.functional),
            packs=tuple(state.packs),
            pruned=self.pruned_names(),
            generation=state.generation,
            mentions_version=state.mentions_version,
            communities=-1 if built is None else int(built),
            next_ids=NextIds(*self.backend.rows(NEXT_IDS)[0])._asdict(),
        )

    # --- writing

    def begin(self, mark: Mark, header: Header) -> None:
        """Make the store one under construction, which nobody opens: all rows go, jobs stay.

        `header` is the source's. The mark comes first, in a transaction of its own. Raises
        `StoreError`, and changes nothing, where the generation is not the one that the mark says is
        held: something else has just written to the store.
        """

        def work() -> None:
            if self.generation() != mark.held:
                raise StoreError(
                    f"something else has just written to the store {self.place}; copy to another"
                    " place, or to another name there with --to-namespace"
                )
            remember(self.backend, copying=mark_to_text(mark))

        self.backend.write(work)
        self.backend.clear()
        if header.embedder is not None:
            self.backend.define_vectors(header.embedder[1])

    @writing
    def write_rows(self, table: Table, rows: Sequence[Row], *, before: Mark, after: Mark) -> None:
        """Write rows of new keys and move the mark, all or none.

        What the rows point at has been written already. Raises `StoreError` where the mark is not
        `before`: another process copies into the store, too.
        """
        self._check_mark(before)
        self.backend.insert({table: self._with_entities(table, rows)})
        remember(self.backend, copying=mark_to_text(after))

    def _with_entities(self, table: Table, rows: Sequence[Row]) -> Sequence[Mapping[str, Any]]:
        """Rows that name aliases, with the entities of these: a back end may tie them to both."""
        ends = _ENDS.get(table, ())
        if not ends:
            return rows
        ids = sorted({int(row[f"{end}alias_id"] or 0) for row in rows for end in ends})
        found = pairs(self.backend.rows(ENTITIES_OF_ALIASES, ids=ids))
        return [
            {**row, **{f"{end}entity_id": found.get(row[f"{end}alias_id"]) for end in ends}}
            for row in rows
        ]

    def finish(self, mark: Mark, header: Header) -> None:
        """Make the store a whole one: what the source's header says, and no mark.

        Its generation and mentions version are higher than either store's were, so that nothing
        derived from another state is taken for this one's; communities that were up to date still
        are. Raises `StoreError` where the mark is not the one given.
        """
        self._finish(mark, header)
        if self.backend.folder.is_dir():
            remove_files(derived_files(self.backend.folder))

    @writing
    def _finish(self, mark: Mark, header: Header) -> None:
        self._check_mark(mark)
        generation = 1 + max(self.generation(), header.generation)
        remember(
            self.backend,
            generation=generation,
            epoch=1 + max(self.mentions_version(), header.mentions_version),
            functional=json.dumps(list(header.functional)),
            packs=json.dumps(list(header.packs)),
            pruned=json.dumps(dict(header.pruned)),
        )
        if header.embedder is not None:
            remember_embedder(self.backend, header.embedder)
        given = [{"table": name, "last": free - 1} for name, free in header.next_ids.items()]
        self.backend.execute_many(RESERVE_IDS, [row for row in given if row["last"]])
        if header.communities >= 0:
            current = header.communities == header.generation
            built = generation if current else header.communities
            self.backend.execute_many(KEEP, [{"name": "built", "value": built}])
        self.backend.execute(FORGET_MARK)

    def _check_mark(self, mark: Mark) -> None:
        if self.mark() != mark:
            raise StoreError(
                f"another process copies into the store {self.place}, too; let that one finish"
            )


def mark_to_text(mark: Mark) -> str:
    """JSON that `mark_from_text` reads."""
    return json.dumps(asdict(mark), ensure_ascii=False)


def mark_from_text(text: str | None) -> Mark | None:
    """The mark that a store holds; None for none, and where nothing was copied yet.

    Raises `StoreCorruptError` for one that cannot be read.
    """
    if text in (None, NOT_BEGUN):
        return None
    try:
        values = json.loads(text)
        after = values.pop("after")
        source = Place(*values.pop("source"))
        return Mark(source=source, after=None if after is None else tuple(after), **values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreCorruptError(
            f"the store is an unfinished copy, whose mark {text!r} is damaged; delete its folder"
            " and copy again"
        ) from error


def refuse_unfinished(text: str | None, target: Place) -> None:
    """Raise `StoreError` where a store holds the mark of an unfinished copy."""
    if text == NOT_BEGUN:
        raise StoreError(
            f"the store {target} is a copy that was interrupted before it began; repeat the"
            " `clew copy` that was to fill it, or delete it"
        )
    mark = mark_from_text(text)
    if mark is not None:
        source = mark.source
        named = ["--namespace", source.namespace] if source.namespace != "default" else []
        if target.namespace != source.namespace:
            named += ["--to-namespace", target.namespace]
        command = ["clew", "copy", "--from", source.store, "--to", target.store, *named]
        raise StoreError(
            f"the store {target} is an unfinished copy of {source}; finish it with"
            f" `{shlex.join(command)}`"
        )
