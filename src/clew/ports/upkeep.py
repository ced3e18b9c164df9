"""A store as a whole: whose vectors it holds, its figures, whether it is sound."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from clew.types import AliasEvidence, CheckReport, Unsettled

if TYPE_CHECKING:
    from clew.types import Vectors

    Progress = Callable[[str, int, int | None], None]
    """Called with a step, how much is done, and of how much (None: unknown)."""


class StoreUpkeep(Protocol):
    """What there is to know and to do of a whole store."""

    @property
    def folder(self) -> Path:
        """The folder on this machine that holds what is derived from it."""
        ...

    def embedder(self) -> tuple[str, int] | None:
        """Name and dimension of the embedder that the store was built with."""
        ...

    def bind_embedder(self, embedder: str, dimension: int) -> None:
        """Make sure that the store's vectors are this embedder's; the first one is remembered.

        Raises `StoreMismatchError` where they are another's.
        """
        ...

    def declare_functional(self, relation_types: Collection[str]) -> None:
        """Say of which relation types, and those that mean the same, a later fact ends an earlier.

        Every end is derived again where they change; a store that can only be read keeps its own.
        """
        ...

    def packs(self) -> tuple[str, ...]:
        """Names of the packs that are enabled, in the order in which they were."""
        ...

    def set_packs(self, names: Sequence[str]) -> None:
        """Say which packs are enabled; every process that opens the store knows it."""
        ...

    def beside_others(self, worker: int) -> AbstractContextManager[None]:
        """Inside it, documents are saved as those of a worker, from 1, while other workers save.

        Only a server lets them; a store that is a file has them take turns. What workers could not
        see of each other is to be settled afterwards.
        """
        ...

    def unsettled(self, worker: int) -> Unsettled | None:
        """Some of the documents that a worker has not settled, of any for 0; None where all are."""
        ...

    def settle(self, unsettled: Unsettled, links: Sequence[AliasEvidence]) -> None:
        """Tie names that workers did not see of each other, and derive what follows from them."""
        ...

    def write_indexes(self) -> None:
        """Bring what the store keeps beside itself up to it, where enough has changed.

        Searching does without what is behind, and takes longer.
        """
        ...

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
        ...

    def grouping(self) -> AbstractContextManager[None]:
        """Inside it, what this thread saves lasts through loss of power at the end, all together.

        Outside, each transaction does when it returns. Either lasts through a crash of the process.
        """
        ...

    def pinned_generation(self, *, anew: bool = False) -> AbstractContextManager[None]:
        """Inside it, a thread may get generation, mentions version and embedder of its beginning.

        Inside another they are those of the outer one, unless asked for `anew`. It saves asking for
        them again and again.
        """
        ...

    def statistics(self) -> dict[str, Any]:
        """Counts by name, `relation_types` by type, `embedder`, `generation`, `bytes` here."""
        ...

    def check(self, repair: bool = False, progress: Progress | None = None) -> CheckReport:
        """Verify every invariant; with `repair`, mend whatever can be derived from the texts.

        `progress` is called with each invariant, its number, and how many there are.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
        ...
