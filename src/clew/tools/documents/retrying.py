"""Trying again what a job did not do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from clew.errors import InputError
from clew.tools.documents.writing import identity, jobs_of, status_of
from clew.tools.parameters import text
from clew.tools.schema import shape
from clew.tools.spec import FULL, Tool

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.jobs.ingestion import Given
    from clew.ports import Job
    from clew.tools.spec import Arguments, Call, Result, Scope

STARTERS: Mapping[str, tuple[str, Scope]] = {
    "ingest": ("ingest_document", "write"),
    "reindex": ("reindex", "admin"),
    "enrich": ("enrich", "admin"),
}
"""By kind of job: the tool that starts one, and the scope that it takes."""


def retry_job(call: Call, arguments: Arguments) -> Result:
    """`retry_job`: another job for what failed or was cancelled; the same one when asked again."""
    runner = jobs_of(call)
    job = runner.job(arguments["job_id"])
    _check_right(call, job)
    if job.retried_by:
        return status_of(runner, runner.job(job.retried_by))
    if not job.can_retry:
        raise InputError(_refusal(job))
    again = runner.submit(
        job.kind, _arguments(call.engine, job), description=job.description, key=job.retry_key
    )
    return status_of(runner, again)


def _check_right(call: Call, job: Job) -> None:
    """Whoever tries a job again could have started it."""
    tool, scope = STARTERS[job.kind]
    allowed = call.caller.tools is None or tool in call.caller.tools
    if scope not in call.caller.scopes or not allowed:
        raise InputError(f"trying this again needs the right to call {tool}; ask for it")


def _refusal(job: Job) -> str:
    if not job.ended:
        return f"job {job.id!r} is {job.status}; wait for its end, or cancel it"
    if job.status == "completed" and not job.failed:
        return f"job {job.id!r} did all it was asked for; there is nothing to try again"
    what = "file" if "data" in job.arguments else "document"
    return f"what job {job.id!r} was given is not kept; send the {what} again"


def _arguments(engine: Engine, job: Job) -> dict[str, Any]:
    """What the job was asked for, without what it has done; with the caller's rights of now."""
    given = dict(job.arguments)
    if job.kind == "ingest":
        identity(engine, cast("Given", given))
        given["retries"] = job.id
    if job.kind == "enrich":
        # What the first job spent is no part of what this one may.
        given |= {"retry": True, "since": job.updated_at.isoformat(timespec="seconds")}
    return given


RETRY_JOB = Tool(
    name="retry_job",
    title="Try a job again",
    description="Begin a job for what another that ended did not do: what failed or was left.",
    parameters=(text("job_id", "The job that ended.", max_length=64, required=True),),
    result=shape(job_id="string", status="string", errors="array"),
    run=retry_job,
    scope="write",
    profiles=FULL,
    idempotent=True,
)
