"""What a model is asked that describes documents, entities, topics and communities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel

from clew.ports.language_model import Message, Request
from clew.untrusted import NOTICE, untrusted_block

if TYPE_CHECKING:
    from clew.indexing.enrichment.subjects import Subject

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
