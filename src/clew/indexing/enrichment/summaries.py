"""Reports of communities by a language model, each statement with words that it rests on.

The finest communities come first; a coarser one is told what was said of its parts. What quotes
neither a passage nor the report of a part is dropped, and so is what brings in a name or a number.
Where nothing is left, the extractive report stays.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from pydantic import BaseModel

from clew.errors import ReplyError
from clew.indexing.enrichment.contexts import unknown_words
from clew.indexing.enrichment.run import CheckedModel, Counts
from clew.ports.language_model import Message, Request
from clew.quotations import find_words
from clew.text import terms
from clew.untrusted import NOTICE, untrusted_block

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from clew.ports import CommunityWriter, Store
    from clew.settings import LlmSettings
    from clew.types import Community

VERSION = 1
"""Of the prompt: a reply that was kept for another one is not used."""
MOST_STATEMENTS = 8
UNSUPPORTED = "its quotation, a name or a number of it stands nowhere"
_CHARACTERS_A_TOKEN = 3
INSTRUCTIONS = f"""\
(report {VERSION}) You write a short report on a group of things that belong together, from\
 passages and from reports on parts of the group.
{NOTICE}
Answer with a JSON object: {{"title": "…", "statements": [{{"quote": "…", "text": "…"}}]}}
title: at most eight words. statements: three to six, the most important first; quote is copied\
 exactly from a passage or a report, and text is one sentence that says no more than its quote.
Use no name and no number that is in none of them.
"""


class QuotedStatement(BaseModel):
    """A sentence of a report; its quotation comes first, so that it is not made up to fit."""

    quote: str
    text: str


class ReportReply(BaseModel):
    """The reply to `report_request`."""

    title: str
    statements: list[QuotedStatement]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one community."""

    community: Community
    title: str = ""
    summary: str = ""
    failed: str = ""
    statements: int = 0
    dropped: int = 0


@dataclass(slots=True)
class ModelReports:
    """`run.EnrichmentTask` of community reports; its works are communities."""

    store: Store
    communities: CommunityWriter
    model: CheckedModel
    settings: LlmSettings
    writing: AbstractContextManager[object]
    total: Counts = field(default_factory=Counts)

    def reply_tokens(self, works: Sequence[Community]) -> int:
        """See `EnrichmentTask`."""
        return self.settings.summarise.max_output_tokens // 4

    def works(self, document_ids: Sequence[str], *, retry: bool = False) -> Iterator[Community]:
        """Communities without a report of a model, the finest first; documents do not matter."""
        done = self.communities.summarised()
        skipped = {i for i, reason in done.items() if not (retry and reason)}
        found = [c for c in self.communities.communities() if c.id not in skipped]
        yield from sorted(found, key=lambda community: (-community.level, community.id))

    def stage(self, work: Community) -> int:
        """All communities of a finer level are done before those of a coarser one."""
        return -work.level

    def request(self, work: Community) -> Request:
        """What the model is asked, by the reports that there are now."""
        return report_request(work, self._texts(work), self._documents(work))

    def ask(self, work: Community) -> Outcome:
        """See `EnrichmentTask`."""
        texts = self._texts(work)
        request = report_request(work, texts, self._documents(work))
        reply = self.model.reply(request).value
        assert isinstance(reply, ReportReply)
        known = {term for text in (*texts, *work.entities) for term in terms(text)}
        given = reply.statements[:MOST_STATEMENTS]
        kept = [line for one in given if (line := _statement(one, texts, work, known))]
        if not kept:
            reason = "no statement of the report has words that stand there"
            self.model.reject(request, reason)
            raise ReplyError(reason, "unsupported")
        title = " ".join(reply.title.split())[:100]
        # What is stated of them stays as it is.
        relations = [line for line in work.summary.splitlines() if line.startswith("- ")]
        return Outcome(
            work,
            title=work.title if not title or unknown_words(f". {title}", known, "") else title,
            summary="\n".join([" ".join(kept), *relations]),
            statements=len(kept),
            dropped=len(given) - len(kept),
        )

    def failed(self, work: Community, reason: str) -> Outcome:
        """See `EnrichmentTask`."""
        return Outcome(work, failed=reason)

    def record(self, outcomes: Sequence[Outcome]) -> None:
        """See `EnrichmentTask`."""
        made = {o.community.id: (o.title, o.summary) for o in outcomes if not o.failed}
        failed = {o.community.id: o.failed for o in outcomes if o.failed}
        with self.writing:
            self.communities.summarise(made, failed)
        self.total.passages += len(made)
        self.total.failed |= failed
        self.total.facts += sum(o.statements for o in outcomes)
        dropped = sum(o.dropped for o in outcomes)
        self.total.dropped += Counter({UNSUPPORTED: dropped} if dropped else {})

    def _texts(self, work: Community) -> list[str]:
        """The passages that a report rests on, then its parts' reports, as far as they fit."""
        texts = [chunk.text for chunk in self.store.chunks(work.sources)]
        below = self.communities.communities(level=work.level + 1)
        texts += [part.summary for part in below if part.parent == work.id]
        tokens = self.settings.context_tokens - self.settings.summarise.max_output_tokens
        room = tokens * _CHARACTERS_A_TOKEN - len(INSTRUCTIONS)
        lengths = accumulate(len(text) for text in texts)
        return [text for text, end in zip(texts, lengths, strict=True) if end <= room] or texts[:1]

    def _documents(self, work: Community) -> tuple[str, ...]:
        chunks = self.store.chunks(work.sources)
        return tuple(dict.fromkeys(chunk.document_id for chunk in chunks))


def report_request(work: Community, texts: Sequence[str], documents: Sequence[str]) -> Request:
    """What belongs together, with the texts that speak of it."""
    names = ", ".join(work.entities[:12])
    blocks = [untrusted_block(text, number=n) for n, text in enumerate(texts, start=1)]
    blocks.append(untrusted_block(names, part="names of the group"))
    return Request(
        task="summarise",
        instructions=INSTRUCTIONS,
        messages=(Message(role="user", text="\n\n".join(blocks)),),
        schema=ReportReply,
        subject=f"community {work.id}: {work.title}",
        documents=tuple(documents),
    )


def _statement(one: QuotedStatement, texts: Sequence[str], work: Community, known: set[str]) -> str:
    """A statement with the number of the passage that it quotes; empty where it rests on none."""
    said, quote = " ".join(one.text.split()), html.unescape(one.quote)
    if not said or unknown_words(said, known, ""):
        return ""
    for number, text in enumerate(texts, start=1):
        if find_words(quote, text) is not None:
            return f"{said} [{number}]" if number <= len(work.sources) else said
    return ""
