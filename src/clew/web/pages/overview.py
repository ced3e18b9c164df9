"""The store at a glance: its communities, its time, its figures, what was changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.errors import NotFoundError
from clew.web.render import render_page
from clew.web.treemap import Rectangle, squarified

if TYPE_CHECKING:
    from starlette.responses import Response

    from clew.types import Community
    from clew.web.request import PageRequest

WIDTH, HEIGHT = 1000, 340
"""Of the treemap."""
LISTED = 60
"""Communities, moments and changes shown."""


@dataclass(frozen=True, slots=True)
class Field:
    """A community's place on the map."""

    community: Community
    place: Rectangle

    @property
    def title(self) -> str:
        """As much of the title as there is room for."""
        room = int(self.place.width / 8.2)
        title = self.community.title
        if self.place.height < 24 or room < 4:
            return ""
        return title if len(title) <= room else f"{title[: room - 1]}…"


def communities(page: PageRequest) -> Response:
    """A level's communities as a map and as a table."""
    engine = page.engine
    kept = engine.state.communities
    members = kept.members()
    levels = int(members[:, 1].max()) + 1 if len(members) else 0
    level = min(page.number("level", 1, 50), max(levels, 1)) - 1
    found = engine.graph.communities(level, LISTED) if levels else []
    found = sorted(found, key=lambda community: -community.size)
    places = squarified([float(community.size) for community in found], WIDTH, HEIGHT)
    return render_page(
        page,
        "communities.html",
        fields=[Field(*pair) for pair in zip(found, places, strict=True)],
        level=level,
        levels=levels,
        size=(WIDTH, HEIGHT),
        topics=engine.graph.topics(30) if levels else [],
    )


def community(page: PageRequest) -> Response:
    """A community's report, its entities, and where its sentences come from."""
    engine, wanted = page.engine, page.id("community")
    found = engine.state.communities.communities(ids=[wanted])
    if not found:
        raise NotFoundError(f"no community {wanted}; they change when documents do: look again")
    origins = engine.store.provenance(found[0].sources)
    sources = {origins[id_].document: origins[id_] for id_ in found[0].sources if id_ in origins}
    return render_page(page, "community.html", community=found[0], sources=sources.values())


def timeline(page: PageRequest) -> Response:
    """What is known of an entity or a question in order of time; else the documents by year."""
    engine, name, question = page.engine, page.text("name"), page.text("q")
    entries, note = [], ""
    if name:
        entity, note = engine.entities.match(name)
        entries = engine.graph.timeline(entity, limit=200)
    hits = engine.search(question, strategy="temporal", limit=30).hits if question else ()
    dated = [hit for hit in hits if hit.times and hit.times[0].start]
    years = Counter(info.created_at.year for info in engine.documents.list() if info.created_at)
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
        overview=engine.graph.statistics(8),
        model=engine.maintenance.language_model() if page.may("audit") else {},
        changes=page.engine.maintenance.audit(limit=LISTED) if page.may("audit") else [],
    )
