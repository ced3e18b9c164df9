"""Names and facts of passages by a language model, each fact with the words that state it.

Several passages of a document go into one request where they fit. A reply that cannot be used is
asked for once more passage by passage, so that one bad passage costs no other. A fact whose
quotation does not stand in a passage, or whose names do not, is dropped and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pydantic import BaseModel

from clew.errors import ModelError
from clew.indexing.inputs import Domain
from clew.indexing.linking import without_names
from clew.indexing.manual_graph import CAUSAL, snake_case
from clew.indexing.validation import AgentRelation, Passage, Validation
from clew.plugins.llm.contexts import together
from clew.plugins.llm.enriching import EnrichmentTask, is_fatal, reason_of
from clew.ports import Message, Request
from clew.text import entity_key
from clew.types import ChunkExtraction, Extraction, NewEntity
from clew.untrusted import NOTICE, untrusted_block

CONFIDENCE = 0.7
"""How far a fact is believed that quotes its passage: a prior, more than a pattern's 0.5."""
MOST_PASSAGES = 8
MOST_STATED = 100
"""Names, and facts, of a passage in a reply; nine are usual."""
TOO_MANY = "the reply lists more than passages of this length state"
_CHARACTERS_A_TOKEN = 3
"""Fewer than there are in most languages: what is sent, and what comes, has to fit."""
_TOKENS_A_CHARACTER = 2
"""Of a reply, for each character of a passage: as much as GPT-3.5's triples of MuSiQue would have
taken with a sentence quoted for each, which is dense, and a quarter more."""
_USUAL_TOKENS_A_CHARACTER = 1.6
"""As those replies would have had: what is expected where no reply is known."""
_CAPITALS = 3
"""Words with a capital inside sentences from which on a passage without names is suspicious."""
Work: TypeAlias = Sequence[Passage]
"""The passages of one request."""


@dataclass(slots=True)
class Outcome:
    """What came of a work."""

    readings: dict[int, ChunkExtraction] = field(default_factory=dict)
    """By chunk id."""
    entities: list[NewEntity] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    """Why, by chunk id."""
    facts: int = 0
    """Kept."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Facts and names that do not stand in the text, by reason."""

    def add(self, other: Outcome) -> None:
        """Take in what came of another work."""
        self.readings |= other.readings
        self.entities += other.entities
        self.failed |= other.failed
        self.facts += other.facts
        self.dropped += other.dropped


@dataclass(slots=True)
class ModelExtraction(EnrichmentTask[Work, Outcome]):
    """The task of names and facts."""

    def reply_tokens(self, works: Sequence[Work]) -> int:
        """See `EnrichmentTask`."""
        characters = sum(len(passage.chunk.text) for work in works for passage in work)
        expected = characters * _USUAL_TOKENS_A_CHARACTER / max(len(works), 1)
        return min(round(expected), self.settings.extract.max_output_tokens)

    def works(self, document_ids: Sequence[str], *, retry: bool = False) -> Iterator[Work]:
        """What is left to do in documents; with `retry`, also what failed, each passage alone."""
        done = self.log.done("extract")
        instructed = (
            len(instructions(self.state.packs.domain)) + self.settings.gleaning * MOST_LISTED
        )
        reply = self.settings.extract.max_output_tokens
        room = (self.settings.context_tokens - reply) * _CHARACTERS_A_TOKEN - instructed
        room = min(room, reply // _TOKENS_A_CHARACTER)  # what they state has to fit into the reply
        for document_id in document_ids:
            chunks = self.state.store.document_chunks(document_id)
            left = {chunk.id for chunk in chunks if chunk.id not in done}
            again = [chunk for chunk in chunks if retry and done.get(chunk.id)]
            if not left and not again:
                continue
            ranges = self.state.store.sentence_ranges([chunk.id for chunk in chunks])
            passages = [Passage(chunk, ranges[chunk.id]) for chunk in chunks]
            for work in together(passages, lambda p: len(p.chunk.text), room, MOST_PASSAGES):
                if any(passage.chunk.id in left for passage in work):
                    yield work
            yield from ([Passage(chunk, ranges[chunk.id])] for chunk in again)

    def requests(self, work: Work) -> Sequence[Request]:
        """See `EnrichmentTask`; what was found first is known once it was asked."""
        first = extraction_request(work, self.state.packs.domain)
        if not self.settings.gleaning:
            return (first,)
        kept = self.model.kept(first)
        # Names and facts that are not found yet are about half as long as their text.
        text = " ".join(passage.chunk.text for passage in work)
        usual = ExtractionReply(entities=[Name(name=text[: len(text) // 2])])
        found = kept.value if kept else usual
        assert isinstance(found, ExtractionReply)
        return first, gleaning_request(first, found)

    def ask(self, work: Work) -> Outcome:
        """See `EnrichmentTask`; passages that come to nothing together are asked one by one."""
        try:
            outcome = self._asked(work)
        except ModelError as error:
            if len(work) == 1 or is_fatal(error):
                raise
            outcome = Outcome(failed=dict.fromkeys((p.chunk.id for p in work), ""))
        if len(work) > 1:
            for passage in [p for p in work if p.chunk.id in outcome.failed]:
                del outcome.failed[passage.chunk.id]
                alone = [Passage(passage.chunk, passage.ranges)]
                try:
                    outcome.add(self._asked(alone))
                except ModelError as error:
                    if is_fatal(error):
                        raise
                    outcome.add(self.failed(alone, reason_of(error)))
        return outcome

    def failed(self, work: Work, reason: str) -> Outcome:
        """See `EnrichmentTask`."""
        return Outcome(failed={passage.chunk.id: reason for passage in work})

    def record(self, outcomes: Sequence[Outcome]) -> None:
        """See `EnrichmentTask`; of passages that changed meanwhile nothing is stored."""
        found = Outcome()
        for outcome in outcomes:
            found.add(outcome)
        with self.state.writing:
            # Names that somebody pruned stay out, whoever finds them.
            pruned = self.state.store.pruned_names()
            left = without_names(Extraction(chunks=tuple(found.readings.values())), pruned)
            found.readings = dict(zip(found.readings, left.chunks, strict=True))
            found.entities = [one for one in found.entities if entity_key(one.name) not in pruned]
            found.readings, links = self.state.bound_ingest().resolved(found.readings)
            living = {chunk.id for chunk in self.state.store.chunks(list(found.readings))}
            found.readings = {i: one for i, one in found.readings.items() if i in living}
            self.total.new_relations += self.log.record_extraction(
                found.readings, found.entities, links
            )
            if found.failed:
                self.log.fail("extract", found.failed)
        self.total.passages += len(found.readings)
        self.total.failed.update((i, reason) for i, reason in found.failed.items())
        self.total.facts += found.facts
        self.total.dropped += found.dropped

    def _asked(self, work: Work) -> Outcome:
        """What the model finds in passages; those where it overlooks every name have failed."""
        request = extraction_request(work, self.state.packs.domain)
        replies = [self._reply(request)]
        if self.settings.gleaning:
            try:
                replies.append(self._reply(gleaning_request(request, replies[0])))
            except ModelError as error:  # of which the first round is still worth something
                if is_fatal(error):
                    raise
        checked = Validation(work, None)
        types, most = entity_types(self.state.packs.domain), MOST_STATED * len(work)
        entities = [
            NewEntity(name=one.name, entity_type=one.type if one.type in types else "name")
            for reply in replies
            for one in reply.entities[:most]
        ]
        taken = [entity for entity in entities if checked.takes(entity)]
        for reply in replies:
            for fact in reply.facts[:most]:
                relation_type = snake_case(fact.relation)
                relation = AgentRelation(
                    head=fact.head,
                    tail=fact.tail,
                    relation_type=relation_type or fact.relation,
                    confidence=CONFIDENCE,
                    is_causal=relation_type == CAUSAL,
                    quotation=fact.quote,
                )
                checked.relates(relation)
        outcome = Outcome(
            readings=checked.extractions(),
            entities=taken,
            facts=sum(len(passage.relations) for passage in work),
            dropped=Counter(one.reason for one in checked.rejected),
        )
        stated = (len(said) for reply in replies for said in (reply.entities, reply.facts))
        if too_many := sum(max(count - most, 0) for count in stated):
            outcome.dropped[TOO_MANY] = too_many
        for passage in work:
            if reason := suspicion(passage):
                del outcome.readings[passage.chunk.id]
                outcome.failed[passage.chunk.id] = reason
                if len(work) == 1:
                    self.model.reject(request, reason)
        return outcome

    def _reply(self, request: Request) -> ExtractionReply:
        reply = self.model.reply(request).value
        assert isinstance(reply, ExtractionReply)
        return reply


def suspicion(passage: Passage) -> str:
    """Why it is hard to believe that a passage names nothing; empty where something was found."""
    if passage.mentions or passage.relations:
        return ""
    inside = (word for text in passage.sentences() for word in text.split()[1:])
    found = sum(word[0].isupper() for word in inside)
    if found < _CAPITALS:
        return ""
    return f"suspicious: no names were found, though {found} words inside sentences have capitals"


# What a model is asked that reads passages for names and facts.


VERSION = 1
"""Of the prompt: a reply that was kept for another one is not used."""
MOST_LISTED = 2000
"""Characters of what was found before."""
_MISSED = """\
Names and facts of these passages were missed. List those alone that are not among what was found\
 before; where nothing was missed, leave both lists empty.\
"""
TYPES = ("person", "place", "organisation", "work", "event", "product", "concept", "date", "name")


class Name(BaseModel):
    """Something with a name."""

    name: str
    type: str = "name"


class QuotedFact(BaseModel):
    """A fact; its quotation comes first, so that it is not made up to fit."""

    quote: str
    head: str
    relation: str
    tail: str


class ExtractionReply(BaseModel):
    """The reply to `extraction_request`."""

    entities: list[Name] = []
    facts: list[QuotedFact] = []


def entity_types(domain: Domain) -> tuple[str, ...]:
    """Types of names that the model may use."""
    return tuple(dict.fromkeys((*TYPES, *domain.entity_types)))


def instructions(domain: Domain) -> str:
    """What the model is told, with the types of a domain among those that every store knows."""
    types = ", ".join(entity_types(domain))
    told = f"""\
(extract {VERSION}) You list the names in passages of one document, and the facts that they state.
{NOTICE}
Answer with a JSON object: {{"entities": [{{"name": "…", "type": "…"}}],\
 "facts": [{{"quote": "…", "head": "…", "relation": "…", "tail": "…"}}]}}
entities: what has a name, written as the passage has it; type is one of {types}.
facts: quote is the sentence that states the fact, copied exactly; head and tail are names or\
 things of that passage, written as it has them; relation is specific, in snake_case, such as\
 born_in, founded, directed_by, part_of. Never related_to, associated_with, has, is or involves.
Say nothing that the passages do not say. Where they name nothing, leave both lists empty.
"""
    if domain.relation_types:
        told += f"Where they fit, use these relations: {', '.join(domain.relation_types)}.\n"
    return "\n".join([told.removesuffix("\n"), *domain.instructions, ""])


def gleaning_request(request: Request, found: ExtractionReply) -> Request:
    """The same passages once more, for what a first reply missed."""
    lines = [f"{name.name} ({name.type})" for name in found.entities]
    lines += [f"{fact.head} -{fact.relation}-> {fact.tail}" for fact in found.facts]
    listed = untrusted_block("\n".join(lines)[:MOST_LISTED], part="found before")
    text = f"{request.messages[0].text}\n\n{_MISSED}\n{listed}"
    return replace(
        request,
        messages=(Message(role="user", text=text, shared=len(request.messages[0].text)),),
        subject=f"{request.subject}, what was missed",
    )


def extraction_request(passages: Sequence[Passage], domain: Domain) -> Request:
    """Some passages of a document, to be read for names and facts."""
    chunks = [passage.chunk for passage in passages]
    blocks = [
        untrusted_block(chunk.text, number=number, title=(chunk.context or chunk.title)[:200])
        for number, chunk in enumerate(chunks, start=1)
    ]
    return Request(
        task="extract",
        instructions=instructions(domain),
        messages=(Message(role="user", text="\n\n".join(blocks)),),
        schema=ExtractionReply,
        subject=", ".join(chunk.public_id for chunk in chunks),
        documents=(chunks[0].document_id,),
    )
