"""What the document tools read: passages that answer, documents, their texts, collections."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from clew.sentences import sentences
from clew.text import one_line, question_terms, terms, whole_number
from clew.tools.budget import fitting, read_cursor
from clew.tools.truncate import fitting_length, shortened, tokens_of, truncate

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.tools.spec import Arguments, Call, Result
    from clew.types import DocumentInfo, StoredChunk

FOUND = 10
"""Documents that `search` finds, at most."""
TITLED, SOURCED, SUMMARY = 100, 200, 1000
"""Characters of a title and of a source in a list."""
MOST_CHARACTERS = 10**9
"""Characters of a text that a cursor can be past."""
VERSIONS = 10
"""Versions of a document that are listed, at most."""
SNIPPET = 300
"""Characters of the text that `search` shows of a document."""
FETCHED_TOKENS = 8000
"""Tokens of a text that `fetch` gives at once."""


def search(call: Call, arguments: Arguments) -> Result:
    """`search`: documents as ChatGPT's connectors expect them, each by its best passage."""
    found = call.engine.search(arguments["query"], limit=3 * FOUND, explain=False, context=False)
    hits = found.hits
    asked = frozenset(question_terms(arguments["query"], {h.chunk.language for h in hits}))
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


def fetch(call: Call, arguments: Arguments) -> Result:
    """`fetch`: a document's text, or as much of it around a passage as is given at once."""
    engine = call.engine
    info, at, whole = _located(engine, arguments["id"])
    count = engine.state.embedder.count_tokens
    if tokens_of(whole, count) <= FETCHED_TOKENS:
        at = 0
    length = fitting_length(whole[at:], FETCHED_TOKENS, count)
    return {
        "id": arguments["id"],
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


def list_documents(call: Call, arguments: Arguments) -> Result:
    """`list_documents`."""
    documents = call.engine.documents.list(arguments["where"])
    notes = call.engine.documents.unknown_fields(arguments["where"])
    start = read_cursor(arguments["cursor"])
    page = [_document(info) for info in documents[start : start + arguments["limit"]]]
    around: Result = {"documents": [], "total": len(documents), "next_cursor": str(MOST_CHARACTERS)}
    around |= {"notes": [shortened(note, SOURCED) for note in notes[:1]]} if notes else {}
    count = call.engine.state.embedder.count_tokens
    kept = fitting(page, around, arguments["max_tokens"], count)
    if page and not kept:
        kept = [{**page[0], "metadata": {}}]
    return {**around, "documents": kept, "next_cursor": next_page(start, len(kept), len(documents))}


def _document(info: DocumentInfo) -> Result:
    return {
        "document": info.id,
        "title": shortened(info.title, TITLED),
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


def _versions(engine: Engine, document: str) -> list[Result]:
    """The versions whose text can be read, the newest first."""
    kept = [version for version in engine.documents.versions(document) if version.is_kept]
    return [
        {"version": v.version, "replaced_at": v.replaced_at.isoformat() if v.replaced_at else None}
        for v in reversed(kept[-VERSIONS:])
    ]


def next_page(start: int, shown: int, total: int) -> str | None:
    """Where the next page begins; None after the last one."""
    return str(start + shown) if start + shown < total else None


def get_document(call: Call, arguments: Arguments) -> Result:
    """`get_document`."""
    engine = call.engine
    info = engine.documents.get(arguments["document"])
    version = arguments["version"] or info.version
    text = engine.documents.earlier_text(info.id, version)
    start = min(read_cursor(arguments["cursor"], MOST_CHARACTERS), len(text))
    around: Result = {
        **_document(info),
        "version": version,
        "versions": _versions(engine, info.id),
        "text": "",
        "char_start": start,
        "char_end": len(text),
    }
    around["next_cursor"] = str(MOST_CHARACTERS)
    count = engine.state.embedder.count_tokens
    if tokens_of(around, count) > arguments["max_tokens"] // 2:
        around["metadata"] = {}
    room = arguments["max_tokens"] - tokens_of({"success": True, **around}, count)
    piece = truncate(text[start:], room, count)
    stop = start + len(piece)
    return {
        **around,
        "text": piece,
        "char_end": stop,
        "next_cursor": str(stop) if stop < len(text) else None,
    }
