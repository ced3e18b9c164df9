"""What is written about entities by hand, as documents: what each is, and observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import InputError, check_several
from clew.indexing.reading.formats.common import clean_text, text_digest
from clew.text import entity_key
from clew.types import Document
from clew.types.sources import CARD, OBSERVATION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clew.types import Entity, Metadata, NewEntity


def origin_of(key: str) -> str:
    """The origin of the observations of the entity with this key."""
    return f"{OBSERVATION}{key}"


def source_of(origin: str, text: str) -> str:
    """The source of an observation: the same text of the same entity is the same document."""
    return f"{origin}#{text_digest(text)[:16]}"


def card_source(key: str) -> str:
    """The source of the card of the entity with this key: what it is, as a text."""
    return f"{CARD}{key}"


def card(key: str, entity: NewEntity | Entity, metadata: Metadata) -> Document:
    """Name, type and description of an entity made by hand, as a text."""
    kind = "" if entity.entity_type == "name" else f" ({entity.entity_type})"
    about = f": {entity.content}" if entity.content else ""
    text = clean_text(f"{entity.name}{kind}{about}")
    return Document(
        source=card_source(key),
        text=text,
        title=entity.name,
        metadata=metadata,
        sha256=text_digest(text),
    )


def new_documents(entity: NewEntity, texts: Sequence[str], moment: datetime) -> list[Document]:
    """The card of a new entity, and its observations."""
    key, name = entity_key(entity.name), entity.name
    return [
        card(key, entity, entity.metadata),
        *(observation(key, name, text, moment) for text in texts),
    ]


def observation(key: str, name: str, text: str, moment: datetime | None) -> Document:
    """What was told of an entity; `moment` is when, if that is known."""
    origin = origin_of(key)
    return Document(
        source=source_of(origin, text),
        origin=origin,
        text=text,
        title=name,
        sha256=text_digest(text),
        created_at=moment,
    )


def cleaned(texts: Sequence[str]) -> list[str]:
    """Observations as they are stored, each once; raises `InputError` for a blank one."""
    check_several(observations=texts)
    found = list(dict.fromkeys(map(clean_text, texts)))
    for text in found:
        if not text.strip():
            raise InputError(
                f"an observation cannot be {text!r}; expected a text with a visible character"
            )
    return found
