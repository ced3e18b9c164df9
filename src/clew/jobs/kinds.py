"""The kinds of jobs that there are, and the runner of an engine's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from clew.jobs.ingestion import Ingestion
from clew.jobs.reindexing import Reindexing
from clew.jobs.runner import LEASE_SECONDS, JobRunner
from clew.jobs.uploads import Uploads
from clew.wiring import make_audit, make_jobs

if TYPE_CHECKING:
    from clew.engine import Engine


def make_runner(engine: Engine, *, lease_seconds: float = LEASE_SECONDS) -> JobRunner:
    """The runner of an engine's jobs, closed with it.

    It begins with the first job that is submitted; call `start` to take over what other processes
    left.
    """
    runner = JobRunner(
        make_jobs(engine.state.journal),
        {"ingest": Ingestion(engine), "reindex": Reindexing(engine)},
        engine.settings.jobs,
        lease_seconds=lease_seconds,
        most=engine.settings.quota.jobs,
        upkeep=partial(_forget, engine),
    )
    engine.state.before_close(runner.close)
    return runner


def _forget(engine: Engine) -> None:
    """Forget what is too old: entries of the audit log, uploads that nobody goes on with."""
    kept = timedelta(days=engine.settings.serve.audit_days)
    make_audit(engine.state.journal).forget(datetime.now(UTC) - kept)
    Uploads(engine.store.folder, engine.settings).forget_old()
