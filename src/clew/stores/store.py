"""The store: all that is asked of it, over whichever back end holds it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from clew.stores.backend import Backend
from clew.stores.copy import refuse_unfinished
from clew.stores.dates import ChunkDates
from clew.stores.documents import Documents
from clew.stores.extractions import Extractions
from clew.stores.manual_graph import ManualGraph
from clew.stores.passages import KEEP_VERSIONS
from clew.stores.relations import recompute_all
from clew.stores.snapshot import Neighbourhoods, Snapshots
from clew.stores.state import COUNT_CHANGE, remember
from clew.types.relation_types import with_synonyms

if TYPE_CHECKING:
    from clew.stores.backend import Progress
    from clew.types import AliasEvidence, CheckReport, Ids, Scores, Unsettled, Vectors


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
