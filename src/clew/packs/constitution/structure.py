"""What the elements of a constitution state of each other."""

from __future__ import annotations

from collections.abc import Iterator

from clew.packs.constitution.node import KINDS, MEDIA_TYPE, RELATED, links_of
from clew.text import entity_key
from clew.times import to_date
from clew.types import DeclaredEntity, Document, Statement, Structure

_TAILS = {
    "defines": "principle",
    "guides": "goal",
    "discussed_in": "conversation",
    "about": "topic",
}
"""What a relation leads to."""


def constitution_structure(document: Document) -> Structure:
    """The relations of an element, held from `since` to `until`; nothing of other documents."""
    kind = str(document.metadata.get("entity_type", ""))
    if document.media_type != MEDIA_TYPE or kind not in KINDS or not entity_key(document.title):
        return Structure()
    return Structure(
        statements=tuple(_statements(document, kind)),
        entities=(DeclaredEntity(name=document.title, entity_type=kind),),
    )


def _statements(document: Document, kind: str) -> Iterator[Statement]:
    until = to_date(document.metadata.get("until"))
    for link, start, end in links_of(document):
        # A relation of a kind is one of `relates_to`, too.
        for relation in (link.relation, *(["relates_to"] if link.relation in RELATED else [])):
            yield Statement(
                head=document.title,
                head_type=kind,
                relation_type=relation,
                tail=link.target,
                tail_type=_TAILS.get(relation, "name"),
                start=start,
                end=end,
                confidence=link.share,
                valid_from=document.created_at,
                valid_until=until.start if until else None,
            )
