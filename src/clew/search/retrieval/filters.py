"""What filters let through beside passages: sections, ties, relations and names.

A filter is about passages. What is made of several of them (a section, a tie of the graph, a
report) is shown only as far as passages that are let through say it; what no passage says meets no
filter. Without filters everything is shown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clew.graph.entity_graph import EntityGraph
    from clew.search.session import QuerySession
    from clew.types import Relation, StoredSection


def whole_sections(session: QuerySession, sections: Iterable[StoredSection]) -> set[int]:
    """Ids of those sections of which every passage is let through."""
    given = list(sections)
    if session.allowed is None:
        return {section.id for section in given}
    shown = _sections_shown(session, *dict.fromkeys(section.document_id for section in given))
    return {section.id for section in given if shown.get(section.id, False)}


def document_sections(session: QuerySession, *document_ids: str) -> list[StoredSection]:
    """Those sections of documents, in order, of which some passage is let through."""
    sections = session.resources.store.document_sections(*document_ids)
    if session.allowed is None:
        return sections
    shown = _sections_shown(session, *document_ids)
    return [section for section in sections if section.id in shown]


def _sections_shown(session: QuerySession, *document_ids: str) -> dict[int, bool]:
    """By id of each section of which anything may be shown: whether all of it may."""
    chunks = session.resources.store.document_chunks(*document_ids)
    allowed = session.allows(np.array([chunk.id for chunk in chunks], dtype=np.int64))
    inside: dict[int, list[bool]] = {}
    for chunk, let in zip(chunks, allowed.tolist(), strict=True):
        inside.setdefault(chunk.section_id, []).append(let)
    return {section: all(let) for section, let in inside.items() if any(let)}


def permitted_graph(session: QuerySession) -> EntityGraph:
    """The graph of entities with those ties alone whose sentence is let through."""
    graph = session.resources.entity_graph
    if session.allowed is None:
        return graph
    kept = np.isin(graph.chunks, session.allowed)[graph.edges]
    before = np.concatenate([[0], np.cumsum(kept)])
    return replace(
        graph,
        starts=before[graph.starts],
        neighbours=graph.neighbours[kept],
        edges=graph.edges[kept],
    )


def permitted_relations(session: QuerySession, relations: Sequence[Relation]) -> list[Relation]:
    """Those relations that a passage states which is let through."""
    if session.allowed is None:
        return list(relations)
    stated = np.array([relation.chunk_id or 0 for relation in relations], dtype=np.int64)
    return [r for r, let in zip(relations, session.allows(stated).tolist(), strict=True) if let]


def permitted_entities(session: QuerySession, entity_ids: Sequence[int]) -> list[int]:
    """Those entities, in the order given, that a passage mentions which is let through."""
    if session.allowed is None:
        return list(entity_ids)
    snapshot = session.snapshot
    passages = session.allows(snapshot.chunk_ids)
    rows = snapshot.entity_rows(list(entity_ids))
    return [
        id_
        for id_ in entity_ids
        if id_ in rows and passages[snapshot.entity_passages.row(rows[id_])].any()
    ]
