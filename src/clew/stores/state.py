"""What a store remembers of itself: its generation, its embedder, what is functional."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial

from clew.errors import StoreMismatchError
from clew.stores.backend import Backend
from clew.stores.statements.state import REMEMBER, STATE, State


class StoreState:
    """What every part of a store knows: its back end and the store's state."""

    backend: Backend

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._bound: tuple[str, int] | None = None

    def pinned_generation(self) -> AbstractContextManager[None]:
        """See `ports.StoreUpkeep`; asking a file again costs nothing."""
        return nullcontext()

    def state(self) -> State:
        """What the store remembers of itself."""
        return State(self.backend.rows(STATE))

    def generation(self) -> int:
        """See `ports.SnapshotSource`."""
        return int(self.state().generation)

    def mentions_version(self) -> int:
        """See `ports.SnapshotSource`."""
        return int(self.state().mentions_version)

    def embedder(self) -> tuple[str, int] | None:
        """See `ports.StoreUpkeep`."""
        return self.state().vectors

    def bind_embedder(self, embedder: str, dimension: int) -> None:
        """See `ports.StoreUpkeep`."""
        wanted = (embedder, dimension)
        if not self._holds(wanted):
            self.backend.write(partial(self._bind, wanted))
            self.backend.define_vectors(dimension)
        self._bound = wanted

    def _bind(self, wanted: tuple[str, int]) -> None:
        if not self._holds(wanted):
            remember_embedder(self.backend, wanted)

    def _holds(self, wanted: tuple[str, int]) -> bool:
        """Whether the store's vectors are this embedder's; False where there are none yet."""
        known = self.embedder()
        if known not in (None, wanted):
            raise StoreMismatchError(
                f"the store was built with the embedder {known[0]!r} ({known[1]} dimensions), but"
                f" {wanted[0]!r} ({wanted[1]} dimensions) was asked for; choose the former, or"
                " embed all documents again with `clew reindex`"
            )
        return known is not None


def remember_embedder(backend: Backend, embedder: tuple[str, int]) -> None:
    """Say whose vectors the store holds from now on; call inside `write`."""
    values = zip(("embedder", "dimension"), embedder, strict=True)
    backend.execute_many(REMEMBER, [{"name": name, "value": value} for name, value in values])
