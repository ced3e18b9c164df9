"""Hierarchies: the outline of documents, and chains of entities that a caller declares."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.search.analysis.question_patterns import SECTION_KIND, section_name
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
from clew.search.options import Hierarchy, parse_hierarchy
from clew.search.ranking.word_features import min_max
from clew.search.retrieval.channels import Ranking
from clew.search.retrieval.filters import filtered_relations
from clew.text import question_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clew.search.session import QuerySession
    from clew.types import Hit, Ids, Relation, StoredChunk, StoredSection


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
    """The documents, sections or passages nearest as wholes, each with its chain up and down."""
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
    members = _members(session, nearest, layer)
    return RetrievalResult(ranking=_by_whole(session, members), arrange=_chains)


def _members(session: QuerySession, nearest: Ranking, layer: str) -> list[list[StoredChunk]]:
    """The chunks of each of the nearest documents or sections, in order of the nearest child."""
    store = session.resources.store
    children = store.chunks(nearest.ids.tolist())
    wanted: dict[object, list[StoredChunk]] = {}
    for chunk in children:
        if len(wanted) < CANDIDATES:
            wanted.setdefault(_item(chunk, layer), [])
    chunks = store.document_chunks(*dict.fromkeys(chunk.document_id for chunk in children))
    allowed = session.allows(np.array([chunk.id for chunk in chunks], dtype=np.int64))
    for chunk, let in zip(chunks, allowed.tolist(), strict=True):
        if let and _item(chunk, layer) in wanted:
            wanted[_item(chunk, layer)].append(chunk)
    return [members for members in wanted.values() if members]


def _item(chunk: StoredChunk, layer: str) -> object:
    return chunk.document_id if layer == "document" else chunk.section_id


def _by_whole(session: QuerySession, members: Sequence[Sequence[StoredChunk]]) -> Ranking:
    """Passages of the item whose mean vector is nearest first, then of the next."""
    scored: list[tuple[float, int, float]] = []
    for chunks in members:
        ids = np.array([chunk.id for chunk in chunks], dtype=np.int64)
        vectors = session.views.vectors.vectors(ids)
        mean = vectors.mean(axis=0)
        whole = float(mean @ session.vector) / (float(np.linalg.norm(mean)) or 1.0)
        cosines = vectors @ session.vector
        scored += [
            (whole, id_, cosine) for id_, cosine in zip(ids.tolist(), cosines.tolist(), strict=True)
        ]
    scored.sort(key=lambda entry: (-entry[0], -entry[2], entry[1]))
    return Ranking(
        np.array([id_ for _, id_, _ in scored], dtype=np.int64),
        np.array([whole for whole, _, _ in scored], dtype=np.float32),
    )


def _chains(session: QuerySession, hits: Sequence[Hit]) -> list[Block]:
    """By section, under the outline of its document: what stands before and after it."""
    blocks = []
    documents = dict.fromkeys(hit.chunk.document_id for hit in hits)
    sections = document_sections(session, *documents)
    for section, best, block in sections_found(session, hits):
        outline = _outline(sections, best, section.ordinal)
        forms = tuple(
            Form(text=f"{outline}\n\n{form.text}", citations=form.citations) for form in block.forms
        )
        blocks.append(replace(block, kind="hierarchy", forms=(*forms, *block.forms)))
    return blocks


def _outline(sections: Sequence[StoredSection], chunk: StoredChunk, here: int) -> str:
    """The document's sections, of those given, as a list, the one at hand marked."""
    lines = [f"Outline of {chunk.title or chunk.source}:"]
    for section in (s for s in sections if s.document_id == chunk.document_id):
        name = " › ".join(section.headings) or f"section {section.ordinal + 1}"
        lines.append(f"{'→' if section.ordinal == here else '-'} {name}")
    return "\n".join(dict.fromkeys(lines))


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
    layer = _layer(session, hierarchy)
    lines = _chains_through(session, hierarchy, layer)
    if not lines:
        if "hierarchy" in session.options.given:
            # Raises `InputError` that names the types that there are, for one that no relation has.
            known = [name for name, _, _ in session.resources.store.relation_counts()]
            for step in hierarchy.steps:
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
    ids = np.array([line.chunk_id for line in lines if line.chunk_id is not None], dtype=np.int64)
    ranking = Ranking.in_order(ids[session.allows(ids)])
    block = _chain_block(session, lines)
    return RetrievalResult(
        ranking=ranking.then(session.channels.by_vector()), arrange=after([block])
    )


def _layer(session: QuerySession, hierarchy: Hierarchy) -> int:
    wanted = session.options.layer
    if wanted in hierarchy.types:
        return hierarchy.types.index(wanted)
    if wanted in LAYERS:
        return 0
    raise InputError(
        f"the hierarchy has no layer {wanted!r}; expected one of {', '.join(hierarchy.types)}"
    )


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
        [(step, step.forward) for step in hierarchy.steps[layer:]],
        [(step, not step.forward) for step in reversed(hierarchy.steps[:layer])],
    ):
        frontier = [entity_id]
        for step, forward in steps:
            relations = _follow_step(session, frontier, step.relation_type, forward)
            found |= {relation.id: relation for relation in relations}
            ends = [r.to_entity_id if forward else r.from_entity_id for r in relations]
            frontier = list(dict.fromkeys(ends))
            if not frontier:
                break
    return list(found.values())


def _follow_step(
    session: QuerySession, frontier: Sequence[int], relation_type: str, forward: bool
) -> list[Relation]:
    known = session.resources.store.relations(frontier, as_of=session.options.as_of)
    relations = filtered_relations(session, known)
    starts = set(frontier)
    fitting = [
        relation
        for relation in relations
        if relation.relation_type == relation_type
        and (relation.from_entity_id if forward else relation.to_entity_id) in starts
    ]
    limit = MAX_RELATIONS * len(frontier)
    if len(fitting) > limit:
        session.note(f"only {limit} relations {relation_type!r} were followed")
    return fitting[:limit]


def _chain_block(session: QuerySession, relations: Sequence[Relation]) -> Block:
    store = session.resources.store
    names = store.entity_names(
        sorted({id_ for r in relations for id_ in (r.from_entity_id, r.to_entity_id)})
    )
    chunks = store.chunks([r.chunk_id for r in relations if r.chunk_id is not None])
    heading = trail(chunks[0]) if len(chunks) == 1 else "Hierarchy"
    lines = [_line(relation, names) for relation in relations]
    form = Form(text="\n".join(dict.fromkeys(lines)), citations=cite_chunks(chunks))
    return Block(kind="hierarchy", heading=heading, forms=(form,))


def _line(relation: Relation, names: Mapping[int, str]) -> str:
    head, tail = names.get(relation.from_entity_id, "?"), names.get(relation.to_entity_id, "?")
    return f"- {statement(head, relation.relation_type, tail)}"


# Parent-child retrieval: sections ranked by their matching chunks.


DECAY = 0.5
"""Each further child of a parent counts half as much as the one before."""


def rank_parents(session: QuerySession, children: Ranking) -> RetrievalResult:
    """The parents of the children, each at its best child.

    A child counts 0 (the furthest of those found) to 1 (the nearest): what all of them have in
    common with the question speaks for none. A parent scores its children's counts in falling order
    times 1, ½, ¼, …: several children that each say a part outweigh one that says a little more
    than either.
    """
    clusters = _by_parent(session, children)
    best = {members[0][0]: members for members in clusters.values()}
    scores = {child: _score([score for _, score in members]) for child, members in best.items()}
    # Equal ones keep the order of their best children.
    order = sorted(scores, key=lambda child: -scores[child])
    return RetrievalResult(
        ranking=Ranking(
            np.array(order, dtype=np.int64),
            np.array([scores[child] for child in order], dtype=np.float32),
        ),
        matched={child: tuple(id_ for id_, _ in members) for child, members in best.items()},
    )


def _by_parent(session: QuerySession, children: Ranking) -> dict[int, list[tuple[int, float]]]:
    """(chunk id, score) of the children by their section, best first."""
    scores = dict(zip(children.ids.tolist(), min_max(children.scores).tolist(), strict=True))
    clusters: dict[int, list[tuple[int, float]]] = {}
    for chunk in session.resources.store.chunks(list(scores)):
        clusters.setdefault(chunk.section_id, []).append((chunk.id, scores[chunk.id]))
    return clusters


def _score(scores: list[float]) -> float:
    return sum(score * DECAY**place for place, score in enumerate(scores))


# The section that a question names: by its number, or by what its heading says.


READ_ASKED_SECTION = 100
"""Passages with a number or a heading's words whose sections are looked at."""
LEADING = 5
"""Sections that come first, at most."""

_OF = re.compile(r" (?:of|in|from) ", re.IGNORECASE)


def asked_sections(session: QuerySession) -> Ids:
    """The first chunk of each section that the question names; those nearest to it first."""
    name = section_name(session.question)
    if name is None:
        return np.zeros(0, np.int64)
    found = _by_number(session, name.number) if name.number else _by_title(session, name.title)
    first: dict[int, StoredChunk] = {}
    for chunk in found:
        first.setdefault(chunk.section_id, chunk)
    asked = set(terms(session.question))
    nearness = {id_: place for place, id_ in enumerate(_nearest(session))}

    def place(chunk: StoredChunk) -> tuple[int, int]:
        """A document that the question names goes before one that is like it."""
        named = len(asked & set(terms(f"{chunk.context} {chunk.source}")))
        return -named, nearness.get(chunk.document_id, len(nearness))

    leading = sorted(first.values(), key=place)[:LEADING]
    return np.array([chunk.id for chunk in leading], dtype=np.int64)


def _nearest(session: QuerySession) -> list[str]:
    """Documents in order of their best passage by words, then by meaning."""
    by_vector, by_keyword = session.channels.both()
    ids = np.concatenate([by_keyword.ids, by_vector.ids]).tolist()
    chunks = session.resources.store.chunks(list(dict.fromkeys(ids)))
    return list(dict.fromkeys(chunk.document_id for chunk in chunks))


def _by_number(session: QuerySession, number: str) -> list[StoredChunk]:
    """Chunks that open a section of this number, in the text or in the heading above them."""
    opens = re.compile(
        rf"^[\W_]{{0,20}}(?:{SECTION_KIND} ?)?{re.escape(number)}(?![\w]|\.\w)",
        re.IGNORECASE | re.MULTILINE,
    )
    chunks = list(_holding(session, terms(number) or [number.lower()]))
    headings = _headings(session, chunks)
    return [c for c in chunks if opens.search(c.text) or opens.match(headings[c.section_id])]


def _by_title(session: QuerySession, title: str) -> list[StoredChunk]:
    """Chunks below a heading with all these words; those after "of" may name the document."""
    for named in dict.fromkeys((title, _OF.split(title)[0])):
        wanted = set(terms(named))
        chunks = list(_holding(session, question_terms(named, session.languages)))
        headings = _headings(session, chunks)
        found = [c for c in chunks if wanted and wanted <= set(terms(headings[c.section_id]))]
        if found:
            return found
    return []


def _holding(session: QuerySession, words: Sequence[str]) -> Iterator[StoredChunk]:
    """Chunks with the words in a row, then other chunks with them, in order of the documents."""
    store = session.resources.store
    ids: list[int] = []
    for phrases in ([" ".join(words)], words):
        found, _ = store.search_keywords(
            [p for p in phrases if p], READ_ASKED_SECTION, session.allowed
        )
        ids += found.tolist()
    chunks = store.chunks(list(dict.fromkeys(ids)))
    yield from sorted(chunks, key=lambda chunk: (chunk.document_id, chunk.ordinal))


def _headings(session: QuerySession, chunks: Sequence[StoredChunk]) -> dict[int, str]:
    """The last heading above each section, by its id; empty where there is none."""
    sections = session.sections(list(dict.fromkeys(chunk.section_id for chunk in chunks)))
    return {section.id: section.headings[-1] if section.headings else "" for section in sections}
