"""What a job of indexing again does: documents that were made otherwise than they would be now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.engine.reindexing import SWITCH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.engine import Engine


class Reindexing:
    """`runner.Kind` that makes documents again, and switches to them when all are ready."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def plan(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        """Sources of the documents that were made with other settings or another model."""
        return self._engine.maintenance.outdated()

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        """See `runner.Kind`. A document that was deleted meanwhile needs nothing."""

        def progress(_: str, done: int, __: int | None) -> None:
            advance(min(done, len(names)))

        self._engine.maintenance.reprocess(names, progress=progress)
        return [None] * len(names)

    def finish(self, arguments: Mapping[str, Any], go_on: Callable[[], None]) -> None:
        """See `runner.Kind`. Documents written since the job was planned are made here."""

        def progress(step: str, done: int, total: int | None) -> None:
            if step != SWITCH:  # in which the job cannot be written to
                go_on()

        self._engine.maintenance.reindex(progress=progress)
