"""What somebody read in passages, held to their text: an assistant, or a language model.

A name must stand in one of the passages or, where an assistant gives it, be known to the store. A
relation is assigned to the passage and the sentence that states it: the one that was quoted, else
the one that names its ends.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.errors import InputError, NotFoundError, check_several
from clew.indexing.manual_graph import LONGEST_NAME, check_share, check_type, snake_case
from clew.indexing.ner.other_scripts import has_caseless
from clew.text import entity_key, find_words, terms
from clew.types import ChunkExtraction, ExtractedRelation, Mention, NewEntity, StoredChunk

if TYPE_CHECKING:
    from clew.indexing.pipeline import IndexingPipeline
    from clew.stores.store import Store


VAGUE = frozenset(
    "about and are associated_with be concerns connected_to connected_with deals_with has have in"
    " interacts_with involved_in involves is is_about is_associated_with is_connected_to"
    " is_linked_to is_related_to linked_to linked_with mentioned_in mentions of other refers_to"
    " related related_to relates_to relation relationship unknown was were with".split()
)
"""Types of relations that say nothing; a model that finds no other word has found no fact."""
UNQUOTED = "its quotation stands in none of the passages"
UNNAMED = "a name of it does not stand in the passage that it quotes"
NO_TYPE = "the relation is no short name in snake_case"
TOO_VAGUE = "the relation is too vague to say anything"


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentRelation:
    """A relation between two names, as an assistant or a model states it."""

    head: str
    tail: str
    relation_type: str
    confidence: float
    """0 to 1."""
    is_causal: bool = False
    quotation: str | None = None
    """The words of a passage that state it; None: an assistant, who need not say them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected:
    """What was not stored, and why."""

    item: str
    reason: str


class Passage:
    """A passage and where names stand in it."""

    def __init__(self, chunk: StoredChunk, ranges: Sequence[tuple[int, int]]) -> None:
        """`ranges` are those of its sentences in the document."""
        self.chunk = chunk
        self.ranges = ranges
        self._sentences = [(start - chunk.start, end - chunk.start) for start, end in ranges]
        self.mentions: dict[tuple[str, int], Mention] = {}
        """By key and sentence."""
        self.relations: dict[tuple[str, str, str], ExtractedRelation] = {}
        self._found: dict[str, dict[int, list[tuple[int, int]]]] = {}

    def sentences(self) -> list[str]:
        """Their texts, in order."""
        return [self.chunk.text[start:end] for start, end in self._sentences]

    def find(self, name: str) -> dict[int, list[tuple[int, int]]]:
        """Ranges where a name stands, by sentence."""
        if name not in self._found:
            by_sentence: dict[int, list[tuple[int, int]]] = {}
            for match in name_pattern(name).finditer(self.chunk.text):
                for ordinal, (start, end) in enumerate(self._sentences):
                    if start <= match.start() and match.end() <= end:
                        by_sentence.setdefault(ordinal, []).append(match.span())
            self._found[name] = by_sentence
        return self._found[name]

    def names(self, name: str) -> bool:
        """Whether a name stands in the passage or in what it is a part of."""
        return bool(self.find(name) or name_pattern(name).search(self.chunk.context))

    def quoted_sentence(self, quotation: str) -> int | None:
        """The sentence in which the quoted words begin; None where they do not stand here."""
        # The model saw the text with its marks escaped.
        place = find_words(html.unescape(quotation), self.chunk.text)
        if place is None:
            return None
        return next(
            (i for i, (start, end) in enumerate(self._sentences) if start <= place[0] < end), None
        )

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

    def extraction(self) -> ChunkExtraction:
        """What was found in it."""
        return ChunkExtraction(
            mentions=tuple(self.mentions.values()), relations=tuple(self.relations.values())
        )


@dataclass(slots=True)
class Validation:
    """What was read in some passages, and what of it is not valid."""

    passages: Sequence[Passage]
    store: Store | None
    """Knows names that stand in none of them; None: there is none to be believed."""
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
        if relation.quotation is None:
            ends = self._fault(relation.head) or self._fault(relation.tail)
        else:
            ends = _wrong_name(relation.head) or _wrong_name(relation.tail)
        reason = ends or self._locate(relation)
        if reason:
            shown = f"{_shown(relation.head)} -{relation.relation_type}-> {_shown(relation.tail)}"
            self.rejected.append(Rejected(item=shown, reason=reason))
        return not reason

    def extractions(self) -> dict[int, ChunkExtraction]:
        """What was found, by chunk id."""
        return {passage.chunk.id: passage.extraction() for passage in self.passages}

    def _fault(self, name: str, entity_type: str = "name") -> str:
        """Why a name is not valid; empty where it is."""
        if wrong := _wrong_name(name):
            return wrong
        key = entity_key(name)
        stands = [passage.mention(name, entity_type) for passage in self.passages]
        is_known = self.store is not None and bool(self.store.resolve([key]))
        if any(stands) or key in self._named or is_known:
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
            return str(error) if relation.quotation is None else NO_TYPE
        if entity_key(relation.head) == entity_key(relation.tail):
            return "both ends are the same entity"
        if relation.quotation is not None and relation_type in VAGUE:
            return TOO_VAGUE
        place = self._place(relation) if relation.quotation is None else self._quoted(relation)
        if isinstance(place, str):
            return place
        sentence, passage = place
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

    def _quoted(self, relation: AgentRelation) -> tuple[int, Passage] | str:
        """The sentence and the passage that are quoted, the first of several; or what is wrong."""
        ends = relation.head, relation.tail
        for passage in self.passages:
            if (sentence := passage.quoted_sentence(relation.quotation or "")) is not None:
                if not all(map(passage.names, ends)):
                    return UNNAMED
                for name in ends:
                    passage.mention(name, "name")
                return sentence, passage
        return UNQUOTED

    def _place(self, relation: AgentRelation) -> tuple[int, Passage] | str:
        """The sentence and the passage that state a relation best, the first of equals."""
        best: tuple[int, ...] = (0,)
        place: tuple[int, Passage] | str = "no passage names one of its ends"
        for passage in self.passages:
            fit, sentence = passage.sentence_of(relation)
            if sentence >= 0 and fit > best:
                best, place = fit, (sentence, passage)
        return place


def name_pattern(name: str) -> re.Pattern[str]:
    """A name in a text: any case, any white space, whole words where its script has spaces."""
    body = r"\s+".join(map(re.escape, name.split()))
    if has_caseless(name):
        return re.compile(body)
    return re.compile(rf"(?<!\w){body}(?!\w)", re.IGNORECASE)


def _wrong_name(name: str) -> str:
    """Why a name cannot be one, whatever the passages say; empty where it can."""
    if not entity_key(name):
        return "a name needs letters or digits"
    return f"a name has at most {LONGEST_NAME} characters" if len(name) > LONGEST_NAME else ""


def _shown(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"


# What an assistant extracted: whatever is not valid is reported, the rest is stored.


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

    def record(
        self,
        passage_ids: Sequence[str],
        entities: Sequence[NewEntity] = (),
        relations: Sequence[AgentRelation] = (),
    ) -> AgentExtractionReport:
        """Store what was found in passages and mark these as read; repeating it changes nothing.

        Raises `NotFoundError` where a passage is unknown.
        """
        check_several(passage_ids=passage_ids)
        reading = Validation(self._passages(passage_ids), self.store)
        taken = [entity for entity in entities if reading.takes(entity)]
        found = sum(reading.relates(relation) for relation in relations)
        with self.writing:
            chunks, links = self.pipeline().resolved(reading.extractions())
            new = self.store.record_readings(chunks, taken, links)
        return AgentExtractionReport(
            passages=len(chunks),
            entities=len(taken),
            relations=found,
            new_relations=new,
            rejected=tuple(reading.rejected),
        )

    def _passages(self, passage_ids: Sequence[str]) -> list[Passage]:
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
        return [Passage(chunk, ranges[chunk.id]) for chunk in chunks]
