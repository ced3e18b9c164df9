"""Who spoke in a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.indexing.ner.dialogue import WITH_ASSISTANTS
from clew.indexing.reading.formats.chats.conversation import MEDIA_TYPE
from clew.times import to_time
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.types import Document


def chat_structure(document: Document) -> Structure:
    """Each speaker `spoke_in` the conversation, from the first turn on."""
    is_chat = document.media_type == MEDIA_TYPE and document.title
    if not is_chat or document.metadata.get("app") in WITH_ASSISTANTS:
        return Structure()
    return Structure(statements=tuple(_spoke(document)))


def _spoke(document: Document) -> Iterator[Statement]:
    seen: set[str] = set()
    for piece in document.pieces:
        speaker = piece.metadata.get("speaker")
        if isinstance(speaker, str) and speaker and speaker not in seen:
            seen.add(speaker)
            yield Statement(
                head=speaker,
                head_type="person",
                relation_type="spoke_in",
                tail=document.title,
                start=piece.start,
                end=piece.start + len(speaker),
                valid_from=to_time(piece.metadata.get("created_at")),
            )
