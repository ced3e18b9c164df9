"""Reports, summaries, descriptions and names by a language model, each statement with its passage.

What quotes neither a passage nor the description of a part is dropped, and so is what brings in a
name or a number. Where nothing is left, sentences of the texts stand in its place.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel

from clew.engine.graph import link_key
from clew.errors import ReplyError
from clew.indexing.linking import suggest_merges
from clew.indexing.validation import name_pattern
from clew.plugins.llm.contexts import together, unknown_words
from clew.plugins.llm.enriching import KEYS, EnrichmentTask
from clew.ports import Message, Request, StoredDescription
from clew.stores.communities import Communities, Descriptions
from clew.stores.store import Store
from clew.text import find_words, plain, terms
from clew.types import NUMBER, StoredChunk, statement_text
from clew.untrusted import NOTICE, untrusted_block

MOST_STATEMENTS = 8
LONGEST_STATEMENT = 600
"""Characters; longer ones are no sentence."""
LONGEST_TITLE = 100
UNSUPPORTED = "its quotation, a name or a number of it stands nowhere"
_SENTENCES = 3
"""Of the texts, where the model fails."""
_CHARACTERS_A_TOKEN = 3
_REPLY_TOKENS = 250


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one subject."""

    made: StoredDescription
    dropped: int = 0


@dataclass(slots=True)
class ModelDescriptions(EnrichmentTask["Subject", Outcome]):
    """The task of descriptions; its works are subjects."""

    _held: dict[str, StoredDescription] = field(default_factory=dict, init=False)
    """What there is, by key."""

    @property
    def _descriptions(self) -> Descriptions:
        return Descriptions(self.state.store.backend)

    def reply_tokens(self, works: Sequence[Subject]) -> int:
        """See `EnrichmentTask`."""
        return _REPLY_TOKENS

    def works(self, document_ids: Sequence[str], *, retry: bool = False) -> Iterator[Subject]:
        """What is not described by its texts as they are, parts before what they are parts of."""
        self._held = dict(self._descriptions.descriptions(*KEYS[self.kind]))
        due = set[str]()
        for subject in sorted(self._subjects(document_ids), key=lambda one: one.stage):
            held = self._held.get(subject.key)
            waits = any(part.key in due for part in subject.parts)
            failed = held is not None and held.reason and retry
            if (
                held is None
                or failed
                or waits
                or held.basis != _digest(subject, self._evidence(subject))
            ):
                due.add(subject.key)
                yield subject

    def stage(self, work: Subject) -> int:
        """All parts are described before what they are parts of."""
        return work.stage

    def requests(self, work: Subject) -> Sequence[Request]:
        """See `EnrichmentTask`; by what is said of its parts now."""
        return (description_request(work, self._evidence(work)),)

    def ask(self, work: Subject) -> Outcome:
        """See `EnrichmentTask`."""
        evidence = self._evidence(work)
        request = description_request(work, evidence)
        reply = self.model.reply(request).value
        assert isinstance(reply, DescriptionReply)
        known = {
            term for text in (*(e.text for e in evidence), *work.names) for term in terms(text)
        }
        given = reply.statements[:MOST_STATEMENTS]
        # Those of a community are shown, and have their numbers before anything is said.
        shown = [one.sources[0] for one in evidence if one.is_passage]
        sources = shown if work.kind == "community" else []
        kept = [line for one in given if (line := _statement(one, evidence, known, sources))]
        if not kept:
            reason = f"no statement of the {TASKS[work.kind][0]} has words that stand there"
            raise self._rejected(request, reason)
        if work.kind == "link" and plain(reply.title).casefold() not in ("yes", "no"):
            raise self._rejected(request, "whether both are one is neither yes nor no")
        title = plain(reply.title[:LONGEST_STATEMENT])[:LONGEST_TITLE]
        # What is stated of them stays as it is.
        relations = [line for line in work.own.splitlines() if line.startswith("- ")]
        made = self._made(
            work,
            evidence,
            title="" if unknown_words(f". {title}", known, "") else title,
            text="\n".join([" ".join(kept), *relations]),
            sources=tuple(sources),
        )
        return Outcome(made, dropped=len(given) - len(kept))

    def _rejected(self, request: Request, reason: str) -> ReplyError:
        self.model.reject(request, reason)
        return ReplyError(reason, "unsupported")

    def failed(self, work: Subject, reason: str) -> Outcome:
        """See `EnrichmentTask`; the texts' own sentences stand in the model's place."""
        evidence, chunks = self._evidence(work), self.state.store.chunks(work.chunk_ids)
        text, sources = _numbered([] if work.own else self._sentences(work, chunks))
        return Outcome(self._made(work, evidence, text=text, sources=sources, reason=reason))

    def record(self, outcomes: Sequence[Outcome]) -> None:
        """See `EnrichmentTask`."""
        made = [one.made for one in outcomes]
        with self.state.writing:
            self._descriptions.describe(made)
        self._held |= {one.key: one for one in made}
        failed: dict[int | str, str] = {one.name: one.reason for one in made if one.reason}
        self.total.passages += len(made) - sum(bool(one.reason) for one in made)
        self.total.failed |= failed
        dropped = sum(one.dropped for one in outcomes)
        self.total.dropped += Counter({UNSUPPORTED: dropped} if dropped else {})

    # --- what is sent

    def _subjects(self, document_ids: Sequence[str]) -> Iterable[Subject]:
        match self.kind:
            case "documents":
                return documents(self.state.store, document_ids, self._room("document"))
            case "entities":
                return entities(self.state.store)
            case "topics":
                return topics(self.state.communities)
            case "links":
                return links(self.state.store)
        return reports(self.state.communities)

    def _room(self, kind: str) -> int:
        """Characters of texts that fit into a request."""
        tokens = self.settings.context_tokens - self.settings.summarise.max_output_tokens
        return tokens * _CHARACTERS_A_TOKEN - len(instructions(kind))

    def _evidence(self, work: Subject) -> list[Evidence]:
        """Its passages, then what is said of its parts, as far as they fit."""
        chunks = self.state.store.chunks(work.chunk_ids)
        found = [Evidence(c.text, (c.public_id,), (c.document_id,), True) for c in chunks]
        found += [self._of_part(part) for part in work.parts]
        room, ends = self._room(work.kind), accumulate(len(one.text) for one in found)
        return [one for one, end in zip(found, ends, strict=True) if end <= room] or found[:1]

    def _of_part(self, part: Subject) -> Evidence:
        """What is said of a part, be it that no model said it yet."""
        held, chunks = self._held.get(part.key), self.state.store.chunks(part.chunk_ids)
        documents = tuple(dict.fromkeys(chunk.document_id for chunk in chunks))
        if part.own:  # whose numbers are of passages that are not shown with the whole
            return Evidence(held.text if held and held.text else part.own, (), documents, False)
        if held and held.text:
            return Evidence(held.text, held.sources, held.documents, False)
        text, sources = _numbered(self._sentences(part, chunks))
        return Evidence(text, sources, documents, False)

    def _sentences(self, work: Subject, chunks: Sequence[StoredChunk]) -> list[tuple[str, str]]:
        """The first sentences that name it, else that there are, with their passages."""
        naming = name_pattern(work.names[0]) if work.kind == "entity" else re.compile("")
        sentences = self.state.store.sentences([chunk.id for chunk in chunks])
        found: list[tuple[str, str]] = []
        for chunk in chunks:
            said = next((s for s in sentences.get(chunk.id, ()) if naming.search(s)), "")
            if said and len(found) < _SENTENCES:
                found.append((statement_text(plain(said))[:LONGEST_STATEMENT], chunk.public_id))
        return found

    def _made(
        self,
        work: Subject,
        evidence: Sequence[Evidence],
        *,
        title: str = "",
        text: str,
        sources: tuple[str, ...],
        reason: str = "",
    ) -> StoredDescription:
        return StoredDescription(
            key=work.key,
            name=work.name,
            title=title,
            text=text,
            sources=sources,
            documents=documents_of(evidence),
            basis=_digest(work, evidence),
            reason=reason,
        )


def _statement(
    one: QuotedStatement, evidence: Sequence[Evidence], known: set[str], sources: list[str]
) -> str:
    """A statement with the number of its passage; empty where it rests on nothing.

    `sources` have their numbers already; the passage is added where it has none.
    """
    said = statement_text(plain(one.text)) if len(one.text) <= LONGEST_STATEMENT else ""
    if not said or unknown_words(said, known, ""):
        return ""
    quote = html.unescape(one.quote)
    for text in evidence:
        if (place := find_words(quote, text.text)) is not None:
            # A description has the numbers of its sources after what it says.
            number = None if text.is_passage else NUMBER.search(text.text, place[1])
            at = 1 if text.is_passage else int(number.group(1)) if number else 0
            if not 0 < at <= len(text.sources) or not text.sources[at - 1]:
                return said
            sources += [] if text.sources[at - 1] in sources else [text.sources[at - 1]]
            return f"{said} [{sources.index(text.sources[at - 1]) + 1}]"
    return ""


def _numbered(said: Sequence[tuple[str, str]]) -> tuple[str, tuple[str, ...]]:
    """Sentences, each with the number of its source; and the sources."""
    text = " ".join(f"{sentence} [{n}]" for n, (sentence, _) in enumerate(said, start=1))
    return text, tuple(source for _, source in said)


def _digest(work: Subject, evidence: Sequence[Evidence]) -> str:
    request = description_request(work, evidence)
    return hashlib.sha256(f"{request.instructions}{request.messages[0].text}".encode()).hexdigest()


# What a model is asked that describes documents, entities, topics and communities.


VERSION = 1
"""Of the prompts: a reply that was kept for another one is not used."""
TASKS = {
    "community": (
        "report",
        "You write a short report on a group of things that belong together, from passages and"
        " from reports on parts of the group.",
        "at most eight words",
        "three to six, the most important first",
    ),
    "entity": (
        "entity",
        "You describe one thing from passages that name it: what it is, then what is said of it.",
        "its name",
        "one to four, the most important first",
    ),
    "topic": (
        "topic",
        "You name the topic that some passages have in common.",
        "the topic, as a heading of at most five words",
        "one or two: what the passages say of the topic",
    ),
    "theme": (
        "theme",
        "You name what some topics have in common, from reports on each of them.",
        "what they have in common, as a heading of at most five words",
        "one or two: what the reports say of it",
    ),
    "link": (
        "link",
        "You say whether two names mean the same person or thing, from passages that hold them.",
        "yes or no, and nothing else",
        "one or two: why",
    ),
    "document": (
        "summary",
        "You summarise a document, or a part of it, from its passages or from reports on its"
        " parts.",
        "what it is, in at most eight words",
        "two to five, the most important first",
    ),
}
TASKS["part"] = TASKS["document"]


class QuotedStatement(BaseModel):
    """A sentence; its quotation comes first, so that it is not made up to fit."""

    quote: str
    text: str


class DescriptionReply(BaseModel):
    """The reply to `description_request`."""

    title: str
    statements: list[QuotedStatement]


class Evidence(NamedTuple):
    """A text that statements may rest on."""

    text: str
    sources: tuple[str, ...]
    """Public ids: of the passage itself, or of those that a description's numbers name."""
    documents: tuple[str, ...]
    """Ids of those that it is made of."""
    is_passage: bool


def instructions(kind: str) -> str:
    """What the model is told."""
    name, task, title, statements = TASKS[kind]
    return f"""\
({name} {VERSION}) {task}
{NOTICE}
Answer with a JSON object: {{"title": "…", "statements": [{{"quote": "…", "text": "…"}}]}}
title: {title}. statements: {statements}; quote is copied\
 exactly from a passage or a report, and text is one sentence that says no more than its quote.
Use no name and no number that is in none of them.
"""


def description_request(work: Subject, evidence: Sequence[Evidence]) -> Request:
    """A subject, with the texts that speak of it."""
    texts = [one.text for one in evidence]
    blocks = [untrusted_block(text, number=n) for n, text in enumerate(texts, start=1)]
    part = "names of the group" if work.kind == "community" else "name"
    blocks.append(untrusted_block(", ".join(work.names[:12]), part=part))
    return Request(
        task="summarise",
        instructions=instructions(work.kind),
        messages=(Message(role="user", text="\n\n".join(blocks)),),
        schema=DescriptionReply,
        subject=work.name,
        documents=documents_of(evidence),
    )


def documents_of(evidence: Iterable[Evidence]) -> tuple[str, ...]:
    """Ids of all documents that texts are of."""
    return tuple(dict.fromkeys(id_ for one in evidence for id_ in one.documents))


# What a language model describes: documents, entities, topics and communities.
#
# Each is described from a few of its passages, and from the descriptions of its parts, which come
# first: those of a long document, the topics of a theme, the communities within a community.


MOST_PASSAGES = 8
"""Of a topic or an entity."""
MOST_PARTS = 20
"""Topics of a theme, or parts of a document, that are described together."""
MOST_LINKS = 200
"""Pairs of entities, as long as nobody decides about any."""
LEAST_PASSAGES = 3
"""Of an entity: what stands in fewer is read there."""
_UNNAMED = ("date", "code")
"""Types of entities that are no things to be described."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """One thing to be described."""

    key: str
    """`kind:identity`, the same as long as it is the same thing."""
    name: str
    """For people."""
    names: tuple[str, ...]
    """What it is called, and what it is made of."""
    chunk_ids: tuple[int, ...] = ()
    """Its passages; `[1]` is the first."""
    parts: tuple[Subject, ...] = ()
    """Described before it."""
    own: str = ""
    """What its texts say of it without a model; its lines `- …` stay beside the model's."""

    @property
    def kind(self) -> str:
        """Such as `document`, `entity`."""
        return self.key.partition(":")[0]

    @property
    def stage(self) -> int:
        """0 for one without parts; above that of each part."""
        return max((part.stage + 1 for part in self.parts), default=0)


def documents(store: Store, document_ids: Sequence[str], room: int) -> Iterator[Subject]:
    """Documents of more than one passage; of one longer than `room` characters, its parts first."""
    for info in store.documents(ids=document_ids):
        chunks = store.document_chunks(info.id)
        if len(chunks) < 2:
            continue
        name = f"document {info.title or info.source}"
        whole = Subject(key=f"document:{info.id}", name=name, names=(info.title,))
        stretches = list(together(chunks, lambda chunk: len(chunk.text), room))
        if len(stretches) == 1:
            yield replace(whole, chunk_ids=tuple(chunk.id for chunk in chunks))
            continue
        parts = [
            _part(whole, number, chunk_ids=tuple(chunk.id for chunk in stretch))
            for number, stretch in enumerate(stretches, start=1)
        ]
        yield from parts
        number = len(parts)
        while len(parts) > MOST_PARTS:
            groups = [parts[i : i + MOST_PARTS] for i in range(0, len(parts), MOST_PARTS)]
            joined = [
                _part(whole, number + place, parts=tuple(group))
                for place, group in enumerate(groups, start=1)
                if len(group) > 1
            ]
            yield from joined
            number += len(joined)
            parts = joined + (groups[-1] if len(groups[-1]) == 1 else [])
        yield replace(whole, parts=tuple(parts))


def _part(
    whole: Subject, number: int, chunk_ids: tuple[int, ...] = (), parts: tuple[Subject, ...] = ()
) -> Subject:
    key, name = f"part:{whole.key.partition(':')[2]}/{number}", f"{whole.name}, part {number}"
    return replace(whole, key=key, name=name, chunk_ids=chunk_ids, parts=parts)


def entities(store: Store) -> Iterator[Subject]:
    """Entities that several passages name, by id."""
    rows = store.mention_rows()
    pairs = np.unique(rows[rows[:, 1] >= 0][:, [2, 0]], axis=0)
    ids, first = np.unique(pairs[:, 0], return_index=True)
    chunks = (
        dict(zip(ids.tolist(), np.split(pairs[:, 1], first[1:]), strict=True)) if len(ids) else {}
    )
    named = [id_ for id_, held in chunks.items() if len(held) >= LEAST_PASSAGES]
    for entity in store.entities(named):
        if entity.entity_type not in _UNNAMED:
            yield Subject(
                key=f"entity:{entity.id}",
                name=f"{entity.entity_type} {entity.name}",
                names=(entity.name,),
                chunk_ids=_spread(chunks[entity.id].tolist()),
            )


def topics(communities: Communities) -> Iterator[Subject]:
    """Topics, then the themes of several topics."""
    found = communities.topics()
    held: defaultdict[int, list[int]] = defaultdict(list)
    for topic_id, chunk_id in communities.topic_chunks([topic.id for topic in found]).tolist():
        held[topic_id].append(chunk_id)
    themes: defaultdict[str, list[Subject]] = defaultdict(list)
    for topic in found:
        subject = Subject(
            key=f"topic:{topic.id}",
            name=f"topic {topic.phrase}",
            names=(topic.phrase,),
            chunk_ids=_spread(held[topic.id]),
        )
        themes[topic.theme_phrase].append(subject)
        yield subject
    for phrase, parts in themes.items():
        if len(parts) > 1:
            yield Subject(
                key=f"theme:{phrase}",
                name=f"theme {phrase}",
                names=tuple(part.names[0] for part in parts),
                parts=tuple(parts[:MOST_PARTS]),
            )


def reports(communities: Communities) -> Iterator[Subject]:
    """Communities, the finest first."""
    found = sorted(communities.communities(), key=lambda one: (-one.level, one.id))
    made: defaultdict[int | None, list[Subject]] = defaultdict(list)
    for one in found:
        subject = Subject(
            key=f"community:{one.id}",
            name=f"community {one.id}: {', '.join(one.entities[:3])}",
            names=one.entities,
            chunk_ids=one.sources,
            parts=tuple(made[one.id]),
            own=one.summary,
        )
        made[one.parent].append(subject)
        yield subject


def links(store: Store) -> Iterator[Subject]:
    """Pairs of entities that may be one, the surest first, each with passages of both."""
    for pair in suggest_merges(store.known_names(), store.link_rules())[:MOST_LINKS]:
        ends = pair.source_id, pair.target_id
        held = [store.entity_chunks(end).tolist() for end in ends]
        chunks = [id_ for ids in held for id_ in _spread(ids, MOST_PASSAGES // 2)]
        yield Subject(
            key=link_key(*ends),
            name=f"link {pair.source} = {pair.target}",
            names=(pair.source, pair.target),
            chunk_ids=tuple(dict.fromkeys(chunks)),
        )


def _spread(chunk_ids: Sequence[int], most: int = MOST_PASSAGES) -> tuple[int, ...]:
    """As many of them as are sent, from all over the store."""
    places = np.linspace(0, len(chunk_ids) - 1, min(most, len(chunk_ids)))
    return tuple(chunk_ids[round(place)] for place in places.tolist())
