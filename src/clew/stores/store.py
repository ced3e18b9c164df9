"""The store: all that is asked of it, over whichever back end holds it."""

from __future__ import annotations

import json
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Any

from clew.derived_files import derived_files, remove_files
from clew.errors import StoreCorruptError, StoreError
from clew.stores.backend import Backend, Header, Mark, Place, Progress, Table, pairs, writing
from clew.stores.backend import WholeRow as Row
from clew.stores.dates import ChunkDates
from clew.stores.documents import Documents
from clew.stores.entities import PrunedNames
from clew.stores.extractions import Extractions
from clew.stores.manual_graph import ManualGraph
from clew.stores.passages import KEEP_VERSIONS
from clew.stores.relations import recompute_all, with_synonyms
from clew.stores.snapshot import Neighbourhoods, Snapshots
from clew.stores.state import (
    COUNT_CHANGE,
    ENTITIES_OF_ALIASES,
    FORGET_MARK,
    NEXT_IDS,
    RESERVE_IDS,
    NextIds,
    remember,
    remember_embedder,
)
from clew.stores.statements.snapshot import BUILT, KEEP
from clew.types import AliasEvidence, CheckReport, Ids, Scores, Unsettled, Vectors

# A store as tables of rows, read and written over any back end.
#
# The target holds a mark until the copy is whole. Nobody but `clew copy` opens a store that holds
# one, and a target that is made holds one from its first moment.


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


class Store(Documents, ChunkDates, ManualGraph, Extractions, Snapshots, Neighbourhoods, ABC):
    """The whole truth of one namespace, over a back end; threads may share one.

    Each of its bases is one concept. What a back end does in a way of its own, its subclass does:
    searching by words, reading embeddings, checking.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        embedder: tuple[str, int] | None,
        functional: Collection[str] | None,
        keep_versions: int = KEEP_VERSIONS,
    ) -> None:
        """Open the store that the back end holds.

        `embedder` is (name, dimension); the first one given is remembered, and every later one
        must be the same. Without one the store can do all but save into a new store.

        `functional` are the relation types of which a later fact ends an earlier one, see
        `validity`; they are remembered, and every end is derived again where they change. A store
        that can only be read keeps its own. `keep_versions`: see `Documents`.
        """
        super().__init__(backend)
        self.keep_versions = keep_versions
        try:
            refuse_unfinished(self.state().copying, backend.place)
            if embedder is not None:
                self.bind_embedder(*embedder)
            if functional is not None:
                self.declare_functional(functional)
        except BaseException:
            backend.close()
            raise

    def declare_functional(self, relation_types: Collection[str]) -> None:
        """Say of which relation types, and those that mean the same, a later fact ends an earlier.

        Every end is derived again where they change; a store that can only be read keeps its own.
        """
        functional = sorted(with_synonyms(relation_types))

        def work() -> None:
            remember(self.backend, functional=json.dumps(functional))
            recompute_all(self.backend, functional)
            self.backend.execute(COUNT_CHANGE, changes=1, moves=0)

        if functional != self.state().functional and not self.backend.read_only:
            self.backend.write(work)

    def packs(self) -> tuple[str, ...]:
        """Names of the packs that are enabled, in the order in which they were."""
        return tuple(self.state().packs)

    def set_packs(self, names: Sequence[str]) -> None:
        """Say which packs are enabled; every process that opens the store knows it."""
        self.backend.write(lambda: remember(self.backend, packs=json.dumps(list(names))))

    def beside_others(self, worker: int) -> AbstractContextManager[None]:
        """Inside it, documents are saved as those of a worker, from 1, while other workers save.

        Only a server lets them; a store that is a file has them take turns. What workers could not
        see of each other is to be settled afterwards.
        """
        return nullcontext()

    def unsettled(self, worker: int) -> Unsettled | None:
        """Some of the documents that a worker has not settled, of any for 0; None where all are."""
        return None

    def settle(self, unsettled: Unsettled, links: Sequence[AliasEvidence]) -> None:
        """Tie names that workers did not see of each other, and derive what follows from them."""

    def write_indexes(self) -> None:
        """Bring what the store keeps beside itself up to it, where enough has changed.

        Searching does without what is behind, and takes longer.
        """

    def publish(
        self,
        labels: Mapping[str, str],
        properties: Sequence[tuple[str, str, str, Mapping[str, Any]]],
        embed: Callable[[Sequence[str]], Vectors] | None,
    ) -> None:
        """Show the graph in the database's own terms, where people query it themselves.

        `labels` by entity type; relation types become relationships of their own; properties with
        the key and the type of their entity and the id of the document that describes it, times as
        `datetime` and `date`. Entities get vectors, those that nothing describes by `embed`.
        Nothing that is stored changes by it. A store that is a file does nothing.
        """

    @abstractmethod
    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.KeywordIndex`."""

    @abstractmethod
    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """Chunks with an id above `after`, by id, and their embeddings."""

    @abstractmethod
    def check(self, repair: bool = False, progress: Progress | None = None) -> CheckReport:
        """Verify every invariant; with `repair`, mend whatever can be derived from the texts.

        `progress` is called with each invariant, its number, and how many there are.
        """
