"""Durable jobs: what kinds there are, and a pool of threads that runs them, by leases.

The store holds all that is known of a job; a runner may die at any moment, and whichever runner
looks next goes on where it stopped.
"""

from __future__ import annotations

import logging
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, cast

from clew.engine import Engine
from clew.engine.maintenance import SWITCH
from clew.errors import (
    ClewError,
    InputError,
    MissingExtraError,
    NotFoundError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from clew.indexing.reading.files import existing_path, find_files, is_clews_own, permitted_path
from clew.ports import ItemStatus, Job, JobItem
from clew.request_end import has_ended
from clew.settings import JobSettings, Settings
from clew.stores.sqlite.journal import SqliteAudit, SqliteJobs
from clew.types import Skipped, file_source, record_source, source_path

if TYPE_CHECKING:
    from clew.indexing.inputs import Input

logger = logging.getLogger("clew")

LEASE_SECONDS = 15.0
"""How long a job waits for a runner that died."""
AT_ONCE_SECONDS = 10.0
"""How long whoever asks for something at once waits for it; then it goes on in the background."""
_POLL_SECONDS = 1.0
_LOOK_SECONDS = 0.1
_FORGET_SECONDS = 3600.0
_AWAY_SECONDS = 5.0


class JobRunner:
    """Runs the jobs of one store; threads may share one. Use `close`, or close the engine."""

    def __init__(
        self,
        store: SqliteJobs,
        kinds: Mapping[str, Kind],
        settings: JobSettings,
        *,
        lease_seconds: float = LEASE_SECONDS,
        most: int | None = None,
        upkeep: Callable[[], object] | None = None,
    ) -> None:
        """`most` jobs may be unfinished; `upkeep` is done when old jobs are forgotten."""
        self._store = store
        self._kinds = dict(kinds)
        self._settings = settings
        self._lease = lease_seconds
        self._most = most
        self._upkeep = upkeep
        self._threads: list[threading.Thread] = []
        self._running: dict[str, str] = {}  # job id by owner: each claim has its own
        self._changed = threading.Condition()
        self._submitted = 0
        self._idle_at = -1  # how many had been submitted when there was last nothing to do
        self._closing = threading.Event()

    # --- asking

    def submit(
        self,
        kind: str,
        arguments: Mapping[str, Any],
        *,
        description: str,
        key: str | None = None,
        at_once: bool = False,
    ) -> Job:
        """A new job, or the one that has the idempotency key.

        With `at_once` it is run before all others and has ended when this returns, unless it takes
        longer than `AT_ONCE_SECONDS`; where its request ends before, it is cancelled: nobody was
        told of it. Raises `InputError` where the key belongs to other work or
        too many jobs are unfinished, `StoreError` after `close`.
        """
        if kind not in self._kinds:
            raise InputError(f"no kind of job {kind!r}; expected one of {', '.join(self._kinds)}")
        if self._closing.is_set():
            raise StoreError(
                "this process is shutting down and takes no more work; ask again later"
            )
        job, new = self._store.submit(
            kind,
            arguments,
            description=description,
            key=key,
            lease_seconds=self._lease if at_once else None,
            most=self._most,
        )
        if new and at_once:
            self.start()
            thread = threading.Thread(target=self._run, args=(job,), name="clew-job", daemon=True)
            thread.start()
            until = time.monotonic() + AT_ONCE_SECONDS
            while thread.is_alive() and time.monotonic() < until:
                if has_ended():
                    return self.cancel(job.id)
                thread.join(_LOOK_SECONDS)
            return self.job(job.id)
        self.start()
        with self._changed:
            self._submitted += 1
            self._changed.notify_all()
        return job

    def job(self, job_id: str) -> Job:
        """A job by id. Raises `NotFoundError`."""
        job = self._store.job(job_id)
        if job is None:
            raise NotFoundError(
                f"no job {job_id!r}; job ids come from the tools that start jobs, and jobs that"
                f" ended are kept for {self._settings.retention_days:g} days"
            )
        return job

    def jobs(self, *, before: str | None = None, limit: int = 50) -> list[Job]:
        """Jobs, the newest first; those older than the job `before`."""
        return self._store.jobs(before=before, limit=limit)

    def failures(self, job_id: str, limit: int) -> list[JobItem]:
        """The first documents of a job that failed, and why."""
        return self._store.items(job_id, status="failed", limit=limit)

    def cancel(self, job_id: str) -> Job:
        """Cancel a job that has not ended; the document under way is soon left."""
        self.job(job_id)
        self._store.cancel(job_id)
        return self.job(job_id)

    def wait(self, job_id: str, seconds: float) -> Job:
        """The job once it has ended, or as it is after so many seconds."""
        deadline = time.monotonic() + seconds
        job = self.job(job_id)
        while not job.ended and time.monotonic() < deadline:
            with self._changed:
                self._changed.wait(min(0.1, seconds))
            job = self.job(job_id)
        return job

    @property
    def busy(self) -> bool:
        """Whether a job runs here, or one that was submitted here may be waiting to."""
        return bool(self._running) or self._idle_at < self._submitted

    # --- running

    def start(self) -> None:
        """Begin to run what is queued and what other processes left; may be called twice."""
        with self._changed:
            if self._threads or self._closing.is_set():
                return
            tasks = [self._work] * self._settings.concurrency + [self._keep]
            self._threads = [
                threading.Thread(target=task, name="clew-job", daemon=True) for task in tasks
            ]
            for thread in self._threads:
                thread.start()

    def stop(self) -> None:
        """Take no more work, and leave what is under way to the next runner; waits for nothing."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """`stop`, and wait until nothing runs any more; may be called twice."""
        self.stop()
        for thread in self._threads:
            thread.join()
        with self._changed:
            self._changed.wait_for(lambda: not self._running)

    def _work(self) -> None:
        """What each thread of the pool does."""
        while not self._closing.is_set():
            job, seen = None, self._submitted
            with _logged("look for jobs"):
                job = self._store.claim(self._lease)
            if job is not None:
                self._run(job)
            else:
                self._idle_at = seen
                # Until a job is submitted here, or for so long that one may have been elsewhere.
                with self._changed:
                    self._changed.wait_for(
                        lambda: self._closing.is_set() or self._submitted != seen,  # noqa: B023
                        _POLL_SECONDS,
                    )

    def _keep(self) -> None:
        """Keep the leases of what runs, and forget what ended long ago."""
        forget_at = time.monotonic()
        while not self._closing.wait(self._lease / 3):
            self._extend_leases()
            if time.monotonic() >= forget_at:
                forget_at = time.monotonic() + _FORGET_SECONDS
                kept = timedelta(days=self._settings.retention_days)
                with _logged("forget old jobs"):
                    self._store.forget(datetime.now(UTC) - kept)
                    if self._upkeep is not None:
                        self._upkeep()
        # The documents under way may take longer than a lease.
        while self._running:
            self._extend_leases()
            with self._changed:
                self._changed.wait_for(lambda: not self._running, self._lease / 3)

    def _extend_leases(self) -> None:
        for owner, job_id in list(self._running.items()):
            with _logged("keep a job's lease"):
                self._store.extend(job_id, owner, self._lease)

    def _run(self, job: Job) -> None:
        """Run a job that is leased to us, to its end or until it is stopped."""
        self._running[job.owner] = job.id
        try:
            with _logged("write down how a job went"):
                self._attempt(job)
        finally:
            with self._changed:
                del self._running[job.owner]
                self._changed.notify_all()

    def _attempt(self, job: Job) -> None:
        try:
            error = Attempt(self._store, job, self._kinds, self._closing).run()
        except JobStopped:
            self._store.release(job.id, job.owner)
        except StoreBusyError as busy:
            self._store.release(job.id, job.owner, error=str(busy))
        except StoreUnavailableError as away:
            # However long the server is away: the job goes on when it is back.
            self._store.release(job.id, job.owner, error=str(away), counted=False)
            self._closing.wait(_AWAY_SECONDS)
        except ClewError as failure:
            self._store.finish(job.id, job.owner, error=str(failure))
        except Exception:
            logger.exception("job %s (%s) failed", job.id, job.kind)
            self._store.finish(job.id, job.owner, error="failed inside Clew; the log says why")
        else:
            self._store.finish(job.id, job.owner, error=error)


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """A thread that nobody waits for says what went wrong, and goes on."""
    try:
        yield
    except ClewError as error:
        logger.warning("cannot %s: %s", what, error)


# One attempt to do a job: what is left of its documents, in groups, then what follows them.


GROUP = 16
"""Documents done in one go: what comes after them, such as writing the vectors, is paid once."""
MAX_ATTEMPTS = 5
"""Attempts without any document done; then the next one is taken to be at fault."""


class Kind(Protocol):
    """What the jobs of one kind do."""

    def plan(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        """Names of the documents to do. Raises `InputError` where there are none."""

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        """Do some of the documents; for each one None, or why it failed.

        Doing one again that was done must change nothing. Calls `advance` between two
        documents with how many are done; `advance` may raise `JobStopped`.
        """

    def finish(self, arguments: Mapping[str, Any], go_on: Callable[[], None]) -> None:
        """Do what is left once every document is done; again where it was cut short.

        `go_on` is to be called now and then, and may raise `JobStopped`.
        """


class JobStopped(Exception):
    """The job is not to be gone on with: cancelled, taken over, or the runner closes."""


class Attempt:
    """An attempt to do a job that is leased to its owner; it stops where the runner closes."""

    def __init__(
        self, store: SqliteJobs, job: Job, kinds: Mapping[str, Kind], closing: threading.Event
    ) -> None:
        kind = kinds.get(job.kind)
        if kind is None:
            raise StoreError(f"this Clew knows no jobs of kind {job.kind!r}; upgrade it")
        self._store = store
        self._job = job
        self._kind = kind
        self._closing = closing

    def run(self) -> str:
        """Do every document that is not done; why the job failed as a whole, or nothing.

        Raises `JobStopped`, and `ClewError` where the documents are not at fault.
        """
        job = self._job
        exhausted = job.attempts > MAX_ATTEMPTS
        if job.total is None:
            if exhausted:
                raise StoreError(f"given up after {MAX_ATTEMPTS} attempts. {job.error}".strip())
            self._go_on(self._store.plan(job.id, job.owner, self._kind.plan(job.arguments)))
        # After an attempt that failed one by one, to find the document that is at fault.
        size = 1 if job.attempts > 1 else GROUP
        while items := self._store.items(job.id, status="waiting", limit=size):
            self._go_on(not self._closing.is_set())
            if exhausted:
                errors: Sequence[str | None] = [_given_up(job)]
                exhausted = False
            else:
                errors = self._do([item.name for item in items], items[0].ordinal)
            outcome = {item.ordinal: error for item, error in zip(items, errors, strict=True)}
            self._go_on(self._store.settle(job.id, job.owner, outcome))
        if exhausted:
            raise StoreError(_given_up(job))
        self._kind.finish(job.arguments, partial(self._advance, self._now().completed))
        return self._verdict()

    def _do(self, names: Sequence[str], done: int) -> Sequence[str | None]:
        """Do some documents together; where that fails, each by itself."""
        job = self._job
        try:
            return self._kind.run(job.arguments, names, lambda number: self._advance(done + number))
        except JobStopped:
            raise
        except (InputError, MissingExtraError) as error:
            reason = str(error)
        except ClewError:  # of the store or the model: the documents are not at fault
            raise
        except Exception:
            logger.exception("job %s (%s) failed at %s", job.id, job.kind, names)
            reason = "failed inside Clew; the log says why"
        if len(names) == 1:
            return [reason]
        return [self._do([name], done + i)[0] for i, name in enumerate(names)]

    def _advance(self, completed: int) -> None:
        self._go_on(self._store.advance(self._job.id, self._job.owner, completed))
        self._go_on(not self._closing.is_set())

    def _go_on(self, may: bool) -> None:
        if not may:
            raise JobStopped

    def _now(self) -> Job:
        job = self._store.job(self._job.id)
        if job is None:
            raise JobStopped
        return job

    def _verdict(self) -> str:
        job = self._now()
        if not job.total or job.failed < job.total:
            return ""
        first = self._store.items(job.id, status="failed", limit=1)[0].error
        return first if job.total == 1 else f"all {job.total} documents failed; the first: {first}"


def _given_up(job: Job) -> str:
    cause = job.error or "each time the process ended while it was read"
    return f"given up after {MAX_ATTEMPTS} attempts: {cause}"


# What jobs do: indexing, indexing again; and the runner of an engine's jobs.


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

    def forget_audits() -> None:
        """Forget the entries of the audit log that are too old."""
        kept = timedelta(days=engine.settings.serve.audit_days)
        SqliteAudit(engine.state.journal).forget(datetime.now(UTC) - kept)

    runner = JobRunner(
        SqliteJobs(engine.state.journal),
        {
            "ingest": Ingestion(engine),
            "reindex": Reindexing(engine),
        },
        engine.settings.jobs,
        lease_seconds=lease_seconds,
        most=engine.settings.quota.jobs,
        upkeep=forget_audits,
    )
    engine.state.before_close(runner.close)
    return runner


# What a job of reading documents does: a path, an address, a file sent or a text is read.


TEXT_MEDIA_TYPE = "text/markdown"
"""What assistants write; plain text is Markdown without marks."""
_ALL = 2**31
"""Documents of a job at most: every one."""


class Given(TypedDict, total=False):
    """Arguments of a job: exactly one of path, url, data and text, and what is said of it."""

    path: str
    roots: list[str]
    """Of a path: the folders that whoever gave it may have read, whichever process does it."""
    url: str
    data: str
    """A file that was sent, in Base64."""
    name: str
    """Of the file; its ending says how it is read."""
    text: str
    source: str
    title: str
    metadata: dict[str, Any]
    retries: str
    """The job whose files that are not done are all that is to be done."""


class Ingestion:
    """`runner.Kind` that reads and indexes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def plan(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        """The source of the text or the file sent, the address, or the files at the path."""
        given = cast("Given", arguments)
        if "path" in given:
            return self._left(given) or self._files(given)
        return [given.get("source") or given.get("url") or "text"]

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        """See `runner.Kind`."""
        given = cast("Given", arguments)
        files = 0

        def progress(step: str, done: int, _: int | None) -> None:
            nonlocal files
            files = min(done, len(names)) if step == "index" else files
            advance(files)

        named = any(given.get(name) for name in ("source", "title", "metadata"))
        if "path" in given and not named:
            paths = [permitted_path(source_path(name), self._settings(given)) for name in names]
            skipped = self._engine.index(paths, progress=progress).skipped
        else:
            inputs = [self._input(given, name) for name in names]
            skipped = self._engine.documents.add_inputs(inputs, progress=progress).skipped
        return [_failure(name, skipped, "path" in given) for name in names]

    def finish(self, arguments: Mapping[str, Any], go_on: Callable[[], None]) -> None:
        """See `runner.Kind`; each document is there already."""

    def _left(self, given: Given) -> list[str]:
        """Files that the job tried again has not done; none where it failed before any."""
        job, jobs = given.get("retries", ""), SqliteJobs(self._engine.state.journal)
        states: tuple[ItemStatus, ...] = ("failed", "waiting")
        return [item.name for state in states for item in jobs.items(job, status=state, limit=_ALL)]

    def _files(self, given: Given) -> list[str]:
        """Paths below the given one, as sources, but for what links lead to beside it."""
        settings = self._settings(given)
        root = existing_path(given["path"], settings)
        if root.is_dir() and (given.get("source") or given.get("title")):
            raise InputError(
                f"path {given['path']!r} is a folder; title and source are for one document, so"
                " give a file, or leave them out"
            )
        found = find_files([root], settings=settings.read)
        files = [file for file in found if not is_clews_own(file, settings)]
        if not files:
            raise InputError(
                f"no files to read below {given['path']!r}; hidden files and what git ignores are"
                " left out"
            )
        return [file_source(file) for file in files]

    def _settings(self, given: Given) -> Settings:
        """The engine's, with the rights of whoever gave the path."""
        settings = self._engine.settings
        if "roots" not in given:
            return settings
        roots = tuple(Path(root) for root in given["roots"])
        access = settings.access.model_copy(update={"roots": roots})
        return settings.model_copy(update={"access": access})

    def _input(self, given: Given, name: str) -> Input:
        """What is to be read of a text, a file or an address, as the caller names it."""
        from clew.indexing.inputs import DocumentOverrides, RawInput, TextInput, text_source

        overrides = DocumentOverrides(
            title=given.get("title", ""), metadata=given.get("metadata") or {}
        )
        if "text" in given:
            text = given["text"]
            source = given.get("source") or text_source(text)
            return TextInput(
                source=source, text=text, media_type=TEXT_MEDIA_TYPE, overrides=overrides
            )
        data, file_name = self._data(given, name)
        return RawInput(
            source=given.get("source") or given.get("url") or name,
            data=data,
            name=file_name,
            settings=self._engine.settings.read,
            overrides=overrides,
        )

    def _data(self, given: Given, name: str) -> tuple[bytes | Path, str]:
        """Bytes, or the file that has them, and a file name."""
        settings = self._settings(given)
        if "url" in given:
            from clew.indexing.reading.fetch import fetch

            found = fetch(given["url"], settings.access)
            return found.data, found.name
        if "data" in given:
            return b64decode(given["data"]), given["name"]
        path = permitted_path(source_path(name), settings)
        return path, path.name


def _failure(name: str, skipped: Sequence[Skipped], is_file: bool) -> str | None:
    """Why a document failed; None where it did not."""
    # A text and an address are one document, whatever source they were given.
    own = [s for s in skipped if not is_file or s.source == name]
    parts = [s for s in skipped if is_file and s.source.startswith(record_source(name, ""))]
    if own:
        return own[0].reason
    if parts:
        return f"{len(parts)} of its records cannot be read; the first: {parts[0].reason}"
    return None
