"""What the document tools change: documents taken in as durable jobs, jobs, deletions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from clew.errors import ClewError, InputError, StoreError
from clew.indexing.access import existing_path, roots_of
from clew.tools.truncate import shortened
from clew.types import document_id
from clew.types.sources import check_given, file_source

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.jobs.ingestion import Given
    from clew.jobs.runner import JobRunner
    from clew.ports import Job
    from clew.tools.spec import Arguments, Call, Result

AT_ONCE = 20_000
"""Characters of a text that is stored before the tool answers."""
ERRORS_SHOWN = 20
"""Documents that failed of which a job's status says why."""
ERROR_CHARACTERS = 300
"""Characters of each such reason."""
_ORIGINS = ("path", "url", "text")


def jobs_of(call: Call) -> JobRunner:
    """The runner of the engine's jobs. Raises `StoreError` where whoever serves has none."""
    runner = call.services.get("jobs")
    if runner is None:
        raise StoreError(
            "there are no jobs here; make the toolbox with services={'jobs': make_runner(engine)}"
        )
    return cast("JobRunner", runner)


def ingest(call: Call, arguments: Arguments) -> Result:
    """`ingest_document` and `ingest_with_context`."""
    return submit(call, _given(arguments), arguments["idempotency_key"])


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


def _given(arguments: Arguments) -> Given:
    """The job's arguments, without what was not given."""
    named = [name for name in _ORIGINS if arguments[name] is not None]
    if len(named) != 1:
        shown = " and ".join(named) or "none of them"
        raise InputError(
            f"exactly one of path, url and text is needed, {shown} was given; call again with one"
        )
    given: dict[str, Any] = {named[0]: arguments[named[0]]}
    for name in ("title", "source"):
        if arguments[name]:
            given[name] = arguments[name]
    if arguments["metadata"]:
        given["metadata"] = {pair["name"]: pair["value"] for pair in arguments["metadata"]}
    return cast("Given", given)


def identity(engine: Engine, given: Given) -> tuple[str, str | None]:
    """Source and document id of what is taken in, no id where a folder is.

    A path in `given` is made whole and gets the folders that the caller may read.
    Raises `InputError` now for what could only fail later.
    """
    # Here, since a list of tools needs no reader.
    from clew.indexing.reading.formats.common import clean_text, text_digest

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


def query_job_status(call: Call, arguments: Arguments) -> Result:
    """`query_job_status`."""
    runner = jobs_of(call)
    return status_of(runner, runner.job(arguments["job_id"]))


def cancel_job(call: Call, arguments: Arguments) -> Result:
    """`cancel_job`: what is done stays, the document under way is left."""
    runner = jobs_of(call)
    job = runner.job(arguments["job_id"])
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


def delete_document(call: Call, arguments: Arguments) -> Result:
    """`delete_document`."""
    info = call.engine.documents.named(arguments["document"])
    if not arguments["confirm"]:
        raise InputError(
            f"deleting document {info.id!r} ({info.title or info.source!r}) cannot be undone; call"
            " again with confirm=true if it is wanted"
        )
    deleted = call.engine.delete([info.id])
    return {"document": info.id, "source": info.source, "deleted": deleted}
