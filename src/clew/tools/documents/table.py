"""The table of the document tools."""

from __future__ import annotations

from typing import get_args

from clew.search.options import RAG_TYPES
from clew.tools.documents import asking, maintenance, querying, reading, writing
from clew.tools.documents.retrying import RETRY_JOB
from clew.tools.parameters import CURSOR, MAX_TOKENS, WHERE, array, flag, integer, share, text
from clew.tools.schema import shape
from clew.tools.spec import CORE, FULL, Parameter, Tool
from clew.types.answers import AnswerMode

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
        run=writing.ingest,
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
        run=writing.ingest,
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
        run=writing.query_job_status,
        scope="read",
        profiles=CORE,
    ),
    Tool(
        name="cancel_job",
        title="Cancel a job",
        description="Stop a job; what is stored stays.",
        parameters=(_JOB_ID,),
        result=_JOB,
        run=writing.cancel_job,
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
        run=writing.delete_document,
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
        run=maintenance.list_collections,
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
        run=maintenance.reindex,
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
        run=maintenance.enrich,
        scope="admin",
        profiles=FULL,
    ),
    Tool(
        name="backup",
        title="Back up",
        description="Keep a copy of the collection on the server, beside it, and check it.",
        parameters=(text("name", "Of the new backup. Default: the time.", max_length=64),),
        result=shape(name="string", bytes="integer"),
        run=maintenance.backup,
        scope="admin",
        profiles=FULL,
    ),
    Tool(
        name="restore",
        title="Restore a backup",
        description="Put a backup in place of all that the collection holds.",
        parameters=(text("name", "From backup.", max_length=64, required=True), _CONFIRM),
        result=shape(name="string", documents="integer"),
        run=maintenance.restore,
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
        run=maintenance.audit,
        scope="admin",
        profiles=FULL,
        changes=False,
    ),
)
