"""Communities of entities, their reports and topics: brought up to the store's generation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.partition import changed_entities, partition, sums, touched
from clew.graph.snapshot import Adjacency, distinct, find_sorted
from clew.graph.topics import (
    _NO_TITLE,
    best_of_groups,
    is_symbolic,
    make_topics,
    mean_direction,
    title_of,
)
from clew.ports import CommunityChanges, CommunityReport, ReportBasis
from clew.text import terms
from clew.types import statement_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Ints, Snapshot
    from clew.ports import Partition, VectorIndex
    from clew.stores.communities import Communities
    from clew.stores.store import Store
    from clew.types import Ids, Relation

    Values = NDArray[np.float64]

# --- what a report should speak of -------------------------------------------------------

# Plans of community reports, made without reading a text: the entities and sentences to name.
#
# An entity is as central as its edges within the community are strong: there a random walk
# inside it spends its time. A sentence is worth the centrality of the entities that it names,
# over the square root of its length.

CENTRAL = 24
"""Entities that a report names, at most."""
RELATIONS = 8
"""Relations of a report, at most."""
_CANDIDATES = 20
"""Sentences that a report is chosen from."""
_SHORT = 8
"""Terms below which a sentence says little."""
_LONG = 80
"""Terms above which a sentence is a table or a list."""
_LEAST = np.finfo(np.float64).tiny


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """What is known of a level's communities without reading a text; places are theirs."""

    ids: Ids
    community: Ints
    """(E,) place of the community of each row of the entity graph; -1 for none."""
    centrality: Values
    """(E,) share of the strength within the community, 0 to 1."""
    entities: Adjacency
    """By community: its most central entities, rows of the entity graph."""
    sentences: Adjacency
    """By community: rows of sentences worth most."""
    relations: Adjacency
    """By community: ids of the strongest relations."""
    title_chunks: Ints
    """(communities,) id of a chunk of the document that most of it is about; 0 for none."""


def length_norm(counts: Ints) -> Values:
    """0 to 0.36 by a sentence's number of terms: n^-½, and less the fewer there are below 8."""
    return np.minimum(counts, _SHORT) / _SHORT / np.sqrt(np.maximum(counts, _SHORT))


def outline(snapshot: Snapshot, graph: EntityGraph, partition: Partition, ids: Ids) -> ReportPlan:
    """What reports of some communities of one level (ids, sorted) should speak of."""
    place, hit = find_sorted(ids, partition.members[:, 0])
    community = np.full(len(graph.entity_ids), -1, dtype=np.int64)
    rows, known = find_sorted(graph.entity_ids, partition.members[hit, 1])
    community[rows[known]] = place[hit][known]
    heads = np.repeat(np.arange(len(graph.entity_ids)), np.diff(graph.starts))
    inside = np.flatnonzero(
        (community[heads] == community[graph.neighbours]) & (community[heads] >= 0)
    )
    member = np.flatnonzero(community >= 0)
    strengths = graph.strengths[graph.edges[inside]].astype(np.float64)
    strength = sums(heads[inside], strengths, len(community))
    totals = sums(community[member], strength[member], len(ids))
    centrality = np.zeros(len(community))
    centrality[member] = strength[member] / np.maximum(totals[community[member]], _LEAST)
    # The edges that relations state, once each.
    stated = inside[heads[inside] < graph.neighbours[inside]]
    stated = stated[graph.relations[graph.edges[stated]] > 0]
    edges = graph.edges[stated]
    tied = best_of_groups(community[heads[stated]], graph.strengths[edges], len(ids), RELATIONS)
    best = best_of_groups(community[member], centrality[member], len(ids), CENTRAL)
    # Rows of sentences and, of the entity graph, what each names; contexts left out.
    spoken = np.repeat(np.arange(snapshot.sentences), np.diff(snapshot.sentence_entities.starts))
    rows, known = find_sorted(graph.entity_ids, snapshot.entity_ids)
    entity = rows[snapshot.sentence_entities.items]
    context = snapshot.sentence_starts[snapshot.sentence_chunk[spoken]] == spoken
    kept = known[snapshot.sentence_entities.items] & ~context
    mentions = spoken[kept], entity[kept]
    return ReportPlan(
        ids=ids,
        community=community,
        centrality=centrality,
        entities=Adjacency(best.starts, member[best.items]),
        sentences=_best_sentences(snapshot, mentions, community, centrality, len(ids)),
        relations=Adjacency(tied.starts, graph.relations[edges[tied.items]]),
        title_chunks=_title_chunks(snapshot, mentions, community, len(ids)),
    )


def _best_sentences(
    snapshot: Snapshot,
    mentions: tuple[Ints, Ints],
    community: Ints,
    centrality: Values,
    size: int,
) -> Adjacency:
    sentence, entity = mentions
    counts = snapshot.columns.term_counts
    kept = (community[entity] >= 0) & (counts[sentence] <= _LONG)
    codes = community[entity[kept]] * snapshot.sentences + sentence[kept]
    pairs = distinct(codes)
    worth = sums(np.searchsorted(pairs, codes), centrality[entity[kept]], len(pairs))
    of, row = np.divmod(pairs, max(snapshot.sentences, 1))
    worth = worth * length_norm(counts[row])
    best = best_of_groups(of, worth, size, _CANDIDATES)
    return Adjacency(best.starts, row[best.items])


def _title_chunks(
    snapshot: Snapshot, mentions: tuple[Ints, Ints], community: Ints, size: int
) -> Ints:
    """A chunk of the document that has most of a community's mentions, and most of whose it has."""
    sentence, entity = mentions
    _, first, document = np.unique(
        snapshot.columns.documents, return_index=True, return_inverse=True
    )
    of = document[snapshot.sentence_chunk[sentence]]
    place = community[entity]
    in_document = np.bincount(of, minlength=len(first))
    inside = place >= 0
    in_community = np.bincount(place[inside], minlength=size)
    pairs, counts = np.unique(place[inside] * max(len(first), 1) + of[inside], return_counts=True)
    which, where = np.divmod(pairs, max(len(first), 1))
    most = (2 * counts > in_community[which]) & (2 * counts > in_document[where])
    found = np.zeros(size, dtype=np.int64)
    found[which[most]] = snapshot.chunk_ids[first[where[most]]]
    return found


# --- reports -----------------------------------------------------------------------------

# Extractive reports of communities: made of the texts' own sentences and of stated relations.
#
# Sentences are taken greedily by what they are worth, what an earlier one named counting half
# (coverage with diminishing returns, Lin & Bilmes 2011), and none that repeats another.


SENTENCES = 5
"""Sentences of a report, at most."""
_SAME = 0.6
"""Share of their terms (Jaccard) from which on two sentences say the same."""
_HEADING = "#"
"""What headings begin with in Markdown, and in the texts that readers make."""
_SENTENCE = re.compile(r"[\"“‘(]?[^\W_].*[.!?…。\uff01\uff1f][\"”’)]?", re.DOTALL)
_NO_PROSE = re.compile(
    r"[|+]--|--[|+]|[\u2500-\u259f]|\| |[{}]|[-=_*~^.]{4}|\"\"\"|'{3}|\w\(\);"
    r"|\b(?:def|class|func|fn|impl|struct|void) \w{1,60} ?[(:<]"
)
"""Tables, boxes, rules and code."""
_HEADER = re.compile(r"[A-Z][\w-]{1,30}: \S")
"""A field or the header of a message."""
_LONGEST_NAME = 60
"""Characters of what may be a name; the title of a document may be longer."""
_BATCH = 500
"""Communities that are read at once."""


class ReportMaker:
    """Makes reports from one state of a store."""

    def __init__(
        self, store: Store, vectors: VectorIndex, snapshot: Snapshot, graph: EntityGraph
    ) -> None:
        self.store, self.vectors, self.snapshot, self.graph = store, vectors, snapshot, graph
        self.present = store.chunk_ids()
        """Ids of the chunks that the store holds, sorted."""
        self.relations = store.relation_rows()

    def reports(self, partition: Partition, community_ids: Ids) -> Iterator[CommunityReport]:
        """Reports of the communities given (ids), level by level; texts are read in batches.

        A community without a sentence in the store has none.
        """
        for level in distinct(partition.levels):
            ids = np.intersect1d(community_ids, partition.ids[partition.levels == level])
            lines = outline(self.snapshot, self.graph, partition, ids)
            for start in range(0, len(ids), _BATCH):
                places = np.arange(start, min(start + _BATCH, len(ids)))
                texts = self._read(lines, places)
                for place in places.tolist():
                    sentences = self._sentences(lines, texts, place)
                    # More than one sentence ties it together, or something stated does.
                    tied = len(lines.sentences.row(place)) > 1 or lines.relations.row(place).size
                    if sentences and tied:
                        yield self._report(lines, texts, place, sentences)

    def _read(self, lines: ReportPlan, places: Ints) -> _Texts:
        wanted = lines.sentences.items[lines.sentences.entries(places)[0]]
        chunks = distinct(self.snapshot.chunk_ids[self.snapshot.sentence_chunk[wanted]])
        chunks = chunks[find_sorted(self.present, chunks)[1]]
        stated = lines.relations.items[lines.relations.entries(places)[0]]
        place, known = find_sorted(self.relations.ids, stated)
        said = distinct(self.relations.chunks[place[known]])
        found = self.store.chunk_relations(said[said > 0].tolist())
        relations = {relation.id: relation for relation in found}
        central = lines.entities.items[lines.entities.entries(places)[0]]
        ends = [e for r in relations.values() for e in (r.from_entity_id, r.to_entity_id)]
        titled = self.store.chunks(distinct(lines.title_chunks[places]).tolist())
        return _Texts(
            sentences=self.store.sentences(chunks.tolist()),
            titles={chunk.id: chunk.title for chunk in titled},
            relations=relations,
            names=self.store.entity_names([*self.graph.entity_ids[central].tolist(), *ends]),
        )

    def _sentences(self, lines: ReportPlan, texts: _Texts, place: int) -> list[tuple[int, str]]:
        """(chunk id, text) of the sentences that a report is made of, the best first."""
        candidates = []
        for row in lines.sentences.row(place).tolist():
            chunk = int(self.snapshot.sentence_chunk[row])
            chunk_id = int(self.snapshot.chunk_ids[chunk])
            if chunk_id in texts.sentences:
                number = row - int(self.snapshot.sentence_starts[chunk]) - 1
                text = " ".join(texts.sentences[chunk_id][number].split())
                candidates.append(Candidate(chunk_id, text, self._named(lines, row, place)))
        # Headings name much and say nothing; they are taken where there is nothing else.
        prose = [c for c in candidates if is_sentence(c.text)]
        if candidates and not prose and lines.relations.row(place).size:
            return [(candidates[0].chunk_id, "")]  # what is stated of them tells enough
        # What can be read aloud, though it may be no whole sentence.
        prose = prose or [
            c
            for c in candidates
            if not (c.text.startswith(_HEADING) or _HEADER.match(c.text))
            if not (_NO_PROSE.search(c.text) or is_symbolic(c.text))
        ]
        chosen = choose(prose or candidates)
        # The best tells what it is about; the others go on in the order of the texts.
        chosen[1:] = sorted(chosen[1:], key=lambda c: (c.chunk_id, candidates.index(c)))
        return [(c.chunk_id, c.text.lstrip(f"{_HEADING} ")) for c in chosen]

    def _named(self, lines: ReportPlan, row: int, place: int) -> dict[int, float]:
        """Centrality of the community's entities that a row of sentences names."""
        rows = self.snapshot.sentence_entities.row(row)
        found, known = find_sorted(self.graph.entity_ids, self.snapshot.entity_ids[rows])
        members = found[known]
        members = members[lines.community[members] == place]
        return dict(zip(members.tolist(), lines.centrality[members].tolist(), strict=True))

    def _report(
        self, lines: ReportPlan, texts: _Texts, place: int, sentences: Sequence[tuple[int, str]]
    ) -> CommunityReport:
        central = self.graph.entity_ids[lines.entities.row(place)].tolist()
        central = [entity for entity in central if entity in texts.names]
        names = tuple(texts.names[entity] for entity in central)
        sources = tuple(dict.fromkeys(chunk for chunk, _ in sentences))
        said = " ".join(statement_text(text) for _, text in sentences if text)
        title = texts.titles.get(int(lines.title_chunks[place]), "")
        title = "" if _NO_TITLE.match(title) and len(title) < _LONGEST_NAME else title
        ties = []
        for id_ in lines.relations.row(place).tolist():
            relation = texts.relations.get(id_)
            head = relation and texts.names.get(relation.from_entity_id)
            tail = relation and texts.names.get(relation.to_entity_id)
            if relation and head and tail:
                ties.append(f"- {head} — {relation.relation_type} → {tail}")
        return CommunityReport(
            community_id=int(lines.ids[place]),
            title=title or title_of(names),
            summary="\n".join([*filter(None, [said]), *dict.fromkeys(ties)]),
            basis=ReportBasis(entity_ids=tuple(central), entities=names, sources=sources),
            vector=mean_direction(self.vectors.vectors(sources)),
        )


@dataclass(frozen=True, slots=True)
class _Texts:
    """What is read for some communities."""

    sentences: Mapping[int, Sequence[str]]
    """By chunk id."""
    titles: Mapping[int, str]
    """Of its document, by chunk id."""
    relations: Mapping[int, Relation]
    names: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that a report may take."""

    chunk_id: int
    text: str
    named: Mapping[int, float]
    """Centrality by entity that it names."""


def choose(candidates: Sequence[Candidate]) -> list[Candidate]:
    """At most `SENTENCES`, the best first; ties go to the one given first."""
    weights: dict[int, float] = {}
    for candidate in candidates:
        weights |= candidate.named
    words = [terms(candidate.text) for candidate in candidates]
    norms = length_norm(np.array([len(found) for found in words], dtype=np.int64)).tolist()
    sets = [set(found) for found in words]

    def worth(place: int) -> float:
        return float(norms[place] * sum(weights[entity] for entity in candidates[place].named))

    left = list(range(len(candidates)))
    chosen: list[Candidate] = []
    while left and len(chosen) < SENTENCES:
        best = max(left, key=worth)
        chosen.append(candidates[best])
        weights |= {entity: weights[entity] / 2 for entity in candidates[best].named}
        # What shares most of its terms with the best says the same (Jaccard).
        left = [p for p in left if len(sets[p] & sets[best]) < _SAME * len(sets[p] | sets[best])]
    return chosen


def is_sentence(text: str) -> bool:
    """Whether a text is a whole sentence of prose: no heading, entry of a list, table or box."""
    is_whole = bool(_SENTENCE.fullmatch(text)) and _NO_PROSE.search(text) is None
    return is_whole and not is_symbolic(text)


# --- refreshing --------------------------------------------------------------------------


MIN_SIZE = 3
"""Entities of a community that has a report."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Counts of what was computed again."""

    communities: int = 0
    """New ones."""
    reports: int = 0
    topics: int = 0


def refresh_communities(
    store: Store,
    communities: Communities,
    snapshot: Snapshot,
    graph: EntityGraph,
    vectors: VectorIndex,
    progress: Callable[[str], None] | None = None,
) -> Changed:
    """Compute again what changed since `communities.generation()`, and keep it in one transaction.

    `snapshot` and `graph` are of one generation, which is what `generation` says afterwards. Where
    another process was faster, its result is kept or brought further. `progress` is called with
    the name of each step.
    """
    say = progress or (lambda step: None)
    while True:
        with store.reading():
            if communities.generation() == snapshot.generation:
                return Changed()
            say("communities")
            previous = communities.partition()
            now = partition(graph, previous)
            say("reports")
            maker = ReportMaker(store, vectors, snapshot, graph)
            outdated = _outdated(store, communities)
            reports = list(maker.reports(now, _without_report(graph, previous, now, outdated)))
            say("topics")
            topics = make_topics(store, vectors, snapshot)
            changes = CommunityChanges(
                expected=communities.generation(),
                generation=snapshot.generation,
                partition=now,
                reports=reports,
                topics=topics,
            )
        say("save")
        if communities.write(changes):
            new = now.ids if previous is None else np.setdiff1d(now.ids, previous.ids)
            return Changed(len(new), len(reports), len(topics.keys))


def _without_report(
    graph: EntityGraph, previous: Partition | None, now: Partition, outdated: list[int]
) -> Ids:
    """Ids of the communities whose report is missing or out of date."""
    first = np.searchsorted(now.members[:, 0], now.ids)
    large = np.diff(np.append(first, len(now.members))) >= MIN_SIZE
    if previous is None:
        return now.ids[large]
    changed = touched(now, changed_entities(graph, previous))
    new = ~find_sorted(previous.ids, now.ids)[1]
    return now.ids[large & (changed | new | np.isin(now.ids, outdated))]


def _outdated(store: Store, communities: Communities) -> list[int]:
    """Communities whose report speaks of chunks or names that are no more."""
    bases = communities.report_bases()
    present = set(store.chunk_ids().tolist())
    entities = {entity for basis in bases.values() for entity in basis.entity_ids}
    names = store.entity_names(sorted(entities))

    def holds(basis: ReportBasis) -> bool:
        shown = tuple(names.get(entity) for entity in basis.entity_ids)
        return shown == basis.entities and present.issuperset(basis.sources)

    return [id_ for id_, basis in bases.items() if not holds(basis)]
