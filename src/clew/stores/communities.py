"""Communities and topics over any back end, of the generation that they say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew.ports import Partition, ReportBasis
from clew.ports.graph import StoredDescription
from clew.stores.backend import Backend, Row, distinct, pairs, read_described
from clew.stores.statements import snapshot as statements
from clew.stores.statements.relations import COLUMNS, DESCRIPTIONS
from clew.stores.statements.snapshot import BUILT, KEEP, PARTITION, reported
from clew.types import Community, Topic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.ports import CommunityChanges, CommunityReport, TopicSet
    from clew.types import Ids, Scores, Vectors


_SHOWN = ("id", "level", "parent", "title", "summary", "entities", "size", "sources")


class Communities:
    """`ports.CommunityWriter` over a back end; of a store that can only be read, this process's."""

    def __init__(self, backend: Backend) -> None:
        """The store's own back end."""
        self._backend = backend

    def generation(self) -> int:
        """Generation of the store that they were last brought up to; -1 where never."""
        return _built(self._backend)[0]

    def members(self) -> NDArray[np.int64]:
        """(n, 3): entity id, level, community id; sorted."""
        (rows,) = self._backend.gather(statements.MEMBERS)
        return entity_places([_row(row) for row in rows if row[4]])

    def communities(
        self, *, ids: Sequence[int] | None = None, level: int | None = None
    ) -> list[Community]:
        """Communities by id (in that order), at one level, or all; largest first, then by id.

        At a level are its communities and those of coarser levels that have no parts: together they
        show everything once.
        """
        wanted = distinct(ids or ())
        statement = reported(_SHOWN, among=ids is not None, at_level=level is not None)
        (rows,) = self._backend.gather(statement, ids=wanted, level=level)
        found = {row[0]: _community(row) for row in rows}
        if ids is not None:
            return [found[i] for i in map(int, ids) if i in found]
        return sorted(found.values(), key=lambda community: (-community.size, community.id))

    def community_vectors(self, level: int) -> tuple[Ids, Vectors]:
        """Ids of the communities at a level and their embeddings, by id."""
        statement = reported(("id", "embedding"), among=False, at_level=True)
        return _vectors(*self._backend.gather(statement, level=level))

    def topics(self, *, ids: Sequence[int] | None = None) -> list[Topic]:
        """Topics by id (in that order) or all; those of most documents first."""
        statement = statements.TOPICS if ids is None else statements.TOPICS_AMONG
        (rows,) = self._backend.gather(statement, ids=distinct(ids or ()))
        found = {row[0]: _topic(row) for row in rows}
        if ids is not None:
            return [found[i] for i in map(int, ids) if i in found]
        return sorted(found.values(), key=lambda t: (-t.documents, -t.passages, t.id))

    def topic_vectors(self) -> tuple[Ids, Vectors]:
        """Ids of all topics and their embeddings, by id."""
        return _vectors(*self._backend.gather(statements.TOPIC_VECTORS))

    def theme_vectors(self) -> tuple[Ids, Vectors]:
        """(topics,) number of the theme of each topic, by topic id; embeddings by theme number."""
        of_topics, rows = self._backend.gather(statements.TOPIC_THEMES, statements.THEME_VECTORS)
        themes = np.array([theme for _, theme in sorted(map(tuple, of_topics))], dtype=np.int64)
        return themes, _vectors(rows)[1]

    def topic_chunks(self, topic_ids: Sequence[int]) -> NDArray[np.int64]:
        """(n, 2): topic id, id of a chunk that is on it; sorted."""
        (rows,) = self._backend.gather(statements.TOPIC_CHUNKS, ids=distinct(topic_ids))
        return np.array(sorted(map(tuple, rows)), dtype=np.int64).reshape(-1, 2)

    # --- keeping them up to date

    def partition(self) -> Partition | None:
        """What was last written, communities without a report among it; None if never."""
        (kept,), rows = self._backend.gather(PARTITION, statements.MEMBERS)
        if None in kept:
            return None
        state = PartitionState(
            entity_ids=_ids(kept[0]),
            neighbourhoods=_ids(kept[1]),
            strengths=np.frombuffer(kept[2], dtype="<f4"),
            moved=int(kept[3]),
            next_id=int(kept[4]),
        )
        return make_partition(sorted(map(_row, rows), key=lambda row: row.id), state)

    def report_bases(self) -> Mapping[int, ReportBasis]:
        """What each community's report speaks of, by community id."""
        (rows,) = self._backend.gather(statements.REPORT_BASES)
        return {
            row[0]: ReportBasis(
                entity_ids=tuple(_list(row[1])),
                entities=tuple(_list(row[2])),
                sources=tuple(_list(row[3])),
            )
            for row in rows
        }

    def write(self, changes: CommunityChanges) -> bool:
        """Make the changes, all or none; False, and none, where `generation` is not as expected.

        Communities that the partition does not hold are gone afterwards, with their reports. The
        store's generation does not change.
        """
        self._backend = self._backend.writable()
        return self._backend.write(lambda: _write(self._backend, changes))


# --- writing -----------------------------------------------------------------------------


def _write(backend: Backend, changes: CommunityChanges) -> bool:
    built, next_topic = _built(backend)
    if built != changes.expected:
        return False
    gone = _write_communities(backend, changes.partition)
    backend.update("communities", [_report_row(report) for report in changes.reports])
    # What a language model said of a community before it changed.
    outdated = {*gone, *(int(report.community_id) for report in changes.reports)}
    backend.delete("descriptions", [f"community:{id_}" for id_ in sorted(outdated)])
    kept = {"built": changes.generation, **_partition_values(changes.partition)}
    if changes.topics is not None:
        kept["next_topic"] = _write_topics(backend, changes.topics, next_topic)
    backend.execute_many(KEEP, [{"name": name, "value": value} for name, value in kept.items()])
    return True


def _built(backend: Backend) -> tuple[int, int]:
    """The generation of what there is, -1 for none; and the first id that no topic had."""
    ((built, next_topic),) = backend.rows(BUILT)
    return -1 if built is None else int(built), int(next_topic or 1)


def _partition_values(partition: Partition) -> dict[str, int | bytes]:
    return {
        "entity_ids": partition.entity_ids.astype("<i8").tobytes(),
        "neighbourhoods": partition.neighbourhoods.astype("<i8").tobytes(),
        "strengths": partition.strengths.astype("<f4").tobytes(),
        "moved": partition.moved,
        "next_id": partition.next_id,
    }


def _write_communities(backend: Backend, partition: Partition) -> list[int]:
    """Rows of communities that stay are left as they are, but for their place above others.

    Returns the ids of those that are gone.
    """
    known = {row[0]: (row[1], row[2]) for row in backend.rows(statements.PLACES)}
    new, moved = changed_rows(partition, known)
    gone = sorted(known.keys() - set(partition.ids.tolist()))
    backend.delete("communities", gone)
    backend.insert({"communities": [_place(row) | _held(row) for row in new]})
    backend.update("communities", [_place(row) for row in moved])
    return gone


def _place(row: CommunityRow) -> dict[str, Any]:
    return {"id": row.id, "level": row.level, "parent": row.parent}


def _held(row: CommunityRow) -> dict[str, Any]:
    return {"size": len(row.members), "members": row.members.astype("<i8").tobytes()}


def _report_row(report: CommunityReport) -> Row:
    return {
        "id": int(report.community_id),
        "title": report.title,
        "summary": report.summary,
        "entities": json.dumps(report.basis.entities, ensure_ascii=False),
        "entity_ids": json.dumps(list(map(int, report.basis.entity_ids))),
        "sources": json.dumps(list(map(int, report.basis.sources))),
        "embedding": _bytes(report.vector),
    }


def _write_topics(backend: Backend, topics: TopicSet, next_id: int) -> int:
    """Replace all topics; those of a known key keep their id. The first id that is still free."""
    known = pairs(backend.rows(statements.TOPIC_KEYS))
    ids, free = topic_ids(topics.keys, known, next_id)
    themes = pairs(backend.rows(statements.THEMES))
    backend.delete("topics", list(known.values()))
    backend.delete("themes", list(themes))
    gone = [f"topic:{known[key]}" for key in known.keys() - set(topics.keys)]
    gone += [f"theme:{title}" for title in set(themes.values()) - set(topics.theme_titles)]
    backend.delete("descriptions", gone)
    titled = zip(topics.theme_titles, topics.theme_vectors, strict=True)
    backend.insert(
        {
            "themes": [
                {"number": number, "title": title, "embedding": _bytes(vector)}
                for number, (title, vector) in enumerate(titled)
            ],
            "topics": list(_topic_rows(topics, ids)),
        }
    )
    return free


def _topic_rows(topics: TopicSet, ids: Sequence[int]) -> Iterable[Row]:
    for position, (id_, chunks) in enumerate(zip(ids, topic_passages(topics), strict=True)):
        yield {
            "id": id_,
            "key": topics.keys[position],
            "name": topics.names[position],
            "theme": int(topics.themes[position]),
            "passages": len(chunks),
            "documents": int(topics.documents[position]),
            "chunks": json.dumps(chunks),
            "embedding": _bytes(topics.vectors[position]),
        }


# --- values ------------------------------------------------------------------------------


def _bytes(vector: NDArray[np.float32]) -> bytes:
    return vector.astype("<f4").tobytes()


def _ids(value: bytes | list[int]) -> Ids:
    if isinstance(value, bytes):
        return np.frombuffer(value, dtype="<i8")
    return np.array(value, dtype=np.int64)


def _list(value: str | list[Any]) -> list[Any]:
    return list(json.loads(value)) if isinstance(value, str) else value


def _row(row: Sequence[Any]) -> CommunityRow:
    return CommunityRow(row[0], row[1], row[2], _ids(row[3]))


def _vectors(rows: Iterable[Sequence[Any]]) -> tuple[Ids, Vectors]:
    """Ids and embeddings, by id."""
    found = sorted((row[0], row[1]) for row in rows)
    width = len(found[0][1]) // 4 if found else 0
    vectors = np.frombuffer(b"".join(row[1] for row in found), dtype="<f4")
    return np.array([row[0] for row in found], np.int64), vectors.reshape(len(found), width)


def _community(row: Sequence[Any]) -> Community:
    values = dict(zip(_SHOWN, row[:-1], strict=True))
    values["parent"] = values["parent"] or None
    title, said = read_described(row[-1])
    values["title"] = title or values["title"]
    values["summary"] = said.text if said else values["summary"]
    return Community(**values | {n: tuple(_list(values[n])) for n in ("entities", "sources")})


def _topic(row: Sequence[Any]) -> Topic:
    id_, phrase, theme_phrase, passages, documents, of_topic, of_theme = row
    name, said = read_described(of_topic)
    theme, _ = read_described(of_theme)
    return Topic(
        id=id_,
        name=name or phrase,
        theme=theme or theme_phrase,
        passages=passages,
        documents=documents,
        phrase=phrase,
        theme_phrase=theme_phrase,
        description=said,
    )


# What a language model says of topics, documents, entities and communities, over any back end.


_LISTS = ("sources", "documents")


class Descriptions:
    """`ports.enrichment.DescriptionLog`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def descriptions(self, *kinds: str) -> dict[str, StoredDescription]:
        """All of some kinds, such as `entity`, by key."""
        found = {}
        for kind in kinds:
            # ";" is the character after ":".
            rows = self._backend.rows(DESCRIPTIONS, first=f"{kind}:", after=f"{kind};")
            for row in rows:
                values = dict(zip(COLUMNS, row, strict=True))
                values |= {name: tuple(json.loads(values[name])) for name in _LISTS}
                found[row[0]] = StoredDescription(**values)
        return found

    def describe(self, made: Sequence[StoredDescription]) -> None:
        """Keep descriptions, in place of those of the same keys."""
        rows = [
            {name: getattr(one, name) for name in COLUMNS}
            | {name: json.dumps(getattr(one, name)) for name in _LISTS}
            for one in made
        ]

        def work() -> None:
            self._backend.delete("descriptions", [one.key for one in made])
            self._backend.insert({"descriptions": rows})

        self._backend.write(work)

    def forget(self, keys: Sequence[str]) -> None:
        """Delete descriptions; unknown keys are left out."""
        self._backend.write(lambda: self._backend.delete("descriptions", list(keys)))


# Communities and topics between the arrays of `ports` and the rows of a store.


class CommunityRow(NamedTuple):
    """A community of a partition."""

    id: int
    level: int
    parent: int
    """0 for none."""
    members: Ids
    """Entity ids, sorted."""


class PartitionState(NamedTuple):
    """What a partition knows beside its communities; see `ports.Partition`."""

    entity_ids: Ids
    neighbourhoods: NDArray[np.int64]
    strengths: Scores
    moved: int
    next_id: int


def community_rows(partition: Partition) -> list[CommunityRow]:
    """A partition's communities, by id."""
    starts = np.searchsorted(partition.members[:, 0], partition.ids)
    members = np.split(partition.members[:, 1], starts[1:]) if len(starts) else []
    columns = (partition.ids.tolist(), partition.levels.tolist(), partition.parents.tolist())
    return [CommunityRow(*row) for row in zip(*columns, members, strict=True)]


def make_partition(rows: Sequence[CommunityRow], state: PartitionState) -> Partition:
    """The partition of which these are the rows, by id, and the state."""
    ids = np.array([row.id for row in rows], dtype=np.int64)
    held = [row.members for row in rows]
    return Partition(
        ids=ids,
        levels=np.array([row.level for row in rows], dtype=np.int64),
        parents=np.array([row.parent for row in rows], dtype=np.int64),
        members=np.column_stack([np.repeat(ids, [len(h) for h in held]), _joined(held)]),
        **state._asdict(),
    )


def entity_places(rows: Sequence[CommunityRow]) -> NDArray[np.int64]:
    """(n, 3): entity id, level, community id; sorted."""
    held = [row.members for row in rows]
    counts = [len(h) for h in held]
    places = np.array([(row.level, row.id) for row in rows], dtype=np.int64).reshape(-1, 2)
    found = np.column_stack([_joined(held), np.repeat(places, counts, axis=0)])
    return found[np.lexsort((found[:, 2], found[:, 1], found[:, 0]))]


def changed_rows(
    partition: Partition, known: Mapping[int, tuple[int, int]]
) -> tuple[list[CommunityRow], list[CommunityRow]]:
    """The communities that are new, and those with another place than the (level, parent) known."""
    rows = community_rows(partition)
    new = [row for row in rows if row.id not in known]
    moved = [row for row in rows if known.get(row.id, row[1:3]) != row[1:3]]
    return new, moved


def topic_ids(keys: Iterable[str], known: Mapping[str, int], next_id: int) -> tuple[list[int], int]:
    """The id that each key had, or one that none ever had; and the first one that is still free."""
    ids = []
    for key in keys:
        ids.append(known.get(key, next_id))
        next_id += key not in known
    return ids, next_id


def topic_passages(topics: TopicSet) -> list[list[int]]:
    """Chunk ids of each topic, sorted."""
    found: list[list[int]] = [[] for _ in topics.keys]
    for topic, chunk_id in topics.chunks.tolist():
        found[topic].append(chunk_id)
    return found


def _joined(parts: Sequence[Ids]) -> Ids:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])
