"""The store at a glance: its communities, its time, its figures, what was changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from clew.errors import NotFoundError
from clew.web.pages.changes import changes
from clew.web.render import render_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from clew.types import DocumentInfo
    from clew.web.request import PageRequest

LISTED = 60
"""Communities, moments and changes shown."""
PERIODS = 31
"""Days or months of the store's growth."""


@dataclass(frozen=True, slots=True)
class Period:
    """A day or a month of the store's growth."""

    name: str
    documents: int
    passages: int
    total: int
    """Passages there were at its end."""


def communities(page: PageRequest) -> Response:
    """The communities of a level, the largest first."""
    engine = page.engine
    kept = engine.state.communities
    members = kept.members()
    levels = int(members[:, 1].max()) + 1 if len(members) else 0
    level = min(page.number("level", 1, 50), max(levels, 1)) - 1
    found = engine.graph.communities(level, LISTED) if levels else []
    return render_page(
        page,
        "communities.html",
        communities=sorted(found, key=lambda community: -community.size),
        level=level,
        levels=levels,
        topics=engine.graph.topics(30) if levels else [],
    )


def community(page: PageRequest) -> Response:
    """A community's report, its entities, and where its sentences come from."""
    engine, wanted = page.engine, page.id("community")
    found = engine.state.communities.communities(ids=[wanted])
    if not found:
        raise NotFoundError(f"no community {wanted}; they change when documents do: look again")
    origins = engine.store.provenance(found[0].sources)
    sources = [origins[id_] for id_ in found[0].sources if id_ in origins]
    return render_page(page, "community.html", community=found[0], sources=sources)


def timeline(page: PageRequest) -> Response:
    """What is known of an entity or a question in order of time; else the documents by year."""
    engine, name, question = page.engine, page.text("name"), page.text("q")
    if question:
        page.need("query_documents")
    listed = engine.documents.list() if page.may("list_documents") else []
    entries, note = [], ""
    if name:
        entity, note = engine.entities.match(name)
        entries = engine.graph.timeline(entity, limit=200)
    hits = engine.search(question, strategy="temporal", limit=30).hits if question else ()
    dated = [hit for hit in hits if hit.times and hit.times[0].start]
    years = Counter(info.created_at.year for info in listed if info.created_at)
    return render_page(
        page,
        "timeline.html",
        name=name,
        question=question,
        entries=entries,
        note=note,
        hits=sorted(dated, key=lambda hit: str(hit.times[0].start)),
        years=sorted(years.items()),
        most=max(years.values(), default=1),
    )


def statistics(page: PageRequest) -> Response:
    """Counts, the graph's hubs and weak places, what models cost, what was changed."""
    engine = page.engine
    return render_page(
        page,
        "statistics.html",
        counts={
            name: value
            for name, value in engine.maintenance.stats().items()
            if isinstance(value, int | str)
        },
        relations=engine.store.relation_counts()[:20],
        growth=growth(engine.documents.list()),
        overview=engine.graph.statistics(8 if page.may("entity_importance") else 0),
        model=engine.maintenance.language_model() if page.may("audit") else {},
        undoable={change.id: change for change in changes(page)},
        changes=page.engine.maintenance.audit(limit=LISTED) if page.may("audit") else [],
    )


def growth(documents: Sequence[DocumentInfo]) -> list[Period]:
    """When what is held was indexed: by day, or by month where there are more than `PERIODS` days.

    The last `PERIODS` of them; what came before counts in the totals.
    """
    for length in (len("2026-01-31"), len("2026-01")):
        added: dict[str, tuple[int, int]] = {}
        for info in documents:
            name = info.indexed_at.isoformat()[:length]
            number, passages = added.get(name, (0, 0))
            added[name] = number + 1, passages + info.chunks
        if len(added) <= PERIODS:
            break
    totals = accumulate(passages for _, (_, passages) in sorted(added.items()))
    rows = zip(sorted(added.items()), totals, strict=True)
    return [Period(name, *counts, total) for (name, counts), total in rows][-PERIODS:]
