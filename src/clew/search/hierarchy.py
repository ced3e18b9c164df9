"""Hierarchies: the outline of documents, and chains of entities that a caller declares."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.search.answer.blocks import (
    Block,
    Form,
    RetrievalResult,
    after,
    cite_chunks,
    document_sections,
    sections_found,
    statement,
    trail,
)
from clew.search.channels import Ranking
from clew.search.features import min_max
from clew.search.options import Hierarchy, parse_hierarchy
from clew.search.question import SECTION_KIND, section_name
from clew.search.session import filtered_relations
from clew.text import question_terms, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.search.session import QuerySession
    from clew.types import Hit, Ids, Relation, StoredChunk


LAYERS = ("document", "section", "passage")
"""Layers of the outline that every store has."""
CANDIDATES = 30
"""Documents or sections compared as wholes, those of the nearest passages; entities tried."""
ITEMS = 5
"""Entities at the layer searched whose chains are followed."""
READ = 200
"""Entities of the nearest passages whose types are read."""
TYPES_SHOWN = 50
"""Relation types that an error names, at most."""
MAX_RELATIONS = 20
"""Relations followed from one entity at one step of a chain."""


# --- the outline -------------------------------------------------------------------------


def by_outline(session: QuerySession) -> RetrievalResult:
    """Passages of the item whose mean vector is nearest first, each with its chain up and down."""
    layer = session.options.layer
    if layer not in LAYERS:
        of_packs = map(parse_hierarchy, session.resources.preferences.hierarchies)
        known = (*LAYERS, *(one for hierarchy in of_packs for one in hierarchy.types))
        raise InputError(
            f"unknown layer {layer!r}; expected one of {', '.join(known)}, or declare a hierarchy"
            " of entity types, such as 'person -works_at-> organisation'"
        )
    nearest = session.channels.by_vector()
    if layer == "passage":
        return RetrievalResult(ranking=nearest, arrange=_chains)
    # All passages of the items that hold the nearest ones.
    store, items = session.resources.store, "document_id" if layer == "document" else "section_id"
    near = store.chunks(nearest.ids.tolist())
    wanted = list(dict.fromkeys(getattr(chunk, items) for chunk in near))[:CANDIDATES]
    chunks = store.document_chunks(*dict.fromkeys(chunk.document_id for chunk in near))
    members: dict[object, list[int]] = {item: [] for item in wanted}
    for chunk in chunks:
        if getattr(chunk, items) in members:
            members[getattr(chunk, items)].append(chunk.id)
    scored: list[tuple[float, float, int]] = []
    for own in members.values():
        ids = np.array(own, dtype=np.int64)
        ids = ids[session.allows(ids)]
        if len(ids):
            vectors = session.views.vectors.vectors(ids)
            mean = vectors.mean(axis=0)
            whole = float(mean @ session.vector) / (float(np.linalg.norm(mean)) or 1.0)
            cosines = (vectors @ session.vector).tolist()
            scored += [(-whole, -one, id_) for one, id_ in zip(cosines, ids.tolist(), strict=True)]
    scored.sort()
    ranking = Ranking(
        np.array([id_ for _, _, id_ in scored], dtype=np.int64),
        np.array([-whole for whole, _, _ in scored], dtype=np.float32),
    )
    return RetrievalResult(ranking=ranking, arrange=_chains)


def _chains(session: QuerySession, hits: Sequence[Hit]) -> list[Block]:
    """By section, under the outline of its document, in which it is marked."""
    blocks = []
    documents = dict.fromkeys(hit.chunk.document_id for hit in hits)
    sections = document_sections(session, *documents)
    for here, best, block in sections_found(session, hits):
        lines = [f"Outline of {best.title or best.source}:"]
        for section in (s for s in sections if s.document_id == best.document_id):
            name = " › ".join(section.headings) or f"section {section.ordinal + 1}"
            lines.append(f"{'→' if section.ordinal == here.ordinal else '-'} {name}")
        outline = "\n".join(dict.fromkeys(lines))
        forms = tuple(
            Form(text=f"{outline}\n\n{form.text}", citations=form.citations) for form in block.forms
        )
        blocks.append(replace(block, kind="hierarchy", forms=(*forms, *block.forms)))
    return blocks


# --- declared hierarchies ----------------------------------------------------------------


def declared(session: QuerySession) -> Hierarchy | None:
    """The hierarchy that is given, or the store's own that has the layer asked for."""
    if session.options.hierarchy:
        return parse_hierarchy(session.options.hierarchy)
    known = map(parse_hierarchy, session.resources.preferences.hierarchies)
    layer = session.options.layer
    return next((h for h in known if layer not in LAYERS and layer in h.types), None)


def by_hierarchy(session: QuerySession, hierarchy: Hierarchy) -> RetrievalResult:
    """The chains, up and down, of the entities of one layer that are nearest to the question."""
    store, wanted = session.resources.store, session.options.layer
    if wanted not in (*hierarchy.types, *LAYERS):
        raise InputError(
            f"the hierarchy has no layer {wanted!r}; expected one of {', '.join(hierarchy.types)}"
        )
    layer = hierarchy.types.index(wanted) if wanted in hierarchy.types else 0
    relations = _chains_through(session, hierarchy, layer)
    if not relations:
        known = [name for name, _, _ in store.relation_counts()]
        for step in hierarchy.steps if "hierarchy" in session.options.given else ():
            if known and step.relation_type not in known:
                raise InputError(
                    f"no relation is of the type {step.relation_type!r}; there are"
                    f" {', '.join(known[:TYPES_SHOWN])}"
                )
        session.note(
            f"no entity of type {hierarchy.types[layer]!r} near the question has the relations of"
            " the hierarchy; passages were found by meaning alone"
        )
        return RetrievalResult(ranking=session.channels.by_vector())
    stating = [relation.chunk_id for relation in relations if relation.chunk_id is not None]
    ids = np.array(stating, dtype=np.int64)
    chunks = store.chunks(stating)
    names = store.entity_names(
        sorted({id_ for r in relations for id_ in (r.from_entity_id, r.to_entity_id)})
    )
    lines = [
        f"- {statement(names.get(r.from_entity_id, '?'), r.relation_type, tail)}"
        for r in relations
        for tail in (names.get(r.to_entity_id, "?"),)
    ]
    form = Form(text="\n".join(dict.fromkeys(lines)), citations=cite_chunks(chunks))
    heading = trail(chunks[0]) if len(chunks) == 1 else "Hierarchy"
    block = Block(kind="hierarchy", heading=heading, forms=(form,))
    ranking = Ranking.in_order(ids[session.allows(ids)]).then(session.channels.by_vector())
    return RetrievalResult(ranking=ranking, arrange=after([block]))


def _chains_through(session: QuerySession, hierarchy: Hierarchy, layer: int) -> list[Relation]:
    """The relations of the chains through the layer's nearest entities that have any.

    Those are the ones that the question names; where none of them has a chain, those of the nearest
    passages. An entity of unknown type may be of any.
    """
    named = [seed.entity_id for seed in session.analysis.seeds]
    for candidates in (named, _near(session)):
        entities = session.resources.store.entities(candidates)
        wanted = (hierarchy.types[layer], "name")
        fitting = [e.id for e in entities if e.entity_type in wanted][:CANDIDATES]
        chains = (_follow(session, hierarchy, layer, entity) for entity in fitting)
        found = list(islice(filter(None, chains), ITEMS))
        if found:
            return list({relation.id: relation for chain in found for relation in chain}.values())
    return []


def _near(session: QuerySession) -> list[int]:
    """Ids of the entities of the nearest passages, by the squares of the passages' cosines."""
    snapshot, ranking = session.snapshot, session.channels.by_vector()
    known = snapshot.known(ranking.ids)
    entries, owner = snapshot.passage_entities.entries(snapshot.rows(ranking.ids[known]))
    entities = snapshot.passage_entities.items[entries]
    relevance = np.bincount(entities, weights=ranking.scores[known][owner] ** 2)
    best = np.argsort(-relevance, kind="stable")[: np.count_nonzero(relevance)]
    near: list[int] = snapshot.entity_ids[best[:READ]].tolist()
    return near


def _follow(
    session: QuerySession, hierarchy: Hierarchy, layer: int, entity_id: int
) -> list[Relation]:
    """The relations of the chain through an entity: down to the last layer, up to the first."""
    found: dict[int, Relation] = {}
    for steps in (
        [(step.relation_type, step.forward) for step in hierarchy.steps[layer:]],
        [(step.relation_type, not step.forward) for step in reversed(hierarchy.steps[:layer])],
    ):
        frontier = [entity_id]
        for wanted, forward in steps:
            known = session.resources.store.relations(frontier, as_of=session.options.as_of)
            ends = {
                one.id: (one.from_entity_id, one.to_entity_id)[:: 1 if forward else -1]
                for one in known
                if one.relation_type == wanted
            }
            relations = [
                one
                for one in filtered_relations(session, known)
                if one.id in ends and ends[one.id][0] in frontier
            ]
            limit = MAX_RELATIONS * len(frontier)
            if len(relations) > limit:
                session.note(f"only {limit} relations {wanted!r} were followed")
            found |= {one.id: one for one in relations[:limit]}
            frontier = list(dict.fromkeys(ends[one.id][1] for one in relations[:limit]))
            if not frontier:
                break
    return list(found.values())


# Parent-child retrieval: sections ranked by their matching chunks.


DECAY = 0.5
"""Each further child of a parent counts half as much as the one before."""


def rank_parents(session: QuerySession, children: Ranking) -> RetrievalResult:
    """The parents of the children, each at its best child.

    A child counts 0 (the furthest of those found) to 1 (the nearest): what all of them have in
    common with the question speaks for none. A parent scores its children's counts in falling order
    times 1, ½, ¼, …: several children that each say a part outweigh one that says a little more
    than either. Equal ones keep the order of their best children.
    """
    counts = dict(zip(children.ids.tolist(), min_max(children.scores).tolist(), strict=True))
    members: dict[int, list[int]] = {}
    for chunk in session.resources.store.chunks(list(counts)):
        members.setdefault(chunk.section_id, []).append(chunk.id)
    scores = {
        own[0]: sum(counts[id_] * DECAY**place for place, id_ in enumerate(own))
        for own in members.values()
    }
    order = sorted(scores, key=lambda child: -scores[child])
    values = np.array([scores[child] for child in order], dtype=np.float32)
    return RetrievalResult(
        ranking=Ranking(np.array(order, dtype=np.int64), values),
        matched={own[0]: tuple(own) for own in members.values()},
    )


# The section that a question names: by its number, or by what its heading says.


READ_ASKED_SECTION = 100
"""Passages with a number or a heading's words whose sections are looked at."""
LEADING = 5
"""Sections that come first, at most."""

_OF = re.compile(r" (?:of|in|from) ", re.IGNORECASE)


def asked_sections(session: QuerySession) -> Ids:
    """The first chunk of each section that the question names; those nearest to it first.

    A number opens the section, in its text or in the heading above it. Of a title, the heading has
    all words; those after "of" may name the document.
    """
    name = section_name(session.question)
    if name is None:
        return np.zeros(0, np.int64)
    found: list[StoredChunk] = []
    for said in dict.fromkeys([name.number or name.title, _OF.split(name.title)[0]]):
        opens = re.compile(
            rf"^[\W_]{{0,20}}(?:{SECTION_KIND} ?)?{re.escape(said)}(?![\w]|\.\w)",
            re.IGNORECASE | re.MULTILINE,
        )
        wanted = set(terms(said))
        words = terms(said) if name.number else question_terms(said, session.languages)
        chunks = _holding(session, words or [said.lower()])
        sections = session.sections(list(dict.fromkeys(chunk.section_id for chunk in chunks)))
        headings = {section.id: "".join(section.headings[-1:]) for section in sections}
        for chunk in chunks:
            heading = headings[chunk.section_id]
            named = opens.search(chunk.text) or opens.match(heading)
            if named if name.number else wanted and wanted <= set(terms(heading)):
                found.append(chunk)
        if found or name.number:
            break
    # A document that the question names goes before one that is like it, and that before others.
    by_vector, by_keyword = session.channels.both()
    ids = np.concatenate([by_keyword.ids, by_vector.ids]).tolist()
    near = [c.document_id for c in session.resources.store.chunks(list(dict.fromkeys(ids)))]
    nearness = {id_: place for place, id_ in reversed(list(enumerate(near)))}
    asked = set(terms(session.question))
    places = {
        chunk.id: (
            -len(asked & set(terms(f"{chunk.context} {chunk.source}"))),
            nearness.get(chunk.document_id, len(near)),
        )
        for chunk in found
    }
    first = {chunk.section_id: chunk.id for chunk in reversed(found)}
    in_order = dict.fromkeys(chunk.section_id for chunk in found)
    leading = sorted((first[section] for section in in_order), key=places.__getitem__)[:LEADING]
    return np.array(leading, dtype=np.int64)


def _holding(session: QuerySession, words: Sequence[str]) -> list[StoredChunk]:
    """Chunks with the words in a row, then other chunks with them, in order of the documents."""
    store = session.resources.store
    ids: dict[int, None] = {}
    for phrases in ([" ".join(words)], words):
        found, _ = store.search_keywords(phrases, READ_ASKED_SECTION, session.allowed)
        ids |= dict.fromkeys(found.tolist())
    return sorted(store.chunks(list(ids)), key=lambda chunk: (chunk.document_id, chunk.ordinal))
