"""What jobs do: indexing, indexing again, enriching; and the runner of an engine's jobs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.engine.reindexing import SWITCH
from clew.jobs.enrichment import Enrichment
from clew.jobs.ingestion import Ingestion
from clew.jobs.runner import LEASE_SECONDS, JobRunner
from clew.wiring import make_audit, make_jobs

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


def make_runner(engine: Engine, *, lease_seconds: float = LEASE_SECONDS) -> JobRunner:
    """The runner of an engine's jobs, closed with it.

    It begins with the first job that is submitted; call `start` to take over what other processes
    left.
    """
    runner = JobRunner(
        make_jobs(engine.state.journal),
        {
            "ingest": Ingestion(engine),
            "reindex": Reindexing(engine),
            "enrich": Enrichment(engine),
        },
        engine.settings.jobs,
        lease_seconds=lease_seconds,
        most=engine.settings.quota.jobs,
        upkeep=partial(_forget_audits, engine),
    )
    engine.state.before_close(runner.close)
    return runner


def _forget_audits(engine: Engine) -> None:
    """Forget the entries of the audit log that are too old."""
    kept = timedelta(days=engine.settings.serve.audit_days)
    make_audit(engine.state.journal).forget(datetime.now(UTC) - kept)
