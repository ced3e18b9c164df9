"""What a model is asked that reads passages for names and facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel

from clew.ports.language_model import Message, Request
from clew.untrusted import NOTICE, untrusted_block

if TYPE_CHECKING:
    from clew.indexing.enrichment.validation import Passage
    from clew.indexing.extension import Domain

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
