"""Documents: the list, and one with the names marked that the graph knows in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.web.difference import MOST_LINES, difference
from clew.web.passages import named_segments
from clew.web.render import render_page

if TYPE_CHECKING:
    from starlette.responses import Response

    from clew.web.request import PageRequest

LISTED = 100
"""Documents of one page of the list."""
CHUNKS = 40
"""Passages of a document that are shown at a time."""
RELATIONS = 200
"""Relations of the passages shown, at most."""


def documents(page: PageRequest) -> Response:
    """The list, by source, or what of it meets the filters."""
    where = [value.strip() for value in page.query.getlist("where") if value.strip()]
    wanted = page.text("name").casefold()
    found = [
        info
        for info in page.engine.documents.list(where)
        if wanted in info.title.casefold() or wanted in info.source.casefold()
    ]
    number = page.number("page", 1, 1_000_000)
    shown = found[(number - 1) * LISTED : number * LISTED]
    return render_page(
        page,
        "documents.html",
        documents=shown,
        total=len(found),
        number=number,
        pages=-(-len(found) // LISTED),
        where=where,
        notes=page.engine.documents.unknown_fields(where),
        wanted=page.text("name"),
    )


def versions(page: PageRequest) -> Response:
    """What changed from one text of a document to another."""
    documents = page.engine.documents
    info = documents.get(page.params["document"])
    older = page.number("from", max(info.version - 1, 1), info.version)
    newer = page.number("to", info.version, info.version)
    texts = [documents.earlier_text(info.id, version) for version in (older, newer)]
    lines = list(difference(*texts))
    return render_page(
        page,
        "versions.html",
        info=info,
        versions=[v for v in documents.versions(info.id) if v.is_kept],
        pair=(older, newer),
        lines=lines,
        changed=any(piece.kind in ("gone", "new") for line in lines for piece in line),
        cut=max(text.count("\n") for text in texts) >= MOST_LINES,
        most=MOST_LINES,
    )


def document(page: PageRequest) -> Response:
    """A document's passages with names and relations, and the texts that it has had."""
    engine = page.engine
    info = engine.documents.get(page.params["document"])
    chunks = engine.documents.chunks(info.id)
    number = page.number("page", 1, 1_000_000)
    shown = chunks[(number - 1) * CHUNKS : number * CHUNKS]
    known = page.may("graph_enhanced_search")
    stated = engine.store.chunk_relations([chunk.id for chunk in shown]) if known else []
    relations = stated[:RELATIONS]
    ends = sorted({e for r in relations for e in (r.from_entity_id, r.to_entity_id)})
    return render_page(
        page,
        "document.html",
        info=info,
        chunks=shown,
        segments=named_segments(engine, shown),
        relations=relations,
        names=engine.store.entity_names(ends),
        versions=engine.documents.versions(info.id),
        number=number,
        pages=-(-len(chunks) // CHUNKS),
        of_page=CHUNKS,
    )
