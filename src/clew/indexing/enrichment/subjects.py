"""What a language model describes: documents, entities, topics and communities.

Each is described from a few of its passages, and from the descriptions of its parts, which come
first: those of a long document, the topics of a theme, the communities within a community.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.indexing.linking.suggestions import suggest_merges
from clew.types import Description

if TYPE_CHECKING:
    from clew.ports import CommunityStore, Store
    from clew.ports.enrichment import Described, StoredDescription
    from clew.types import Community, MergeSuggestion, StoredChunk

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
KEYS: dict[Described, tuple[str, ...]] = {
    "documents": ("document", "part"),
    "entities": ("entity",),
    "topics": ("topic", "theme"),
    "reports": ("community",),
    "links": ("link",),
}
"""Kinds of keys, by what is asked for."""


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
        stretches = list(_stretches(chunks, room))
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


def _stretches(chunks: Sequence[StoredChunk], room: int) -> Iterator[list[StoredChunk]]:
    """Neighbouring passages, as many together as there is room for."""
    stretch: list[StoredChunk] = []
    for chunk in chunks:
        if stretch and sum(len(one.text) for one in (*stretch, chunk)) > room:
            yield stretch
            stretch = []
        stretch.append(chunk)
    yield stretch


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


def topics(communities: CommunityStore) -> Iterator[Subject]:
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


def reports(communities: CommunityStore) -> Iterator[Subject]:
    """Communities, the finest first."""
    found = sorted(communities.communities(), key=lambda one: (-one.level, one.id))
    made: defaultdict[int | None, list[Subject]] = defaultdict(list)
    for one in found:
        subject = _community(one, made[one.id])
        made[one.parent].append(subject)
        yield subject


def _community(one: Community, parts: Sequence[Subject]) -> Subject:
    return Subject(
        key=f"community:{one.id}",
        name=f"community {one.id}: {', '.join(one.entities[:3])}",
        names=one.entities,
        chunk_ids=one.sources,
        parts=tuple(parts),
        own=one.summary,
    )


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


def with_verdicts(
    suggestions: Sequence[MergeSuggestion], made: Mapping[str, StoredDescription]
) -> list[MergeSuggestion]:
    """Pairs with what a language model says of them: those that are one first, the others last."""
    found = []
    for pair in suggestions:
        said = made.get(link_key(pair.source_id, pair.target_id))
        if said is None or not said.title:
            found.append(pair)
            continue
        why = Description(text=said.text, sources=said.sources)
        found.append(replace(pair, verdict=said.title.casefold(), description=why))
    return sorted(found, key=lambda pair: ("yes", "", "no").index(pair.verdict))


def link_key(one: int, other: int) -> str:
    """The key of two entities that may be one."""
    return f"link:{min(one, other)}-{max(one, other)}"


def _spread(chunk_ids: Sequence[int], most: int = MOST_PASSAGES) -> tuple[int, ...]:
    """As many of them as are sent, from all over the store."""
    places = np.linspace(0, len(chunk_ids) - 1, min(most, len(chunk_ids)))
    return tuple(chunk_ids[round(place)] for place in places.tolist())
