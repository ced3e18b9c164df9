"""Entities: the most important ones, and one with all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse

from clew.search.answer.explain import read_relations
from clew.types import current_first
from clew.web.pages.changes import changes
from clew.web.render import render_page

if TYPE_CHECKING:
    from starlette.responses import Response

    from clew.types import Entity, Relation, RelationEvidence, Standing
    from clew.web.request import PageRequest

LISTED = 100
"""Entities of the list."""
NEARBY = 60
"""Entities of the picture, at most."""
RELATIONS, PASSAGES, MOMENTS = 100, 20, 60
"""Relations, passages and entries of the timeline that are shown, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownRelation:
    """A relation with its sentence and the entity at its other end."""

    relation: Relation
    evidence: RelationEvidence
    standing: Standing
    outward: bool
    other_id: int
    other: str


def entities(page: PageRequest) -> Response:
    """What the name stands for, or the list."""
    wanted = page.text("name")
    found = page.engine.entities.find(wanted, LISTED) if wanted else most_important(page, LISTED)
    return render_page(page, "entities.html", entities=found, wanted=wanted)


def named(page: PageRequest) -> Response:
    """To the entity of a name."""
    entity = page.engine.entities.get(page.text("name"))
    return RedirectResponse(page.url(f"entities/{entity.id}"), 303)


def entity(page: PageRequest) -> Response:
    """Names and why they are, relations with their sentences, passages, time."""
    engine = page.engine
    found = engine.entities.get(str(page.id("entity")))
    told = changes(page, found.id)
    chunks = (
        engine.store.entity_chunks(found.id)[:PASSAGES] if page.may("query_documents") else None
    )
    ranked = engine.graph.importance([found.name], limit=1)
    return render_page(
        page,
        "entity.html",
        entity=found,
        ranked=ranked[0] if ranked else None,
        aliases=engine.entities.aliases(found),
        relations=shown_relations(page, found),
        done=[change for change in told if str(change.id) == page.text("change")],
        changes=[change for change in told if str(change.id) != page.text("change")],
        passages=None if chunks is None else engine.store.chunks(chunks.tolist()),
        timeline=engine.graph.timeline(found, limit=MOMENTS) if page.may("entity_timeline") else [],
        graph_data=page.url("/api/v1/graph", entities=found.id, limit=NEARBY),
        graph_page=page.url("graph", entities=found.id),
    )


def _fact(relation: Relation) -> tuple[int, str, int]:
    return relation.from_entity_id, relation.relation_type, relation.to_entity_id


def shown_relations(page: PageRequest, entity: Entity) -> list[ShownRelation]:
    """An entity's relations: those that hold, then the others, the heaviest of each first.

    Each period once; what was stated by hand stands for what texts say of the same fact.
    """
    store, now = page.engine.store, page.engine.state.now()
    found = store.relations([entity.id], RELATIONS)
    by_hand = {_fact(one) for one in found if one.extractor == "manual"}
    periods: dict[object, Relation] = {}
    for one in found:
        if one.extractor == "manual" or _fact(one) not in by_hand:
            periods.setdefault((_fact(one), one.valid_from, one.valid_until), one)
    relations = current_first(list(periods.values()), now)
    ends = {e for r in relations for e in (r.from_entity_id, r.to_entity_id)}
    names = store.entity_names(sorted(ends))
    shown = []
    for relation, evidence in zip(relations, read_relations(store, relations), strict=True):
        outward = relation.from_entity_id == entity.id
        other = relation.to_entity_id if outward else relation.from_entity_id
        shown.append(
            ShownRelation(
                relation=relation,
                evidence=evidence,
                standing=relation.standing(now),
                outward=outward,
                other_id=other,
                other=names.get(other, "?"),
            )
        )
    return shown


def most_important(page: PageRequest, limit: int) -> list[Entity]:
    """The most important entities; none where the caller may not ask for these."""
    if not page.may("entity_importance"):
        return []
    return [ranked.entity for ranked in page.engine.graph.importance(limit=limit)]
