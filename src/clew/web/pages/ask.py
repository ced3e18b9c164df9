"""Ask: a question, its hits, the thread of each; and why a passage was not the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import NotFoundError
from clew.search.strategies import STRATEGIES
from clew.web.comparison import compare_passages
from clew.web.pages.entities import most_important
from clew.web.passages import shown_hits
from clew.web.render import render_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from clew.types import Hit, SearchResult
    from clew.web.request import PageRequest

SUGGESTIONS = 8
"""Names offered while typing."""
EXAMPLES = 6
"""Names that the first page offers to ask about."""
DEEP = 200
"""Hits that a comparison looks through for the passage that was missed."""
FILTERS = ("strategy", "since", "until", "as_of", "limit", "max_tokens")


def ask(page: PageRequest) -> Response:
    """The question of the address and its answer, or the page to ask on."""
    question = page.text("q")
    filters = {name: page.text(name) for name in FILTERS}
    where = [value.strip() for value in page.query.getlist("where") if value.strip()]
    common = {
        "question": question,
        "filters": filters,
        "where": where,
        "strategies": ["auto", *STRATEGIES],
        "any_filter": any(filters.values()) or bool(where),
    }
    if not question:
        return render_page(page, "ask.html", result=None, **_welcome(page), **common)
    result = _search(page, question, limit=page.number("limit", 10, 100))
    hits = shown_hits(page.engine, result.hits)
    knots = {link.entity_id for hit in hits for link in hit.thread if link.entity_id is not None}
    drawn = {"question": question, "alone": sorted(knots), "as_of": page.text("as_of")}
    return render_page(
        page,
        "ask.html",
        result=result,
        hits=hits,
        graph_data=page.url("/api/v1/graph", **drawn),
        graph_page=page.url("graph", **drawn),
        asking=_asking(page, question, where),
        **common,
    )


def _asking(page: PageRequest, question: str, where: Sequence[str]) -> dict[str, object]:
    """The arguments of the tool `ask` for the answer of this page; it chooses its own strategy."""
    times = {name: page.text(name) for name in ("since", "until", "as_of") if page.text(name)}
    limit = page.number("limit", 10, 100)
    return {"query": question, "top_k": min(limit, 30), "where": list(where), **times}


def suggest(page: PageRequest) -> Response:
    """Names of the graph that the last word of the question may be the beginning of."""
    typed = page.text("q") or page.text("entities")
    names: list[str] = []
    words = typed.split()
    for length in range(min(3, len(words)), 0, -1):
        begun = " ".join(words[-length:])
        if len(begun) > 2 and not names:
            names = [entity.name for entity in page.engine.entities.find(begun, SUGGESTIONS)]
            typed = " ".join(words[:-length])
    whole = names if page.text("whole") else [f"{typed} {name}".strip() for name in names]
    return render_page(page, "suggestions.html", suggestions=whole)


def compare(page: PageRequest) -> Response:
    """Why a passage was not the first: what the ranker saw of it, beside the first hit."""
    question, wanted = page.text("q"), page.text("passage")
    result = _search(page, question, limit=DEEP)
    place = next((n for n, hit in enumerate(result.hits) if _is(hit, wanted)), None)
    other, document = None if place is None else result.hits[place], None
    if other is None:
        try:
            document = page.engine.documents.get(wanted.rpartition("#")[0] or wanted)
        except NotFoundError as error:
            return render_page(page, "error_part.html", message=str(error))
    compared = None
    if result.hits:
        chunks = page.engine.documents.chunks(document.id) if document else []
        ids = [other.chunk.id] if other else [chunk.id for chunk in chunks]
        compared = compare_passages(page.engine, question, result.hits[0].chunk.id, ids)
    return render_page(
        page,
        "compare.html",
        first=result.hits[0] if result.hits else None,
        other=other,
        place=None if place is None else place + 1,
        document=document,
        looked=len(result.hits),
        compared=compared,
    )


def _search(page: PageRequest, question: str, limit: int) -> SearchResult:
    """The answer as the address asks for it."""
    tokens = page.text("max_tokens")
    return page.engine.search(
        question,
        strategy=page.text("strategy") or None,
        limit=limit,
        where=[value for value in page.query.getlist("where") if value.strip()],
        since=page.text("since") or None,
        until=page.text("until") or None,
        as_of=page.text("as_of") or None,
        max_tokens=page.number("max_tokens", 4000, 100_000) if tokens else None,
    )


def _welcome(page: PageRequest) -> dict[str, object]:
    """What there is to ask about; an empty store has nothing."""
    documents = len(page.engine.store.document_digests())
    if not documents:
        return {"documents": 0, "examples": []}
    return {"documents": documents, "examples": most_important(page, EXAMPLES)}


def _is(hit: Hit, wanted: str) -> bool:
    """Whether a hit is the passage, or of the document, that was named."""
    chunk = hit.chunk
    return wanted in (chunk.public_id, chunk.document_id, chunk.source, chunk.title)
