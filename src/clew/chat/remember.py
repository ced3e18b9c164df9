"""What a user says in a conversation, kept as facts: each with its sentence, and dated.

Only what the user says is remembered: neither what documents say nor what the model answers, so
that nothing in a document can make a memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from clew.indexing.enrichment.validation import AgentRelation
from clew.ports.language_model import Message, Request
from clew.quotations import find_words
from clew.types import NewEntity
from clew.untrusted import NOTICE, untrusted_block

if TYPE_CHECKING:
    from datetime import datetime

    from clew.engine import Engine
    from clew.ports.language_model import LanguageModel

_CONFIDENCE = 0.8
_INSTRUCTIONS = f"""\
You take the facts that a user states in a message of a conversation. {NOTICE}
Answer with a JSON object: {{"facts": [{{"sentence": "…", "source": "…",\
 "relation_type": "works_at", "target": "…"}}]}}
A fact has the sentence of the message that states it, copied letter for letter, and the two names\
 that it ties, as the sentence has them. The relation type is a short verb phrase in snake_case.\
 Questions, wishes and commands state no fact. Where there is none, answer {{"facts": []}}.
"""


class StatedFact(BaseModel):
    """A fact as the model took it from a message."""

    sentence: str
    source: str
    relation_type: str
    target: str


class StatedFacts(BaseModel):
    """All facts of a message."""

    facts: list[StatedFact] = Field(max_length=10)


def remember(
    engine: Engine, model: LanguageModel, text: str, source: str, now: datetime
) -> tuple[str, ...]:
    """Keep the facts that a message states; the sentences that were kept.

    The message becomes a document of that source and date, unless the store's own check of facts
    refuses all of them. Raises `ModelError`.
    """
    value = model.reply(remember_request(text, source)).value
    assert isinstance(value, StatedFacts)
    stated = [fact for fact in value.facts if _stands(fact, text)]
    if not stated:
        return ()
    dated = {"date": now.isoformat(timespec="seconds"), "kind": "conversation"}
    document = engine.add(text, source=source, title=f"Said on {now:%Y-%m-%d}", metadata=dated)
    passages = [chunk.public_id for chunk in engine.store.document_chunks(document)]
    names = dict.fromkeys(name for fact in stated for name in (fact.source, fact.target))
    report = engine.entities.agent_extractions.record(
        passages,
        [NewEntity(name=name, entity_type="name", content="") for name in names],
        [
            AgentRelation(
                head=fact.source,
                tail=fact.target,
                relation_type=fact.relation_type,
                confidence=_CONFIDENCE,
            )
            for fact in stated
        ],
    )
    refused = {one.item for one in report.rejected}
    kept = [f for f in stated if f"{f.source} -{f.relation_type}-> {f.target}" not in refused]
    if not kept:
        engine.documents.delete([document])
    return tuple(dict.fromkeys(" ".join(fact.sentence.split()) for fact in kept))


def remember_request(text: str, source: str) -> Request:
    """A message, to be read for the facts that it states."""
    return Request(
        task="extract",
        instructions=_INSTRUCTIONS,
        messages=(Message(role="user", text=untrusted_block(text)),),
        schema=StatedFacts,
        subject=source,
    )


def _stands(fact: StatedFact, text: str) -> bool:
    """Whether the message has the sentence, and the sentence both names."""
    names = (fact.source, fact.target)
    return find_words(fact.sentence, text) is not None and all(
        find_words(name, fact.sentence) is not None for name in names
    )
