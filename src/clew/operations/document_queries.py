"""What is asked of documents: passages, answers, texts, each within its budget of tokens."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

from clew.operations.budget import (
    fitting,
    fitting_length,
    no_room,
    own_namespaces,
    read_cursor,
    shortened,
    tokens_of,
    truncate,
)
from clew.operations.spec import (
    CORE,
    Call,
    Cursor,
    Limits,
    MaxTokens,
    Result,
    Since,
    Until,
    Where,
    between,
    operation,
    shape,
)
from clew.search.options import RAG_TYPES
from clew.text import one_line, question_terms, sentences, terms, whole_number
from clew.types import AnswerMode, DocumentInfo, NamedStrategy, RagType, StoredChunk

if TYPE_CHECKING:
    from clew.engine import Engine

    Count = Callable[[str], int]


MAX_HOPS = 2
"""Steps in the graph, where the caller says nothing."""
ECHOED, NAMED, MOST = 200, 60, 10
"""Characters of a question and of a name that are said again, and how many of each kind."""
TITLED = 100
"""Characters of a title in a passage that is cut."""
QUOTED = 160
"""Characters of a sentence that stands in the passage and is quoted beside it."""
LEADING = 5
"""Passages that come before the threads of any of them, and with theirs before others."""
LINE = 80
"""Characters of a passage that are shown, at least."""
DECIMALS = 4
"""Of scores."""
CUT = (
    "max_tokens has no room for a passage with what is known of it: the first is shown alone, cut"
    " where it must be"
)
PARTS_ALONE = "max_tokens has no room for a passage beside what the strategy made"
_OVERVIEWS = frozenset({"global", "topic", "drift", "hierarchical"})
"""Strategies whose answer is what they made; passages only show where it is from."""
_SHOWN = (
    *("query", "strategy", "reason", "answered", "confidence", "graph_entities", "temporal_info"),
    *("timings_ms", "notes"),
)
_HIT = ("id", "text", "answer", "metadata", "score", "confidence", "scores", "source")
_STANDING = ("state", "valid_from", "valid_until", "told_at")
_PLACE = (
    *("document", "title", "source", "page", "char_start", "char_end", "namespace"),
    *_STANDING,
)
_NO_GRAPH: Mapping[str, Any] = {"entities": [], "relationships": [], "path": []}


Asked = Annotated[str, "The question, in words.", Limits(max_length=10_000, blank=False)]
Namespaces = Annotated[
    Sequence[str],
    "Collections to ask together. Default: this.",
    Limits(max_items=20, max_length=64),
]
ByModel = Annotated[bool | None, "Whether the model chooses among the best. Default: as set up."]
AsOf = Annotated[str | None, "The store, and what held, at the end of that day."]
Document = Annotated[str, "Id or source of a document."]


@operation(
    "Query documents",
    shape(strategy="string", context="object", results="array", left_out="integer"),
    profiles=CORE,
    http="GET /search",
)
def query_documents(
    call: Call,
    query: Asked,
    rag_type: Annotated[
        str,
        "traditional (text, by meaning), contextual (and words) or graph.",
        Limits(choices=tuple(RAG_TYPES)),
    ] = "graph",
    strategy: Annotated[
        str | None,
        "Instead: auto, vector, keyword, hybrid, graph, parent_child, topic, multi_hop,"
        " hierarchical, temporal, global, local, weighted or drift.",
        Limits(max_length=40),
    ] = None,
    top_k: Annotated[int | None, "Default 10; contextual 20", between(1, 100)] = None,
    max_hops: Annotated[int, "Steps", between(1, 5)] = MAX_HOPS,
    where: Where = (),
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    min_confidence: Annotated[float, "From which it is an answer", between(0, 1)] = 0,
    namespaces: Namespaces = (),
    model_filter: ByModel = None,
    max_tokens: MaxTokens = 4000,
) -> Result:
    """Passages that answer; context.parts: paths or reports."""
    found = call.engine.search(
        query,
        namespaces=own_namespaces(call, namespaces),
        rag_type=cast("RagType", rag_type),
        strategy=None if strategy is None else NamedStrategy(strategy),
        limit=top_k,
        # The default is what is meant where nothing was said.
        max_hops=None if max_hops == MAX_HOPS else max_hops,
        where=where,
        since=since,
        until=until,
        as_of=as_of,
        min_confidence=min_confidence or None,
        model_filter=model_filter,
        model=call.caller.model,
        max_tokens=max(1, max_tokens // 2),
        context_passages=False,
    )
    return as_told(found.to_dict(), max_tokens, call.count_tokens)


def as_told(found: dict[str, Any], room: int, count: Count) -> Result:
    """What a search found (`SearchResult.to_dict`), in at most `room` tokens."""
    for_context = room * 3 // 4 if found["strategy"] in _OVERVIEWS else room // 2
    made = _made(found["context"], for_context, count)
    hits = found["results"]
    around: Result = {**_about(found), "context": made, "results": [], "left_out": len(hits)}
    kept = _passages(hits, around, room, count)
    if kept or not hits:
        return {**around, "results": kept, "left_out": len(hits) - len(kept)}
    # Where there is room for little, the first of what the strategy made may take most of it.
    first = _made(_first_parts(found["context"], 1), room * 3 // 4, count)
    return _in_little_room(around, first, hits, room, count)


def _in_little_room(
    around: Result, part: Result, hits: Sequence[Mapping[str, Any]], room: int, count: Count
) -> Result:
    """The first part that the strategy made and the first passage, cut; else one of the two."""
    notes = around["notes"][:1]
    whole = {**around, "notes": [*notes, CUT]}
    bare = {**whole, "reason": "", "timings_ms": {}, "graph_entities": [], "temporal_info": None}
    first = {**bare, "context": part}
    alone = {**first, "notes": [*notes, PARTS_ALONE]}
    for about in (whole, bare, first):
        if cut := _cut(hits[0], about, room, count):
            return {**about, "results": [cut], "left_out": len(hits) - 1}
    if part["parts"] and tokens_of({"success": True, **alone}, count) <= room:
        return alone
    none = {**bare, "context": _first_parts(part, 0)}
    if cut := _cut(hits[0], none, room, count):
        return {**none, "results": [cut], "left_out": len(hits) - 1}
    raise no_room(hits[0]["metadata"]["title"] or hits[0]["id"])


def _made(context: Mapping[str, Any], budget: int, count: Count) -> Result:
    """The parts that the strategy made, those that fit with their citations."""
    named: set[str] = set()
    parts: list[Result] = []
    for part in context["parts"]:
        # What document a citation is of is said the first time.
        known, citations = set(named), []
        for one in part["citations"]:
            about = ("title", "source") if one["source"] not in known else ()
            page = ("page",) if one["page"] is not None else ()
            citations.append({name: one[name] for name in ("number", "ids", *about, *page)})
            known.add(one["source"])
        shown = {**part, "citations": citations}
        if fitting([shown], {}, budget, count):
            budget -= tokens_of(shown, count) + 1
            named = known
            parts.append(shown)
    return {"parts": parts, "left_out": context["left_out"] + len(context["parts"]) - len(parts)}


def _first_parts(made: Mapping[str, Any], most: int) -> Result:
    shown = made["parts"][:most]
    return {"parts": shown, "left_out": made["left_out"] + len(made["parts"]) - len(shown)}


def _about(found: Mapping[str, Any]) -> Result:
    """What is said of the question, however long that is: the passages need the room."""
    temporal = found["temporal_info"]
    if temporal is not None:
        timeline = [{**entry, "ids": entry["ids"][:1]} for entry in temporal["timeline"][:MOST]]
        phrase = shortened(temporal["phrase"], NAMED)
        temporal = {**temporal, "phrase": phrase, "timeline": timeline}
    return {
        **{name: found[name] for name in _SHOWN},
        "query": shortened(found["query"], ECHOED),
        "graph_entities": [shortened(name, NAMED) for name in found["graph_entities"][:MOST]],
        "temporal_info": temporal,
        "timings_ms": {step: round(spent, 1) for step, spent in found["timings_ms"].items()},
        "notes": list(found["notes"]),
    }


def _passages(
    found: Iterable[Mapping[str, Any]], around: Result, room: int, count: Count
) -> list[Result]:
    """The first few passages, then their threads, then further passages, while there is room."""
    whole = [_hit(hit) for hit in _told_once(found)]
    bare = [{**hit, "graph_context": _NO_GRAPH} for hit in whole]
    kept = fitting(bare[:LEADING], around, room, count)
    left = room - tokens_of({"success": True, **around, "results": kept}, count)
    for place in range(len(kept)):
        more = tokens_of(whole[place], count) - tokens_of(bare[place], count)
        if more <= left:
            kept[place], left = whole[place], left - more
    further = bare[LEADING:] if len(kept) == LEADING else []
    return [*kept, *fitting(further, {**around, "results": kept}, room, count)]


def _told_once(hits: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """The hits, each document's own fields in the first of its passages alone."""
    told: set[str] = set()
    for hit in hits:
        document = hit["metadata"]["document"]
        yield {**hit, "metadata": _place(hit)} if document in told else hit
        told.add(document)


def _place(hit: Mapping[str, Any]) -> Result:
    return {name: hit["metadata"][name] for name in _PLACE if name in hit["metadata"]}


def _hit(hit: Mapping[str, Any]) -> Result:
    """A hit without what only a library's user asks for; what its text says is cut beside it."""
    graph, text = hit["graph_context"], hit["text"]
    stated = [
        {
            **{name: relation[name] for name in ("from", "relation", "to")},
            "evidence": shortened(relation["evidence"], QUOTED)
            if relation["evidence"] in text
            else relation["evidence"],
        }
        for relation in graph["relationships"]
    ]
    answer = hit["answer"] and {
        **hit["answer"],
        "text": shortened(hit["answer"]["text"], 2 * QUOTED),
    }
    steps = [shortened(step, 2 * QUOTED) for step in graph["path"]]
    return {
        **{name: hit[name] for name in _HIT},
        "answer": answer,
        "score": round(hit["score"], DECIMALS),
        "scores": {name: round(score, DECIMALS) for name, score in hit["scores"].items()},
        "graph_context": {**graph, "relationships": stated, "path": steps},
    }


def _cut(hit: Mapping[str, Any], around: Result, budget: int, count: Count) -> Result | None:
    """A hit with its text cut to the room that there is; None for less than a line of it."""
    metadata = _place(hit)
    metadata |= {name: shortened(metadata[name], TITLED) for name in ("title", "source")}
    bare = {**_hit(hit), "answer": None, "metadata": metadata, "graph_context": _NO_GRAPH}
    empty = {"success": True, **around, "results": [{**bare, "text": "…"}]}
    room, text = budget - tokens_of(empty, count), str(hit["text"])
    length = fitting_length(text, room, count)
    if length < min(LINE, len(text)):
        return None
    return {**bare, "text": text if length == len(text) else f"{text[:length].rstrip()}…"}


# What the tool `ask` does.


@operation(
    "Ask",
    shape(answer="string", answered="boolean", statements="array", sources="array"),
    open_world=True,
)
def ask(
    call: Call,
    query: Asked,
    top_k: Annotated[int, "Passages to answer from", between(1, 30)] = 10,
    where: Where = (),
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    min_confidence: Annotated[float, "Below it the documents do not say", between(0, 1)] = 0,
    namespaces: Namespaces = (),
    mode: Annotated[
        AnswerMode, "one_shot, stepwise (also what is missing) or global (over all reports)."
    ] = "one_shot",
    steps: Annotated[int | None, "Searches of stepwise, default 4", between(1, 10)] = None,
    model_filter: ByModel = None,
    max_tokens_spent: Annotated[int, "Of the model; 0: no limit", between(0, 10_000_000)] = 0,
) -> Result:
    """An answer in statements, each with words of the documents that support it; by the server's
    language model, else quoted from the documents.
    """
    return call.engine.ask(
        query,
        tell=call.progress.tell,
        mode=mode,
        steps=steps,
        model_filter=model_filter,
        model=call.caller.model,
        max_tokens_spent=max_tokens_spent or None,
        namespaces=own_namespaces(call, namespaces),
        # An overview reads more passages than it quotes.
        limit=None if mode == "global" else top_k,
        where=where,
        since=since,
        until=until,
        as_of=as_of,
        min_confidence=min_confidence or None,
    ).to_dict()


# What the document tools read: passages that answer, documents, their texts, collections.


FOUND = 10
"""Documents that `search` finds, at most."""
TITLED_READING, SOURCED, SUMMARY = 100, 200, 1000
"""Characters of a title and of a source in a list."""
MOST_CHARACTERS = 10**9
"""Characters of a text that a cursor can be past."""
VERSIONS = 10
"""Versions of a document that are listed, at most."""
SNIPPET = 300
"""Characters of the text that `search` shows of a document."""
FETCHED_TOKENS = 8000
"""Tokens of a text that `fetch` gives at once."""


@operation("Search", shape(results="array"), profiles=CORE)
def search(call: Call, query: Asked) -> Result:
    """Documents that answer a question; read them with fetch."""
    hits = call.engine.search(query, limit=3 * FOUND, explain=False, context=False).hits
    asked = frozenset(question_terms(query, {h.chunk.language for h in hits}))
    best = {hit.chunk.document_id: hit.chunk for hit in reversed(hits)}
    shown = sorted(best.values(), key=[hit.chunk for hit in hits].index)[:FOUND]
    return {
        "results": [
            {
                "id": chunk.public_id,
                "title": chunk.title or chunk.source,
                "url": _url(chunk.document_id, chunk.source),
                "text": _snippet(chunk, asked),
            }
            for chunk in shown
        ]
    }


def _snippet(chunk: StoredChunk, asked: frozenset[str]) -> str:
    """The sentence that holds most of the terms asked for, on one line."""
    text, language = chunk.text, chunk.language
    parts = [text[start:end] for start, end in sentences(text, language)]
    best = max(parts, key=lambda part: len(asked.intersection(terms(part, language))), default="")
    line = one_line(best)  # most are short, and `textwrap` looks at every word
    return line if len(line) <= SNIPPET else textwrap.shorten(line, SNIPPET, placeholder=" …")


@operation(
    "Fetch",
    shape(id="string", title="string", text="string", url="string", metadata="object"),
    profiles=CORE,
)
def fetch(call: Call, id: Annotated[str, "From search."]) -> Result:
    """Text of an id from search, at most 8000 tokens."""
    info, at, whole = _located(call.engine, id)
    if tokens_of(whole, call.count_tokens) <= FETCHED_TOKENS:
        at = 0
    length = fitting_length(whole[at:], FETCHED_TOKENS, call.count_tokens)
    return {
        "id": id,
        "title": info.title or info.source,
        "text": whole[at : at + length],
        "url": _url(info.id, info.source),
        "metadata": {
            "document": info.id,
            "source": info.source,
            "char_start": at,
            "char_end": at + length,
            "characters": len(whole),
        },
    }


def _located(engine: Engine, name: str) -> tuple[DocumentInfo, int, str]:
    """A document, where to begin to read (the section of the passage that was named), its text."""
    document, _, ordinal = name.rpartition("#")
    number = whole_number(ordinal)
    if number is not None and engine.store.documents(ids=[document]):
        info, text = engine.documents.get(document), engine.documents.text(document)
        for chunk in engine.store.document_chunks(document):
            if chunk.ordinal == number:
                return info, engine.store.sections([chunk.section_id])[0].start, text
    if number is not None and engine.store.documents(ids=[document.partition("@")[0]]):
        return engine.documents.get(document.partition("@")[0]), 0, engine.documents.text(name)
    return engine.documents.get(name), 0, engine.documents.text(name)


def _url(document_id: str, source: str) -> str:
    """Where a reader finds the document: its address, else the one of its resource here."""
    web = source.startswith(("http://", "https://"))
    return source if web else f"clew://documents/{document_id}"


@operation(
    "Documents",
    shape(documents="array", total="integer"),
    profiles=CORE,
    http="GET /documents",
)
def list_documents(
    call: Call,
    where: Where = (),
    limit: Annotated[int, between(1, 500)] = 50,
    cursor: Cursor = None,
    max_tokens: MaxTokens = 4000,
) -> Result:
    """What is stored, by source."""
    documents = call.engine.documents.list(where)
    notes = call.engine.documents.unknown_fields(where)
    start = read_cursor(cursor)
    page = [_document(info) for info in documents[start : start + limit]]
    around: Result = {"documents": [], "total": len(documents), "next_cursor": str(MOST_CHARACTERS)}
    around |= {"notes": [shortened(note, SOURCED) for note in notes[:1]]} if notes else {}
    kept = fitting(page, around, max_tokens, call.count_tokens)
    if page and not kept:
        kept = [{**page[0], "metadata": {}}]
    return {**around, "documents": kept, "next_cursor": next_page(start, len(kept), len(documents))}


def _document(info: DocumentInfo) -> Result:
    return {
        "document": info.id,
        "title": shortened(info.title, TITLED_READING),
        "source": shortened(info.source, SOURCED),
        "media_type": info.media_type,
        "language": info.language or None,
        "characters": info.characters,
        "chunks": info.chunks,
        "version": info.version,
        "date": info.date.iso if info.date else None,
        "date_source": info.date_source,
        "date_precision": info.date_precision,
        "indexed_at": info.indexed_at.isoformat(),
        "metadata": dict(info.metadata),
        "summary": shortened(info.summary.sourced, SUMMARY) if info.summary else None,
    }


def next_page(start: int, shown: int, total: int) -> str | None:
    """Where the next page begins; None after the last one."""
    return str(start + shown) if start + shown < total else None


@operation(
    "Text of a document",
    shape(document="string", text="string", char_start="integer", char_end="integer"),
    # In `core`, `fetch` reads documents; the list of its tools is to stay below 12 KB.
    http="GET /documents/{document}",
)
def get_document(
    call: Call,
    document: Document,
    cursor: Annotated[
        str | None, "Character to begin at, or next_cursor. Default 0.", Limits(max_length=20)
    ] = None,
    version: Annotated[
        int, "An earlier text by its number; 0: the one held", between(0, 1_000_000)
    ] = 0,
    max_tokens: MaxTokens = 4000,
) -> Result:
    """A document's text from a character on, as it is or was in a version."""
    info = call.engine.documents.get(document)
    number = version or info.version
    text = call.engine.documents.earlier_text(info.id, number)
    start = min(read_cursor(cursor, MOST_CHARACTERS), len(text))
    kept = [one for one in call.engine.documents.versions(info.id) if one.is_kept]
    around: Result = {
        **_document(info),
        "version": number,
        # Those whose text can be read, the newest first.
        "versions": [
            {
                "version": one.version,
                "replaced_at": one.replaced_at.isoformat() if one.replaced_at else None,
            }
            for one in reversed(kept[-VERSIONS:])
        ],
        "text": "",
        "char_start": start,
        "char_end": len(text),
        "next_cursor": str(MOST_CHARACTERS),
    }
    if tokens_of(around, call.count_tokens) > max_tokens // 2:
        around["metadata"] = {}
    room = max_tokens - tokens_of({"success": True, **around}, call.count_tokens)
    piece = truncate(text[start:], room, call.count_tokens)
    stop = start + len(piece)
    return {
        **around,
        "text": piece,
        "char_end": stop,
        "next_cursor": str(stop) if stop < len(text) else None,
    }
