"""Checking a store's invariants, and mending whatever can be derived from what is sound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from clew.derived_files import derived_files, remove_files
from clew.stores.backend import Backend
from clew.stores.check import invariants
from clew.stores.check.invariants import Invariant
from clew.stores.documents.earlier import drop_broken
from clew.stores.names.entities import delete_orphans
from clew.stores.relations.validity import recompute_all
from clew.stores.state import COUNT_CHANGE, StoreState
from clew.stores.statements.check import ENTITY_IDS, GIVE_UP_ORIGINS, KEEP_OBSERVED
from clew.types import CheckReport, Problem

if TYPE_CHECKING:
    from clew.ports.upkeep import Progress

B = TypeVar("B", bound=Backend)

_SHARED: Mapping[str, Invariant] = {
    "names": invariants.names,
    "memory": invariants.memory,
    "sections": invariants.sections,
    "chunks": invariants.chunks,
    "mentions": invariants.mentions,
    "keywords": invariants.keywords,
    "vectors": invariants.vectors,
    "versions": invariants.versions,
    "earlier texts": invariants.earlier,
    "times": invariants.times,
    "validity": invariants.validity,
    "generation": invariants.files_ahead,
    "derived files": invariants.files_damaged,
}
_DERIVED = frozenset(
    {"names", "memory", "keywords", "earlier texts", "validity", "generation", "derived files"}
)
"""Mended, or dropped where it can only be lost."""
_ENTITIES = 500
"""Entities whose names are mended at once."""


class StoreCheck(Generic[B]):
    """What is checked in every store; a back end adds what only it can break, in a subclass."""

    derived: frozenset[str]
    """Invariants of the back end that can be mended."""

    def __init__(self, backend: B, progress: Progress | None = None) -> None:
        """`progress` is told of each invariant before it is examined."""
        self.backend = backend
        self._progress = progress

    def run(self, *, repair: bool) -> CheckReport:
        """Verify every invariant; `problems` are those that are left after mending."""
        problems = self.find()
        repaired: tuple[str, ...] = ()
        if repair and any(problem.repairable for problem in problems):
            before = problems
            self.mend()
            problems = self.find()
            left = {problem.invariant for problem in problems}
            repaired = tuple(
                f"{p.invariant}: {p.detail}" for p in before if p.invariant not in left
            )
        return CheckReport(checked=self.checked(), problems=tuple(problems), repaired=repaired)

    def own(self) -> Mapping[str, Invariant]:
        """What else is examined within one state of the store, or in another way."""
        raise NotImplementedError

    def checked(self) -> tuple[str, ...]:
        """The names of all invariants."""
        return tuple({**_SHARED, **self.own()})

    def find(self) -> list[Problem]:
        """At most one problem an invariant."""
        with self.backend.reading():
            every = {**_SHARED, **self.own()}.items()
            found = [self.problem(name, broken(self.backend)) for name, broken in every]
        return [problem for problem in found if problem]

    def problem(self, invariant: str, details: Iterable[str]) -> Problem | None:
        """The first detail in full and the number of the others; None where nothing is broken."""
        if self._progress is not None:
            names = self.checked()
            self._progress(f"checking {invariant}", names.index(invariant), len(names))
        every = iter(self.examined(details))
        first = next(every, None)
        if first is None:
            return None
        others = sum(1 for _ in every)  # counted, not kept: there may be as many as chunks
        more = f" (and {others} more)" if others else ""
        repairable = invariant in _DERIVED | self.derived
        return Problem(invariant=invariant, detail=first + more, repairable=repairable)

    def examined(self, details: Iterable[str]) -> Iterator[str]:
        """What breaks an invariant."""
        yield from details

    def mend(self) -> None:
        """Mend all that can be."""
        self.backend.write(self._mend_rows)
        # They were built from what was broken, and are made again when they are needed.
        remove_files(derived_files(self.backend.folder))

    def _mend_rows(self) -> None:
        """Each step may leave work to the next one."""
        self.mend_references()
        drop_broken(self.backend)
        self.backend.execute(KEEP_OBSERVED)
        self.backend.execute(GIVE_UP_ORIGINS)
        entities = [row[0] for row in self.backend.rows(ENTITY_IDS)]
        for first in range(0, len(entities), _ENTITIES):
            delete_orphans(self.backend, entities[first : first + _ENTITIES])
        self.mend_keywords()
        recompute_all(self.backend, StoreState(self.backend).state().functional)
        self.backend.execute(COUNT_CHANGE, changes=1, moves=1)

    def mend_references(self) -> None:
        """Tie again or delete what belongs to nothing, inside `write`."""
        raise NotImplementedError

    def mend_keywords(self) -> None:
        """Write the terms of every chunk that are not those of its text, inside `write`."""
        rows = [
            {"id": chunk_id, "terms": right}
            for chunk_id, indexed, right in invariants.chunk_terms(self.backend)
            if indexed != right
        ]
        self.backend.update("chunks", rows)
