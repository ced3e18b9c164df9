"""Documents taken in as jobs, and deleted; collections indexed again, copied, audited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, cast

from clew.derived_files import make_folder
from clew.errors import ClewError, InputError, NotFoundError, StoreError
from clew.indexing.reading.files import existing_path, roots_of
from clew.operations.budget import fitting, no_room, read_cursor, shortened
from clew.operations.document_queries import Document, next_page
from clew.operations.spec import (
    CORE,
    FULL,
    PEOPLE,
    Call,
    Confirm,
    Cursor,
    Limits,
    MaxTokens,
    Result,
    between,
    operation,
    shape,
)
from clew.settings import NAMESPACE
from clew.text import counted, text_digest
from clew.types import Right, check_given, document_id, file_source
from clew.wiring import make_store, store_exists

if TYPE_CHECKING:
    from pathlib import Path

    from clew.engine import Engine
    from clew.jobs import Given, JobRunner
    from clew.ports import Job


# What the document tools change: documents taken in as durable jobs, jobs, deletions.


AT_ONCE = 20_000
"""Characters of a text that is stored before the tool answers."""
ERRORS_SHOWN = 20
"""Documents that failed of which a job's status says why."""
ERROR_CHARACTERS = 300
"""Characters of each such reason."""


def jobs_of(call: Call) -> JobRunner:
    """The runner of the engine's jobs. Raises `StoreError` where whoever serves has none."""
    runner = call.services.get("jobs")
    if runner is None:
        raise StoreError(
            "there are no jobs here; make the toolbox with services={'jobs': make_runner(engine)}"
        )
    return cast("JobRunner", runner)


_JOB = shape(job_id="string", status="string", errors="array")


class _Pair(TypedDict):
    name: Annotated[str, "Such as year.", Limits(max_length=100)]
    value: Annotated[str, "As text."]


JobId = Annotated[str, "From the tool that began it.", Limits(max_length=64)]


@operation(
    "Add a document",
    _JOB,
    rights="write",
    profiles=CORE,
    idempotent=True,
    open_world=True,
    http="POST /documents 202",
)
def ingest_document(
    call: Call,
    path: Annotated[str | None, "A file or folder.", Limits(max_length=4000)] = None,
    url: Annotated[str | None, "http(s):.", Limits(max_length=4000)] = None,
    text: Annotated[str | None, "The text itself.", Limits(max_length=1_000_000)] = None,
    title: Annotated[str | None, "Default: its own."] = None,
    metadata: Annotated[Sequence[_Pair], "For filters. Default none.", Limits(max_items=50)] = (),
    source: Annotated[
        str | None, "Identity: the same is replaced. Default: path, url or hash."
    ] = None,
    idempotency_key: Annotated[
        str | None, "Same key, same job. Default none.", Limits(max_length=200)
    ] = None,
) -> Result:
    """Store one of path, url and text. Short text is found at once; else see query_job_status."""
    origins = {"path": path, "url": url, "text": text}
    named = {name: value for name, value in origins.items() if value is not None}
    if len(named) != 1:
        shown = " and ".join(named) or "none of them"
        raise InputError(
            f"exactly one of path, url and text is needed, {shown} was given; call again with one"
        )
    pairs = {pair["name"]: pair["value"] for pair in metadata}
    said = {"title": title, "source": source, "metadata": pairs}
    given = {**named, **{name: value for name, value in said.items() if value}}
    return submit(call, cast("Given", given), idempotency_key)


ingest_with_context = replace(
    ingest_document,
    name="ingest_with_context",
    title="Add a document, with context",
    description="The same as ingest_document, which always keeps title and headings with each"
    " passage.",
    profiles=FULL,
    http="",
)


def submit(call: Call, given: Given, key: str | None = None) -> Result:
    """Begin the job that reads what was given; the answer of the tools that do so."""
    runner = jobs_of(call)
    source, document = identity(call.engine, given)
    text = given.get("text")
    job = runner.submit(
        "ingest",
        given,
        description=f"read {shortened(source, 200)}",
        key=key,
        at_once=text is not None and len(text) <= AT_ONCE,
    )
    if text is not None and job.status == "failed":
        raise ClewError(f"the text is not stored: {job.error}")
    return {**status_of(runner, job), "source": source, "document": document}


def identity(engine: Engine, given: Given) -> tuple[str, str | None]:
    """Source and document id of what is taken in, no id where a folder is.

    A path in `given` is made whole and gets the folders that the caller may read.
    Raises `InputError` now for what could only fail later.
    """
    # Here, since a list of tools needs no reader.
    from clew.indexing.reading.common import clean_text

    named = given.get("source")
    check_given(named or "")
    if "url" in given:
        from clew.indexing.reading.fetch import check_url

        check_url(given["url"], engine.settings.access)
        source = named or given["url"]
    elif "path" in given:
        path = existing_path(given["path"], engine.settings)
        given["path"] = str(path)
        given["roots"] = [str(root) for root in roots_of(engine.settings)]
        source = named or file_source(path)
        if path.is_dir():
            return source, None
    elif "data" in given:
        source = given["source"]
    else:
        if not given["text"].strip():
            raise InputError("text is blank; give the text to store")
        source = named or f"text:{text_digest(clean_text(given['text']))[:12]}"
    return source, document_id(source)


@operation("Status of a job", _JOB, profiles=CORE, http="GET /jobs/{job_id}")
def query_job_status(call: Call, job_id: JobId) -> Result:
    """How far a job is, and what failed."""
    runner = jobs_of(call)
    return status_of(runner, runner.job(job_id))


@operation("Cancel a job", _JOB, rights="write", frees=True, http="DELETE /jobs/{job_id}")
def cancel_job(call: Call, job_id: JobId) -> Result:
    """Stop a job; what is stored stays."""
    runner = jobs_of(call)
    job = runner.job(job_id)
    if job.ended:
        raise InputError(f"job {job.id!r} is {job.status} already; there is nothing to cancel")
    return status_of(runner, runner.cancel(job.id))


def status_of(runner: JobRunner, job: Job) -> Result:
    """A job as the tools show it."""
    failures = runner.failures(job.id, ERRORS_SHOWN) if job.failed else []
    return {
        "job_id": job.id,
        "status": job.status,
        "progress": round(job.progress, 4),
        "completed": job.completed,
        "total": job.total,
        "description": job.description,
        "created_at": job.created_at.isoformat(),
        "updated_at": job.updated_at.isoformat(),
        "error": job.error or None,
        "errors": [
            {
                "document": shortened(item.name, ERROR_CHARACTERS),
                "error": shortened(item.error, ERROR_CHARACTERS),
            }
            for item in failures
        ],
        "errors_left_out": job.failed - len(failures),
        "can_retry": job.can_retry,
        "retried_by": job.retried_by or None,
    }


@operation(
    "Delete a document",
    shape(document="string", deleted="integer"),
    rights="write",
    profiles=CORE,
    destructive=True,
    confirm=True,
    http="DELETE /documents/{document}",
)
def delete_document(call: Call, document: Document, confirm: Confirm = False) -> Result:
    """Delete a document and what only it held."""
    info = call.engine.documents.named(document)
    if not confirm:
        raise InputError(
            f"deleting document {info.id!r} ({info.title or info.source!r}) cannot be undone; call"
            " again with confirm=true if it is wanted"
        )
    deleted = call.engine.delete([info.id])
    return {"document": info.id, "source": info.source, "deleted": deleted}


# What the document tools do with a collection as a whole: index, back up, restore, audit.


_NEWEST = 2**63 - 1
"""Ids of entries end here."""


_COUNTED = ("documents", "chunks", "entities", "relations")


@operation("Index again", _JOB, rights="admin", idempotent=True)
def reindex(call: Call) -> Result:
    """Split, embed and extract again, as a job, what was made with other settings or another
    model.
    """
    runner = jobs_of(call)
    return status_of(runner, runner.submit("reindex", {}, description="index again"))


@operation("Back up", shape(name="string", bytes="integer"), rights="admin")
def backup(
    call: Call,
    name: Annotated[
        str | None, "Of the new backup. Default: the time.", Limits(max_length=64)
    ] = None,
) -> Result:
    """Keep a copy of the collection on the server, beside it, and check it."""
    name = name or datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    path = _backup_file(call, name)
    make_folder(path.parent)
    if path.exists():
        raise InputError(f"there is a backup {name!r} already; give another name")
    most = call.engine.settings.quota.backups
    _check_room(path.parent, most - 1)
    size = call.engine.maintenance.backup(path)
    try:
        # Looked at again: of several that are made at once, none slips through.
        _check_room(path.parent, most)
    except InputError:
        path.unlink()
        raise
    return {"name": name, "bytes": size}


def _check_room(folder: Path, most: int) -> None:
    names = _names(folder)
    if len(names) > most:
        raise InputError(
            f"there are {len(names)} backups ({', '.join(names)}), as many as the setting"
            " quota.backups allows; whoever runs the server has to move one away or to raise it"
        )


def _names(folder: Path) -> list[str]:
    """Names of the backups that are there."""
    return sorted(file.stem for file in folder.glob("*.db"))


@operation(
    "Restore a backup",
    shape(name="string", documents="integer"),
    rights="admin",
    destructive=True,
    idempotent=True,
    confirm=True,
)
def restore(
    call: Call,
    name: Annotated[str, "From backup.", Limits(max_length=64)],
    confirm: Confirm = False,
) -> Result:
    """Put a backup in place of all that the collection holds."""
    engine = call.engine
    path = _backup_file(call, name)
    if not path.is_file():
        there = ", ".join(_names(path.parent)) or "none yet"
        raise NotFoundError(f"there is no backup {name!r} of this collection; there are: {there}")
    held = engine.maintenance.stats()["documents"]
    if not confirm:
        raise InputError(
            f"restoring {name!r} replaces all that is stored ({counted(held, 'document')}) and"
            " cannot be undone; call again with confirm=true if it is wanted"
        )
    engine.maintenance.restore(path, own=True)
    return {"name": name, "documents": engine.maintenance.stats()["documents"]}


def _backup_file(call: Call, name: str) -> Path:
    """Where a backup of the caller's namespace is kept, by name: whoever calls gives no path."""
    if not re.fullmatch(NAMESPACE, name):
        raise InputError(
            f"name {name!r} cannot be; expected letters, digits, '_', '.' and '-', at most 64, such"
            " as before-the-move"
        )
    return call.engine.store.folder / "backups" / f"{name}.db"


@operation("Audit log", shape(entries="array"), rights="admin", profiles=PEOPLE, changes=False)
def audit(
    call: Call,
    limit: Annotated[int, between(1, 500)] = 50,
    cursor: Cursor = None,
    max_tokens: MaxTokens = 4000,
) -> Result:
    """What was changed through tools, when and by whom, the newest first."""
    before = read_cursor(cursor, _NEWEST) if cursor else None
    # One more than is shown tells whether there is more.
    found = call.engine.maintenance.audit(before=before, limit=limit + 1)
    items: list[Result] = [
        {
            "id": entry.id,
            "recorded_at": entry.recorded_at.isoformat(),
            "caller": entry.caller,
            "tool": entry.tool,
            "subjects": dict(entry.subjects),
            "outcome": entry.outcome,
            "can_undo": entry.undo is not None,
        }
        for entry in found[:limit]
    ]
    around: Result = {"entries": [], "next_cursor": str(_NEWEST)}
    kept = fitting(items, around, max_tokens, call.count_tokens)
    if items and not kept:
        raise no_room(items[0]["tool"])
    more = len(kept) < len(found)
    return {"entries": kept, "next_cursor": str(kept[-1]["id"]) if more else None}


@operation("Collections", shape(collections="array", total="integer"))
def list_collections(
    call: Call, limit: Annotated[int, between(1, 100)] = 20, cursor: Cursor = None
) -> Result:
    """The namespaces that you may use, with counts and settings."""
    names = call.caller.namespaces or (call.engine.settings.namespace,)
    start = read_cursor(cursor)
    page = names[start : start + limit]
    return {
        "collections": [_collection(call.engine, name) for name in page],
        "total": len(names),
        "next_cursor": next_page(start, len(page), len(names)),
    }


def _collection(engine: Engine, namespace: str) -> Result:
    """A namespace with the counts of its store, all 0 where there is none."""
    counts: Mapping[str, Any] = dict.fromkeys(_COUNTED, 0)
    settings = engine.settings.model_copy(update={"namespace": namespace})
    if namespace == engine.settings.namespace:
        counts = engine.maintenance.stats()
    elif store_exists(settings):
        with closing(make_store(settings)) as store:
            counts = store.statistics()
    split = engine.settings.split
    return {
        "namespace": namespace,
        "counts": {name: counts[name] for name in _COUNTED},
        "settings": {
            "embedder": engine.state.embedder.name,
            "split": split.strategy,
            "chunk_tokens": split.chunk_tokens,
            "section_tokens": split.section_tokens,
            "time_zone": str(engine.state.now().tzinfo),
        },
    }


# Trying again what a job did not do.


STARTERS: Mapping[str, tuple[str, Right]] = {
    "ingest": ("ingest_document", "write"),
    "reindex": ("reindex", "admin"),
}
"""By kind of job: the tool that starts one, and the scope that it takes."""


@operation(
    "Try a job again",
    _JOB,
    rights="write",
    profiles=PEOPLE,
    idempotent=True,
    http="POST /jobs/{job_id}/retry 202",
)
def retry_job(
    call: Call, job_id: Annotated[str, "The job that ended.", Limits(max_length=64)]
) -> Result:
    """Begin a job for what another that ended did not do: what failed or was left."""
    runner = jobs_of(call)
    job = runner.job(job_id)
    tool, scope = STARTERS[job.kind]
    if scope not in call.caller.scopes or (
        call.caller.tools is not None and tool not in call.caller.tools
    ):
        raise InputError(f"trying this again needs the right to call {tool}; ask for it")
    if job.retried_by:
        return status_of(runner, runner.job(job.retried_by))
    if not job.can_retry:
        raise InputError(_refusal(job))
    # What the job was asked for, without what it has done; with the caller's rights of now.
    given = dict(job.arguments)
    if job.kind == "ingest":
        identity(call.engine, cast("Given", given))
        given["retries"] = job.id
    again = runner.submit(job.kind, given, description=job.description, key=job.retry_key)
    return status_of(runner, again)


def _refusal(job: Job) -> str:
    if not job.ended:
        return f"job {job.id!r} is {job.status}; wait for its end, or cancel it"
    if job.status == "completed" and not job.failed:
        return f"job {job.id!r} did all it was asked for; there is nothing to try again"
    what = "file" if "data" in job.arguments else "document"
    return f"what job {job.id!r} was given is not kept; send the {what} again"
