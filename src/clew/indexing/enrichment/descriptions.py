"""Reports, summaries, descriptions and names by a language model, each statement with its passage.

What quotes neither a passage nor the description of a part is dropped, and so is what brings in a
name or a number. Where nothing is left, sentences of the texts stand in its place.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from clew.errors import ReplyError
from clew.indexing.enrichment import subjects
from clew.indexing.enrichment.contexts import unknown_words
from clew.indexing.enrichment.description_prompt import (
    TASKS,
    DescriptionReply,
    Evidence,
    QuotedStatement,
    description_request,
    documents_of,
    instructions,
)
from clew.indexing.enrichment.run import CheckedModel, Counts
from clew.indexing.enrichment.subjects import KEYS, Subject
from clew.indexing.enrichment.validation import name_pattern
from clew.ports.enrichment import StoredDescription
from clew.quotations import find_words
from clew.text import plain, terms
from clew.types.answers import statement_text
from clew.types.values import NUMBER

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from clew.ports import CommunityStore, Store
    from clew.ports.enrichment import Described, DescriptionLog
    from clew.ports.language_model import Request
    from clew.settings import LlmSettings
    from clew.types import StoredChunk

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
class ModelDescriptions:
    """`run.EnrichmentTask` of descriptions; its works are subjects."""

    store: Store
    communities: CommunityStore
    log: DescriptionLog
    model: CheckedModel
    settings: LlmSettings
    writing: AbstractContextManager[object]
    kind: Described
    total: Counts = field(default_factory=Counts)
    _held: dict[str, StoredDescription] = field(default_factory=dict)
    """What there is, by key."""

    def reply_tokens(self, works: Sequence[Subject]) -> int:
        """See `EnrichmentTask`."""
        return _REPLY_TOKENS

    def works(self, document_ids: Sequence[str], *, retry: bool = False) -> Iterator[Subject]:
        """What is not described by its texts as they are, parts before what they are parts of."""
        self._held = dict(self.log.descriptions(*KEYS[self.kind]))
        due = set[str]()
        for subject in sorted(self._subjects(document_ids), key=lambda one: one.stage):
            held = self._held.get(subject.key)
            waits = any(part.key in due for part in subject.parts)
            failed = held is not None and held.reason and retry
            if held is None or failed or waits or held.basis != self._basis(subject):
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
        written = _Written(_cited(work, evidence))
        kept = [line for one in given if (line := written.statement(one, evidence, known))]
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
            sources=tuple(written.sources),
        )
        return Outcome(made, dropped=len(given) - len(kept))

    def _rejected(self, request: Request, reason: str) -> ReplyError:
        self.model.reject(request, reason)
        return ReplyError(reason, "unsupported")

    def failed(self, work: Subject, reason: str) -> Outcome:
        """See `EnrichmentTask`; the texts' own sentences stand in the model's place."""
        evidence, chunks = self._evidence(work), self.store.chunks(work.chunk_ids)
        text, sources = _numbered([] if work.own else self._sentences(work, chunks))
        return Outcome(self._made(work, evidence, text=text, sources=sources, reason=reason))

    def record(self, outcomes: Sequence[Outcome]) -> None:
        """See `EnrichmentTask`."""
        made = [one.made for one in outcomes]
        with self.writing:
            self.log.describe(made)
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
                return subjects.documents(self.store, document_ids, self._room("document"))
            case "entities":
                return subjects.entities(self.store)
            case "topics":
                return subjects.topics(self.communities)
            case "links":
                return subjects.links(self.store)
        return subjects.reports(self.communities)

    def _room(self, kind: str) -> int:
        """Characters of texts that fit into a request."""
        tokens = self.settings.context_tokens - self.settings.summarise.max_output_tokens
        return tokens * _CHARACTERS_A_TOKEN - len(instructions(kind))

    def _evidence(self, work: Subject) -> list[Evidence]:
        """Its passages, then what is said of its parts, as far as they fit."""
        chunks = self.store.chunks(work.chunk_ids)
        found = [Evidence(c.text, (c.public_id,), (c.document_id,), True) for c in chunks]
        found += [self._of_part(part) for part in work.parts]
        room, ends = self._room(work.kind), accumulate(len(one.text) for one in found)
        return [one for one, end in zip(found, ends, strict=True) if end <= room] or found[:1]

    def _of_part(self, part: Subject) -> Evidence:
        """What is said of a part, be it that no model said it yet."""
        held, chunks = self._held.get(part.key), self.store.chunks(part.chunk_ids)
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
        sentences = self.store.sentences([chunk.id for chunk in chunks])
        found: list[tuple[str, str]] = []
        for chunk in chunks:
            said = next((s for s in sentences.get(chunk.id, ()) if naming.search(s)), "")
            if said and len(found) < _SENTENCES:
                found.append((statement_text(plain(said))[:LONGEST_STATEMENT], chunk.public_id))
        return found

    def _basis(self, work: Subject) -> str:
        return _digest(work, self._evidence(work))

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


class _Written:
    """Numbers the passages that statements rest on."""

    def __init__(self, sources: list[str]) -> None:
        """`sources` have their numbers already."""
        self.sources = sources

    def statement(self, one: QuotedStatement, evidence: Sequence[Evidence], known: set[str]) -> str:
        """A statement with the number of its passage; empty where it rests on nothing."""
        said = statement_text(plain(one.text)) if len(one.text) <= LONGEST_STATEMENT else ""
        if not said or unknown_words(said, known, ""):
            return ""
        quote = html.unescape(one.quote)
        for text in evidence:
            if (place := find_words(quote, text.text)) is not None:
                source = text.sources[0] if text.is_passage else _source_after(place[1], text)
                return f"{said} [{self._number(source)}]" if source else said
        return ""

    def _number(self, source: str) -> int:
        if source not in self.sources:
            self.sources.append(source)
        return self.sources.index(source) + 1


def _numbered(said: Sequence[tuple[str, str]]) -> tuple[str, tuple[str, ...]]:
    """Sentences, each with the number of its source; and the sources."""
    text = " ".join(f"{sentence} [{n}]" for n, (sentence, _) in enumerate(said, start=1))
    return text, tuple(source for _, source in said)


def _cited(work: Subject, evidence: Sequence[Evidence]) -> list[str]:
    """Sources that have their numbers before anything is said: those of a community are shown."""
    if work.kind != "community":
        return []
    return [one.sources[0] for one in evidence if one.is_passage]


def _source_after(end: int, evidence: Evidence) -> str:
    """The source whose number follows a place in a description; empty where none does."""
    number = NUMBER.search(evidence.text, end)
    place = int(number.group(1)) if number else 0
    return evidence.sources[place - 1] if 0 < place <= len(evidence.sources) else ""


def _digest(work: Subject, evidence: Sequence[Evidence]) -> str:
    request = description_request(work, evidence)
    return hashlib.sha256(f"{request.instructions}{request.messages[0].text}".encode()).hexdigest()
