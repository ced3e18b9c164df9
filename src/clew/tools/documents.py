"""The table of the document tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast, get_args

from clew.derived_files import make_folder
from clew.errors import ClewError, InputError, NotFoundError, StoreError
from clew.indexing.reading.files import existing_path, roots_of
from clew.search.options import RAG_TYPES
from clew.settings import NAMESPACE
from clew.text import counted
from clew.tools import document_queries as asking
from clew.tools import document_queries as querying
from clew.tools import document_queries as reading
from clew.tools.budget import fitting, no_room, read_cursor, shortened
from clew.tools.document_queries import next_page
from clew.tools.spec import (
    CORE,
    CURSOR,
    FULL,
    MAX_TOKENS,
    WHERE,
    Parameter,
    Tool,
    array,
    flag,
    integer,
    shape,
    share,
    text,
)
from clew.types import document_id
from clew.types.results import AnswerMode
from clew.types.values import check_given, file_source
from clew.wiring import make_store, store_exists

if TYPE_CHECKING:
    from pathlib import Path

    from clew.engine import Engine
    from clew.jobs.runner import Given, JobRunner
    from clew.ports import AuditEntry, Job
    from clew.tools.spec import Arguments, Call, Result, Scope


# What the document tools change: documents taken in as durable jobs, jobs, deletions.


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


# What the document tools do with a collection as a whole: index, back up, restore, audit.


_NEWEST = 2**63 - 1
"""Ids of entries end here."""


_RETRY = "enrich with retry=true asks again for what failed before"


def reindex(call: Call, _: Arguments) -> Result:
    """`reindex`."""
    runner = jobs_of(call)
    return status_of(runner, runner.submit("reindex", {}, description="index again"))


def enrich(call: Call, arguments: Arguments) -> Result:
    """`enrich`: what it would take, and the job that does it."""
    kinds, enriching = arguments["kinds"], call.engine.enriching
    gleaning = arguments["gleaning"] or None
    found = enriching.estimate(*kinds, retry=arguments["retry"], gleaning=gleaning)
    estimates = [{"kind": kind, **asdict(one)} for kind, one in found.items()]
    failed = [(kind, one) for kind in kinds for one in enriching.failures(kind)]
    said = {
        "estimates": estimates,
        "failed": [
            {
                "kind": kind,
                "about": shortened(one.source, ERROR_CHARACTERS),
                "reason": shortened(one.reason, ERROR_CHARACTERS),
            }
            for kind, one in failed[:ERRORS_SHOWN]
        ],
        "failed_left_out": max(len(failed) - ERRORS_SHOWN, 0),
        "next_step": _RETRY if failed and not arguments["retry"] else "",
    }
    if arguments["dry_run"]:
        return {**said, "job": {}}
    runner = jobs_of(call)
    wanted = {
        "kinds": kinds,
        "retry": arguments["retry"],
        "gleaning": gleaning,
        "max_tokens": arguments["max_tokens_spent"],
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    job = runner.submit("enrich", wanted, description=f"enrich: {', '.join(kinds)}")
    return {**said, "job": status_of(runner, job)}


def backup(call: Call, arguments: Arguments) -> Result:
    """`backup`."""
    name = arguments["name"] or datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
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


def restore(call: Call, arguments: Arguments) -> Result:
    """`restore`."""
    engine = call.engine
    name = arguments["name"]
    path = _backup_file(call, name)
    if not path.is_file():
        there = ", ".join(_names(path.parent)) or "none yet"
        raise NotFoundError(f"there is no backup {name!r} of this collection; there are: {there}")
    held = engine.maintenance.stats()["documents"]
    if not arguments["confirm"]:
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


def audit(call: Call, arguments: Arguments) -> Result:
    """`audit`."""
    engine, limit = call.engine, arguments["limit"]
    before = read_cursor(arguments["cursor"], _NEWEST) if arguments["cursor"] else None
    # One more than is shown tells whether there is more.
    found = engine.maintenance.audit(before=before, limit=limit + 1)
    items = [_entry(entry) for entry in found[:limit]]
    around: Result = {"entries": [], "next_cursor": str(_NEWEST)}
    kept = fitting(items, around, arguments["max_tokens"], engine.state.embedder.count_tokens)
    if items and not kept:
        raise no_room(items[0]["tool"])
    more = len(kept) < len(found)
    return {"entries": kept, "next_cursor": str(kept[-1]["id"]) if more else None}


def _entry(entry: AuditEntry) -> Result:
    return {
        "id": entry.id,
        "recorded_at": entry.recorded_at.isoformat(),
        "caller": entry.caller,
        "tool": entry.tool,
        "subjects": dict(entry.subjects),
        "outcome": entry.outcome,
        "can_undo": entry.undo is not None,
    }


def list_collections(call: Call, arguments: Arguments) -> Result:
    """`list_collections`: the caller's namespaces; what others have is never looked at."""
    own = call.engine.settings.namespace
    names = call.caller.namespaces or (own,)
    start = read_cursor(arguments["cursor"])
    page = names[start : start + arguments["limit"]]
    return {
        "collections": [_collection(call.engine, name) for name in page],
        "total": len(names),
        "next_cursor": next_page(start, len(page), len(names)),
    }


def _collection(engine: Engine, namespace: str) -> Result:
    split = engine.settings.split
    return {
        "namespace": namespace,
        "counts": _counts(engine, namespace),
        "settings": {
            "embedder": engine.state.embedder.name,
            "split": split.strategy,
            "chunk_tokens": split.chunk_tokens,
            "section_tokens": split.section_tokens,
            "time_zone": engine.settings.search.time_zone,
        },
    }


def _counts(engine: Engine, namespace: str) -> Result:
    """Counts of a namespace's store; none are made where there is no store."""
    wanted = ("documents", "chunks", "entities", "relations")
    if namespace == engine.settings.namespace:
        return {name: engine.maintenance.stats()[name] for name in wanted}
    settings = engine.settings.model_copy(update={"namespace": namespace})
    if not store_exists(settings):
        return dict.fromkeys(wanted, 0)
    store = make_store(settings)
    try:
        return {name: store.statistics()[name] for name in wanted}
    finally:
        store.close()


# Trying again what a job did not do.


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


_JOB = shape(job_id="string", status="string", errors="array")
_QUERY = text("query", "The question, in words.", max_length=10_000, required=True, blank=False)
_NAMESPACES = array(
    "namespaces", "strings", "Collections asked too. Default: this.", max_items=20, max_length=64
)
_FILTER = Parameter(
    name="model_filter", kind="boolean", description="Model chooses; null: as set up."
)
_DOCUMENT = text("document", "Id or source of a document.", required=True)
_JOB_ID = text("job_id", "From the tool that began it.", max_length=64, required=True)
_CONFIRM = flag("confirm", "true once the user agreed.", False)
_INGESTED = (
    text("path", "A file or folder.", max_length=4000),
    text("url", "http(s):.", max_length=4000),
    text("text", "The text itself.", max_length=1_000_000),
    text("title", "Default: its own."),
    array(
        "metadata",
        "objects",
        "For filters. Default none.",
        max_items=50,
        fields=(
            text("name", "Such as year.", max_length=100, required=True),
            text("value", "As text.", required=True),
        ),
    ),
    text("source", "Identity: the same is replaced. Default: path, url or hash."),
    text("idempotency_key", "Same key, same job. Default none.", max_length=200),
)

DOCUMENT_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="search",
        title="Search",
        description="Documents that answer a question; read them with fetch.",
        parameters=(_QUERY,),
        result=shape(results="array"),
        run=reading.search,
        scope="read",
        profiles=CORE,
    ),
    Tool(
        name="fetch",
        title="Fetch",
        description="Text of an id from search, at most 8000 tokens.",
        parameters=(text("id", "From search.", required=True),),
        result=shape(id="string", title="string", text="string", url="string", metadata="object"),
        run=reading.fetch,
        scope="read",
        profiles=CORE,
    ),
    Tool(
        name="query_documents",
        title="Query documents",
        description="Passages that answer; context.parts: paths or reports.",
        parameters=(
            _QUERY,
            text(
                "rag_type",
                "traditional (text, by meaning), contextual (and words) or graph.",
                default="graph",
                choices=RAG_TYPES,
            ),
            text("strategy", "Instead, such as hybrid.", max_length=40),
            integer("top_k", "Default 10; contextual 20", None, 1, 100),
            integer("max_hops", "Steps", querying.MAX_HOPS, 1, 5),
            WHERE,
            text("since", "Date, or last week."),
            text("until", "As since; included."),
            text("as_of", "As things stood then."),
            share("min_confidence", "", 0),
            _NAMESPACES,
            _FILTER,
            MAX_TOKENS,
        ),
        result=shape(strategy="string", context="object", results="array", left_out="integer"),
        run=querying.query,
        scope="read",
        profiles=CORE,
    ),
    Tool(
        name="ask",
        title="Ask",
        description="An answer in statements, each with words of the documents that support it; by"
        " the server's language model, else quoted from the documents.",
        parameters=(
            _QUERY,
            integer("top_k", "Passages to answer from", 10, 1, 30),
            WHERE,
            text("since", "Date or words such as last week."),
            text("until", "As since; included."),
            text("as_of", "Ask as things stood then."),
            share("min_confidence", "Below it the documents do not say", 0),
            _NAMESPACES,
            text(
                "mode",
                "one_shot, stepwise (also what is missing) or global (over all reports).",
                default="one_shot",
                choices=get_args(AnswerMode),
            ),
            integer("steps", "Searches of stepwise, default 4", None, 1, 10),
            _FILTER,
            integer("max_tokens_spent", "Of the model; 0: no limit.", 0, 0, 10_000_000),
        ),
        result=shape(answer="string", answered="boolean", statements="array", sources="array"),
        run=asking.ask,
        scope="read",
        profiles=FULL,
        open_world=True,
    ),
    Tool(
        name="ingest_document",
        title="Add a document",
        description="Store one of path, url and text. Short text is found at once; else see"
        " query_job_status.",
        parameters=_INGESTED,
        result=_JOB,
        run=ingest,
        scope="write",
        profiles=CORE,
        idempotent=True,
        open_world=True,
    ),
    Tool(
        name="ingest_with_context",
        title="Add a document, with context",
        description="The same as ingest_document, which always keeps title and headings with each"
        " passage.",
        parameters=_INGESTED,
        result=_JOB,
        run=ingest,
        scope="write",
        profiles=FULL,
        idempotent=True,
        open_world=True,
    ),
    Tool(
        name="query_job_status",
        title="Status of a job",
        description="How far a job is, and what failed.",
        parameters=(_JOB_ID,),
        result=_JOB,
        run=query_job_status,
        scope="read",
        profiles=CORE,
    ),
    Tool(
        name="cancel_job",
        title="Cancel a job",
        description="Stop a job; what is stored stays.",
        parameters=(_JOB_ID,),
        result=_JOB,
        run=cancel_job,
        scope="write",
        profiles=FULL,
        frees=True,
    ),
    RETRY_JOB,
    Tool(
        name="list_documents",
        title="Documents",
        description="What is stored, by source.",
        parameters=(WHERE, integer("limit", "", 50, 1, 500), CURSOR, MAX_TOKENS),
        result=shape(documents="array", total="integer"),
        run=reading.list_documents,
        scope="read",
        profiles=CORE,
    ),
    Tool(
        name="get_document",
        title="Text of a document",
        description="A document's text from a character on, as it is or was in a version.",
        parameters=(
            _DOCUMENT,
            text("cursor", "Character to begin at, or next_cursor. Default 0.", max_length=20),
            integer("version", "An earlier text by its number; 0: the one held.", 0, 0, 1_000_000),
            MAX_TOKENS,
        ),
        result=shape(document="string", text="string", char_start="integer", char_end="integer"),
        run=reading.get_document,
        scope="read",
        # In `core`, `fetch` reads documents; the list of its tools is to stay below 12 KB.
        profiles=FULL,
    ),
    Tool(
        name="delete_document",
        title="Delete a document",
        description="Delete a document and what only it held.",
        parameters=(_DOCUMENT, _CONFIRM),
        result=shape(document="string", deleted="integer"),
        run=delete_document,
        scope="write",
        profiles=CORE,
        destructive=True,
        confirm=True,
    ),
    Tool(
        name="list_collections",
        title="Collections",
        description="The namespaces that you may use, with counts and settings.",
        parameters=(integer("limit", "", 20, 1, 100), CURSOR),
        result=shape(collections="array", total="integer"),
        run=list_collections,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="reindex",
        title="Index again",
        description="Split, embed and extract again, as a job, what was made with other settings"
        " or another model.",
        parameters=(),
        result=_JOB,
        run=reindex,
        scope="admin",
        profiles=FULL,
        idempotent=True,
    ),
    Tool(
        name="enrich",
        title="Enrich by a language model",
        description="Let the server's language model add to what is stored, as a job: context"
        " situates passages in their documents; extract lists names and facts, each with words of"
        " its passage; documents, entities, topics and reports are described, each statement with"
        " its passage. Says first what it takes.",
        parameters=(
            array(
                "kinds",
                "strings",
                "context, extract, documents, entities, topics, reports, links.",
                max_items=7,
                max_length=20,
                required=True,
            ),
            flag("dry_run", "Only say what it takes.", False),
            flag("retry", "Also what failed before.", False),
            flag("gleaning", "A second round of extract for what it missed.", False),
            integer("max_tokens_spent", "0: that of the settings", 0, 0, 1_000_000_000),
        ),
        result=shape(estimates="array", failed="array", next_step="string", job="object"),
        run=enrich,
        scope="admin",
        profiles=FULL,
    ),
    Tool(
        name="backup",
        title="Back up",
        description="Keep a copy of the collection on the server, beside it, and check it.",
        parameters=(text("name", "Of the new backup. Default: the time.", max_length=64),),
        result=shape(name="string", bytes="integer"),
        run=backup,
        scope="admin",
        profiles=FULL,
    ),
    Tool(
        name="restore",
        title="Restore a backup",
        description="Put a backup in place of all that the collection holds.",
        parameters=(text("name", "From backup.", max_length=64, required=True), _CONFIRM),
        result=shape(name="string", documents="integer"),
        run=restore,
        scope="admin",
        profiles=FULL,
        destructive=True,
        idempotent=True,
        confirm=True,
    ),
    Tool(
        name="audit",
        title="Audit log",
        description="What was changed through tools, when and by whom, the newest first.",
        parameters=(integer("limit", "", 50, 1, 500), CURSOR, MAX_TOKENS),
        result=shape(entries="array"),
        run=audit,
        scope="admin",
        profiles=FULL,
        changes=False,
    ),
)
