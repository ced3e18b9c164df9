"""Entities and relations that an assistant extracted from passages: validated against the text.

A name must occur in one of the passages or in the store; a relation is assigned to the passage and
the sentence that names its ends. Whatever fails is reported, the rest is stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.errors import InputError, NotFoundError
from clew.indexing.manual_graph import LONGEST_NAME, check_share, check_type, snake_case
from clew.indexing.ner.scripts.caseless_ner import has_caseless
from clew.text import entity_key, terms
from clew.types import ChunkExtraction, ExtractedRelation, Extraction, Mention, NewEntity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from clew.indexing.pipeline import IndexingPipeline
    from clew.ports import Store
    from clew.types import StoredChunk


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentRelation:
    """A relation between two names, as an assistant states it."""

    head: str
    tail: str
    relation_type: str
    confidence: float
    """0 to 1."""
    is_causal: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected:
    """What was not stored, and why."""

    item: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentExtractionReport:
    """What was stored."""

    passages: int
    """Marked as read."""
    entities: int
    relations: int
    new_relations: int
    """Those that their passage had not stated before."""
    rejected: tuple[Rejected, ...]


@dataclass(frozen=True, slots=True)
class AgentExtraction:
    """Extraction by an assistant, for one store."""

    store: Store
    pipeline: Callable[[], IndexingPipeline]
    writing: AbstractContextManager[object]

    def unread(self, *, after: int = 0, limit: int = 10) -> list[StoredChunk]:
        """Passages that no assistant has processed, with an id above `after`, by id."""
        return self.store.chunks(self.store.unread(after, limit))

    def count_unread(self) -> int:
        """How many passages no assistant has processed."""
        return self.store.count_unread()

    def record(
        self,
        passage_ids: Sequence[str],
        entities: Sequence[NewEntity] = (),
        relations: Sequence[AgentRelation] = (),
    ) -> AgentExtractionReport:
        """Store what was found in passages and mark these as read; repeating it changes nothing.

        Raises `NotFoundError` where a passage is unknown.
        """
        reading = _Validation(self._passages(passage_ids), self.store)
        taken = [entity for entity in entities if reading.takes(entity)]
        found = sum(reading.relates(relation) for relation in relations)
        chunks = reading.extractions()
        with self.writing:
            links = self.pipeline().links(Extraction(chunks=tuple(chunks.values())))
            new = self.store.record_readings(chunks, taken, links)
        return AgentExtractionReport(
            passages=len(chunks),
            entities=len(taken),
            relations=found,
            new_relations=new,
            rejected=tuple(reading.rejected),
        )

    def _passages(self, passage_ids: Sequence[str]) -> list[_Passage]:
        wanted = dict.fromkeys(passage_ids)
        documents = dict.fromkeys(one.rpartition("#")[0] for one in wanted)
        known = {
            chunk.public_id: chunk
            for document in documents
            for chunk in self.store.document_chunks(document)
        }
        unknown = [one for one in wanted if one not in known]
        if unknown:
            raise NotFoundError(
                f"no passage {unknown[0]!r}; it may have changed since: take ids from"
                " extraction_next"
            )
        chunks = [known[one] for one in wanted]
        ranges = self.store.sentence_ranges([chunk.id for chunk in chunks])
        return [_Passage(chunk, ranges[chunk.id]) for chunk in chunks]


class _Passage:
    """A passage and where names stand in it."""

    def __init__(self, chunk: StoredChunk, ranges: Sequence[tuple[int, int]]) -> None:
        self.chunk = chunk
        self._sentences = [(start - chunk.start, end - chunk.start) for start, end in ranges]
        self.mentions: dict[tuple[str, int], Mention] = {}
        """By key and sentence."""
        self.relations: dict[tuple[str, str, str], ExtractedRelation] = {}
        self._found: dict[str, dict[int, list[tuple[int, int]]]] = {}

    def find(self, name: str) -> dict[int, list[tuple[int, int]]]:
        """Ranges where a name stands, by sentence."""
        if name not in self._found:
            by_sentence: dict[int, list[tuple[int, int]]] = {}
            for match in _pattern(name).finditer(self.chunk.text):
                for ordinal, (start, end) in enumerate(self._sentences):
                    if start <= match.start() and match.end() <= end:
                        by_sentence.setdefault(ordinal, []).append(match.span())
            self._found[name] = by_sentence
        return self._found[name]

    def mention(self, name: str, entity_type: str) -> bool:
        """Note where a name stands; whether it does."""
        for ordinal, places in self.find(name).items():
            (start, end), key = places[0], entity_key(name)
            known = self.mentions.get((key, ordinal))
            if known is None or known.entity_type == "name":
                self.mentions[key, ordinal] = Mention(
                    name=name,
                    entity_type=entity_type,
                    sentence=ordinal,
                    start=start,
                    end=end,
                    count=len(places),
                )
        return bool(self.find(name))

    def sentence_of(self, relation: AgentRelation) -> tuple[tuple[int, ...], int]:
        """How well the passage states a relation, and the sentence that states it best.

        Best is the sentence that names both ends, then one that has words of the relation's type,
        then one that names where it leads to: sentences begin with "she" more often than they end
        so. All zeros for a passage that names neither end.
        """
        heads, tails = self.find(relation.head), self.find(relation.tail)
        wanted = set(terms(relation.relation_type.replace("_", " ")))
        best, place = (0, 0, 0), -1
        for ordinal in sorted(heads | tails):
            start, end = self._sentences[ordinal]
            words = wanted.intersection(terms(self.chunk.text[start:end]))
            named = (ordinal in heads) + (ordinal in tails)
            fit = (named, len(words), 1 + (ordinal in tails))
            if fit > best:
                best, place = fit, ordinal
        return (bool(heads) + bool(tails), *best), place


@dataclass(slots=True)
class _Validation:
    """The working memory of one `record`."""

    passages: Sequence[_Passage]
    store: Store
    rejected: list[Rejected] = field(default_factory=list)
    _named: set[str] = field(default_factory=set)
    """Keys of the names that are known or stand in a passage."""

    def takes(self, entity: NewEntity) -> bool:
        """Note where an entity is named; whether it is valid."""
        reason = self._fault(entity.name, entity.entity_type)
        if reason:
            self.rejected.append(Rejected(item=_shown(entity.name), reason=reason))
        return not reason

    def relates(self, relation: AgentRelation) -> bool:
        """Assign a relation to its passage and sentence; whether it is valid."""
        reason = self._fault(relation.head) or self._fault(relation.tail) or self._locate(relation)
        if reason:
            ends = f"{_shown(relation.head)} -{relation.relation_type}-> {_shown(relation.tail)}"
            self.rejected.append(Rejected(item=ends, reason=reason))
        return not reason

    def extractions(self) -> dict[int, ChunkExtraction]:
        """What was found, by chunk id."""
        return {
            passage.chunk.id: ChunkExtraction(
                mentions=tuple(passage.mentions.values()),
                relations=tuple(passage.relations.values()),
            )
            for passage in self.passages
        }

    def _fault(self, name: str, entity_type: str = "name") -> str:
        """Why a name is not valid; empty where it is."""
        key = entity_key(name)
        if not key:
            return "a name needs letters or digits"
        if len(name) > LONGEST_NAME:
            return f"a name has at most {LONGEST_NAME} characters"
        stands = [passage.mention(name, entity_type) for passage in self.passages]
        if any(stands) or key in self._named or self.store.resolve([key]):
            self._named.add(key)
            return ""
        return "in none of the passages, and not known; give the name as the passage has it"

    def _locate(self, relation: AgentRelation) -> str:
        """Assign a relation to a sentence; why that fails, empty where it does not."""
        relation_type = snake_case(relation.relation_type)
        try:
            check_type(relation_type or relation.relation_type)
            check_share("confidence", relation.confidence)
        except InputError as error:
            return str(error)
        if entity_key(relation.head) == entity_key(relation.tail):
            return "both ends are the same entity"
        sentence, passage = self._place(relation)
        if passage is None:
            return "no passage names one of its ends"
        passage.relations[entity_key(relation.head), relation_type, entity_key(relation.tail)] = (
            ExtractedRelation(
                head=relation.head,
                tail=relation.tail,
                relation_type=relation_type,
                sentence=sentence,
                confidence=relation.confidence,
                is_causal=relation.is_causal,
            )
        )
        return ""

    def _place(self, relation: AgentRelation) -> tuple[int, _Passage | None]:
        """The sentence and the passage that state a relation best, the first of equals."""
        best: tuple[int, ...] = (0,)
        place: tuple[int, _Passage | None] = (-1, None)
        for passage in self.passages:
            fit, sentence = passage.sentence_of(relation)
            if sentence >= 0 and fit > best:
                best, place = fit, (sentence, passage)
        return place


def _pattern(name: str) -> re.Pattern[str]:
    """A name in a text: any case, any white space, whole words where its script has spaces."""
    body = r"\s+".join(map(re.escape, name.split()))
    if has_caseless(name):
        return re.compile(body)
    return re.compile(rf"(?<!\w){body}(?!\w)", re.IGNORECASE)


def _shown(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
