"""Extractive reports of communities: made of the texts' own sentences and of stated relations.

Sentences are taken greedily by what they are worth, what an earlier one named counting half
(coverage with diminishing returns, Lin & Bilmes 2011), and none that repeats another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from clew.graph.communities.phrases import FILLERS
from clew.graph.communities.report_plans import length_norm, outline
from clew.graph.snapshot_columns import distinct, find_sorted
from clew.ports import CommunityReport, GraphStore, PassageStore, ReportBasis, SnapshotSource
from clew.text import STOP_WORDS, terms
from clew.types.answers import statement_text
from clew.word_lists import english_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clew.graph.communities.report_plans import ReportPlan
    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Ints, Snapshot
    from clew.ports import Partition, RelationRows, VectorIndex
    from clew.types import Ids, Relation, Vector, Vectors

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
_SYMBOLS = re.compile(r"[{}();=<>_/*#|\\\[\]]")
_MOST_SYMBOLS = 0.06
"""Share of a text's characters from which on it is code or a table rather than prose."""
_TITLE_NAMES = 3
_NO_TITLE = re.compile(
    r"[\W\d_]*\Z|\S+@\S+\Z|__\w+__\Z|.*[:?]\Z|.{60}|(?:\S+\s+){6}|(?:re|fwd?|aw|tr|rv|i):\s"
    r"|\S+\.(?:rst|txt|md|x?html?|log|eml|mbox|docx?|pdf|epub)(?:\.\w{2,4})?\Z",
    re.DOTALL | re.IGNORECASE,
)
"""Numbers, marks, addresses, methods that every class has, labels, questions, whole sentences,
replies, and files of text, whose names say less than what they are about."""
_LONGEST_NAME = 60
"""Characters of what may be a name; the title of a document may be longer."""
_BATCH = 500
"""Communities that are read at once."""


class ReportStore(PassageStore, GraphStore, SnapshotSource, Protocol):
    """What reports are read from."""


@dataclass(frozen=True, slots=True)
class ReportMaker:
    """Makes reports from one state of a store."""

    store: ReportStore
    vectors: VectorIndex
    snapshot: Snapshot
    graph: EntityGraph
    present: Ids
    """Ids of the chunks that the store holds, sorted."""
    relations: RelationRows

    @classmethod
    def of(
        cls, store: ReportStore, vectors: VectorIndex, snapshot: Snapshot, graph: EntityGraph
    ) -> ReportMaker:
        """Of the store as it stands."""
        return cls(store, vectors, snapshot, graph, store.chunk_ids(), store.relation_rows())

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
                    if sentences and self._is_one(lines, place):
                        yield self._report(lines, texts, place, sentences)

    def _read(self, lines: ReportPlan, places: Ints) -> _Texts:
        wanted = lines.sentences.items[lines.sentences.entries(places)[0]]
        chunks = distinct(self.snapshot.chunk_ids[self.snapshot.sentence_chunk[wanted]])
        chunks = chunks[find_sorted(self.present, chunks)[1]]
        relations = self._relations(lines.relations.items[lines.relations.entries(places)[0]])
        central = lines.entities.items[lines.entities.entries(places)[0]]
        ends = [e for r in relations.values() for e in (r.from_entity_id, r.to_entity_id)]
        titled = self.store.chunks(distinct(lines.title_chunks[places]).tolist())
        return _Texts(
            sentences=self.store.sentences(chunks.tolist()),
            titles={chunk.id: chunk.title for chunk in titled},
            relations=relations,
            names=self.store.entity_names([*self.graph.entity_ids[central].tolist(), *ends]),
        )

    def _relations(self, ids: Ids) -> dict[int, Relation]:
        place, known = find_sorted(self.relations.ids, ids)
        chunks = distinct(self.relations.chunks[place[known]])
        found = self.store.chunk_relations(chunks[chunks > 0].tolist())
        return {relation.id: relation for relation in found}

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
        prose = prose or [c for c in candidates if _is_readable(c.text)]
        chosen = choose(prose or candidates)
        # The best tells what it is about; the others go on in the order of the texts.
        chosen[1:] = sorted(chosen[1:], key=lambda c: (c.chunk_id, candidates.index(c)))
        return [(c.chunk_id, c.text.lstrip(f"{_HEADING} ")) for c in chosen]

    def _is_one(self, lines: ReportPlan, place: int) -> bool:
        """Whether more than one sentence ties the community together, or something stated does."""
        return len(lines.sentences.row(place)) > 1 or len(lines.relations.row(place)) > 0

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
        return CommunityReport(
            community_id=int(lines.ids[place]),
            title=title or title_of(names),
            summary="\n".join(
                [
                    *([said] if said else []),
                    *texts.relation_lines(lines.relations.row(place).tolist()),
                ]
            ),
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

    def relation_lines(self, ids: Sequence[int]) -> list[str]:
        """`- head — type → tail` of those that are known, each once."""
        lines = []
        for relation in (self.relations[id_] for id_ in ids if id_ in self.relations):
            head = self.names.get(relation.from_entity_id)
            tail = self.names.get(relation.to_entity_id)
            if head and tail:
                lines.append(f"- {head} — {relation.relation_type} → {tail}")
        return list(dict.fromkeys(lines))


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
    left = [_Weighed(candidate, terms(candidate.text)) for candidate in candidates]
    chosen: list[Candidate] = []
    while left and len(chosen) < SENTENCES:
        best = max(left, key=lambda item: item.worth(weights))
        chosen.append(best.candidate)
        weights |= {entity: weights[entity] / 2 for entity in best.candidate.named}
        left = [item for item in left if not item.repeats(best)]
    return chosen


class _Weighed:
    """A candidate with what comparing it takes."""

    def __init__(self, candidate: Candidate, words: Sequence[str]) -> None:
        self.candidate = candidate
        self._norm = float(length_norm(np.array(len(words))))
        self._words = set(words)

    def worth(self, weights: Mapping[int, float]) -> float:
        return self._norm * sum(weights[entity] for entity in self.candidate.named)

    def repeats(self, other: _Weighed) -> bool:
        """Whether they share most of their terms (Jaccard)."""
        return len(self._words & other._words) >= _SAME * len(self._words | other._words)


def is_sentence(text: str) -> bool:
    """Whether a text is a whole sentence of prose: no heading, entry of a list, table or box."""
    is_whole = bool(_SENTENCE.fullmatch(text)) and _NO_PROSE.search(text) is None
    return is_whole and not is_symbolic(text)


def _is_readable(text: str) -> bool:
    """Whether a text can be read aloud, though it may be no whole sentence."""
    is_marked = text.startswith(_HEADING) or _HEADER.match(text) or _NO_PROSE.search(text)
    return not is_marked and not is_symbolic(text)


def is_symbolic(text: str) -> bool:
    """Whether a text is code, or a table, rather than prose in any language."""
    return len(_SYMBOLS.findall(text)) > _MOST_SYMBOLS * len(text)


def title_of(names: Sequence[str]) -> str:
    """What to call those that are named so, the most central first.

    No name that says again what another one does: of "Debian" and "Debian Project", of "package"
    and "packages", the first one is taken.
    """
    chosen: list[str] = []
    for name in names:
        if len(chosen) == _TITLE_NAMES:
            break
        key = set(terms(name))
        said = [set(terms(other)) for other in chosen]
        if is_telling(name) and not any(key <= s or s <= key for s in said):
            chosen.append(" ".join(name.split()))
    return listed(chosen or names[:1])


def is_telling(name: str) -> bool:
    """Whether a name tells a reader what is named: no mark, no file, no ordinary word ("file")."""
    word = name.casefold()
    ordinary = {word, word.removesuffix("s")} & (english_words() | FILLERS | STOP_WORDS)
    return not ordinary and _NO_TITLE.match(name) is None


def mean_direction(vectors: Vectors) -> Vector:
    """(dim,) unit length; of vectors that cancel out, the first."""
    total = vectors.sum(axis=0, dtype=np.float64)
    length = np.linalg.norm(total)
    return (total / length).astype(np.float32) if length > 1e-6 else vectors[0]


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: `A`, `A and B`, `A, B and C`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
