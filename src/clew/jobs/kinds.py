"""What jobs do: indexing, indexing again, enriching; and the runner of an engine's jobs."""

from __future__ import annotations

from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from clew.engine import Engine
from clew.engine.enriching import PASSAGES
from clew.engine.maintenance import SWITCH
from clew.errors import BudgetError, InputError, ModelError
from clew.indexing.reading.files import existing_path, find_files, is_clews_own, permitted_path
from clew.jobs.runner import LEASE_SECONDS, JobRunner
from clew.ports.graph import Enrichment as Kind
from clew.ports.jobs import ItemStatus
from clew.settings import Settings
from clew.types import EnrichmentReport, Skipped, document_id
from clew.types.values import file_source, record_source, source_path
from clew.wiring import make_audit, make_jobs, make_replies

if TYPE_CHECKING:
    from clew.indexing.inputs import Input


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


# What a job of enriching does: a language model reads what is left, document by document.


class Wanted(TypedDict):
    """Arguments of a job."""

    kinds: list[Kind]
    retry: bool
    gleaning: NotRequired[bool | None]
    """None: as the settings say."""
    max_tokens: int
    """0: no limit but that of the settings."""
    since: str
    """When it was asked for, in UTC: what was spent from then on counts."""


class Enrichment:
    """`runner.Kind` that enriches."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def plan(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        """Sources of the documents of which something is left."""
        wanted = cast("Wanted", arguments)
        return self._engine.enriching.left(*wanted["kinds"], retry=wanted["retry"])

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        """See `runner.Kind`; raises `ModelError` where the model is away or the budget spent."""
        wanted, ids = cast("Wanted", arguments), [document_id(name) for name in names]
        kinds = [kind for kind in wanted["kinds"] if kind in PASSAGES]
        reports = self._enrich(wanted, kinds, ids, lambda: advance(0))
        failed = [item for report in reports for item in report.failed]
        counts = Counter(item.source.rpartition("#")[0] for item in failed)
        reasons = {item.source.rpartition("#")[0]: item.reason for item in reversed(failed)}
        return [
            f"{counts[id_]} of its passages failed (retry asks again); the first: {reasons[id_]}"
            if id_ in reasons
            else None
            for id_ in ids
        ]

    def finish(self, arguments: Mapping[str, Any], go_on: Callable[[], None]) -> None:
        """See `runner.Kind`; descriptions come when all passages are read."""
        wanted = cast("Wanted", arguments)
        self._enrich(wanted, [k for k in wanted["kinds"] if k not in PASSAGES], None, go_on)

    def _enrich(
        self,
        wanted: Wanted,
        kinds: Sequence[Kind],
        documents: Sequence[str] | None,
        go_on: Callable[[], None],
    ) -> list[EnrichmentReport]:
        if not kinds:
            return []
        reports = self._engine.enrich(
            *kinds,
            documents=documents,
            retry=wanted["retry"],
            gleaning=wanted.get("gleaning"),
            max_tokens=self._tokens_left(wanted),
            progress=lambda *_: go_on(),
        )
        for report in reports:
            if report.stopped:
                raise ModelError(report.stopped)
        return reports

    def _tokens_left(self, wanted: Wanted) -> int:
        """What the job may still spend, in whichever process it began; 0: no limit."""
        most = wanted["max_tokens"] or self._engine.settings.llm.max_tokens_spent
        if not most:
            return 0
        entries = make_replies(self._engine.store).entries()
        spent = sum(entry.usage.total for entry in entries if entry.at >= wanted["since"])
        if spent >= most:
            raise BudgetError(f"{spent:,} of {most:,} tokens are spent; what is done is kept")
        return most - spent


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

        if "path" in given and not _described(given):
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
        job, jobs = given.get("retries", ""), make_jobs(self._engine.state.journal)
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
        from clew.indexing.inputs import DocumentOverrides, RawInput, TextInput
        from clew.indexing.reading.reader import text_source

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


def _described(given: Given) -> bool:
    return any(given.get(name) for name in ("source", "title", "metadata"))


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
