"""Contexts of passages by a language model: a few words that situate each in its document.

The prompt has the published shape ("Contextual Retrieval", Anthropic, 2024): the whole document,
then the passage. All passages of a document begin with the same words, so that what a provider or
a local server keeps of a prompt serves them all. Of a document that is longer than the model reads,
the same few stretches are sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from clew.errors import ReplyError
from clew.indexing.outline import MEDIA_TYPE, masked
from clew.plugins.llm.enriching import EnrichmentTask
from clew.ports import Message, Request
from clew.text import plain, terms
from clew.types import StoredChunk
from clew.untrusted import NOTICE, untrusted_block

T = TypeVar("T")
VERSION = 1
"""Of the prompt: a reply that was kept for another one is not used."""
MOST_TOKENS = 100
"""Of a context; the rest of it is left out."""
_CHARACTERS_A_TOKEN = 3
"""Fewer than there are in most languages: what is sent has to fit."""
_AROUND = 500
"""Characters of delimiters and of the title."""
_WORD = re.compile(r"\w+")
INSTRUCTIONS = f"""\
(context {VERSION}) You situate a passage within its document, so that it is found by a search.
{NOTICE}
Answer with one or two short sentences, 50 to 100 tokens, in the language of the document: what the\
 document is, and what of it the passage is about, with the names and dates that the passage itself\
 leaves out. Use no name and no number that the document does not have. Answer with these sentences\
 alone.
"""


@dataclass(frozen=True, slots=True)
class Work:
    """One passage, and what of its document is sent with it."""

    chunk: StoredChunk
    before: str
    """Its context as it is: title and headings."""
    stretch: str
    shown: str
    """The passage as readers are shown it, which is what is embedded."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a work."""

    work: Work
    context: str = ""
    failed: str = ""


def context_request(work: Work) -> Request:
    """A passage behind (a stretch of) its document, to be situated there."""
    document = untrusted_block(work.stretch, title=work.chunk.title[:200])
    passage = untrusted_block(work.chunk.text, part="passage")
    text = f"{document}\n\nThe passage of it that is to be situated:\n{passage}"
    return Request(
        task="context",
        instructions=INSTRUCTIONS,
        messages=(Message(role="user", text=text, shared=len(document)),),
        subject=work.chunk.public_id,
        documents=(work.chunk.document_id,),
    )


def stretch_of(text: str, start: int, end: int, room: int) -> str:
    """What is sent of a document with the passage that stands from `start` to `end`.

    All of it where there is room, else the one of its stretches, each half of `room` further, in
    whose middle the passage is: neighbours have the same.
    """
    if len(text) <= room:
        return text
    step = max(room // 2, 1)
    number = max(round(((start + end) / 2 - room / 2) / step), 0)
    first = min(number * step, len(text) - room)
    return text[first : first + room]


@dataclass(slots=True)
class ModelContexts(EnrichmentTask[Work, Outcome]):
    """The task of contexts."""

    def reply_tokens(self, works: Sequence[Work]) -> int:
        """See `EnrichmentTask`."""
        return MOST_TOKENS

    def works(self, document_ids: Sequence[str], *, retry: bool = False) -> Iterator[Work]:
        """What is left to do in documents; with `retry`, also what failed."""
        self.state.bind_embedder()
        done = self.log.done("context")
        skipped = {i for i, reason in done.items() if not (retry and reason)}
        for info in self.state.store.documents(ids=document_ids):
            chunks = [c for c in self.state.store.document_chunks(info.id) if c.id not in skipped]
            if not chunks:
                continue
            text = "".join(section.text for section in self.state.store.document_sections(info.id))
            room = self._room(max(len(chunk.text) for chunk in chunks))
            shown = masked(text) if info.media_type == MEDIA_TYPE else text
            for chunk in chunks:
                yield Work(
                    chunk=chunk,
                    before=chunk.context,
                    stretch=stretch_of(text, chunk.start, chunk.end, room),
                    shown=shown[chunk.start : chunk.end],
                )

    def _room(self, longest: int) -> int:
        """Characters of the document that fit beside its longest passage."""
        tokens = self.settings.context_tokens - self.settings.context.max_output_tokens
        around = len(INSTRUCTIONS) + longest + _AROUND
        return max(tokens * _CHARACTERS_A_TOKEN - around, longest)

    def requests(self, work: Work) -> Sequence[Request]:
        """See `EnrichmentTask`."""
        return (context_request(work),)

    def ask(self, work: Work) -> Outcome:
        """See `EnrichmentTask`; a name that the document does not have is no context of it."""
        (request,) = self.requests(work)
        text = plain(self.model.reply(request).text)
        tokens = self.state.embedder.count_tokens
        if tokens(text) <= MOST_TOKENS:
            context = text
        else:
            kept = text.split(" ")[:MOST_TOKENS]
            while len(kept) > 1 and tokens(" ".join(kept)) > MOST_TOKENS:
                del kept[len(kept) * 9 // 10 :]
            cut = " ".join(kept)
            end = max(cut.rfind(mark) for mark in (". ", "! ", "? "))
            context = cut[: end + 1] if end > 0 else cut
        known = set(terms(f"{work.chunk.context} {work.stretch}", work.chunk.language))
        known.update(terms(f"{work.chunk.title} {work.chunk.text}", work.chunk.language))
        if new := unknown_words(context, known, work.chunk.language):
            shown = ", ".join(new[:5])
            reason = f"the context has what the document does not: {shown}"
            self.model.reject(request, reason)
            raise ReplyError(reason, "unsupported")
        return Outcome(work, context=context)

    def failed(self, work: Work, reason: str) -> Outcome:
        """See `EnrichmentTask`."""
        return Outcome(work, failed=reason)

    def record(self, outcomes: Sequence[Outcome]) -> None:
        """See `EnrichmentTask`; passages that changed meanwhile are left as they are."""
        failed = {one.work.chunk.id: one.failed for one in outcomes if one.failed}
        made = [one for one in outcomes if not one.failed]
        contexts = {one.work.chunk.id: f"{one.work.before}\n{one.context}".strip() for one in made}
        texts = [
            f"{context}\n{one.work.shown}"
            for context, one in zip(contexts.values(), made, strict=True)
        ]
        vectors = self.state.embedder.embed_documents(texts) if texts else None
        with self.state.writing:
            if vectors is not None:
                self.log.record_contexts(contexts, vectors)
            if failed:
                self.log.fail("context", failed)
        self.total.passages += len(made)
        self.total.failed.update((i, reason) for i, reason in failed.items())


def unknown_words(context: str, known: set[str], language: str) -> list[str]:
    """Words that are not known: with a digit or, within a sentence, with a capital."""
    found, begins = [], True
    for match in _WORD.finditer(context):
        word = match.group()
        telling = any(map(str.isdigit, word)) or (not begins and word[0].isupper())
        if telling and not known.issuperset(terms(word, language)):
            found.append(word)
        begins = context[match.end() : match.end() + 1] in (".", "!", "?", ":", "\u201d", '"')
    return found


def together(
    items: Iterable[T], size: Callable[[T], int], room: int, most: int | None = None
) -> Iterator[list[T]]:
    """Neighbours, as many together as there is room for: one at least, `most` at most.

    Always the same for the same items, so that kept replies serve again.
    """
    held: list[T] = []
    for item in items:
        if held and (sum(map(size, (*held, item))) > room or len(held) == most):
            yield held
            held = []
        held.append(item)
    if held:
        yield held
