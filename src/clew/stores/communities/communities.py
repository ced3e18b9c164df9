"""Communities and topics over any back end, of the generation that they say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.ports import ReportBasis
from clew.stores.backend import Backend, Row, distinct, pairs
from clew.stores.communities.rows import (
    CommunityRow,
    PartitionState,
    changed_rows,
    entity_places,
    make_partition,
    topic_ids,
    topic_passages,
)
from clew.stores.described import read_described
from clew.stores.statements import communities as statements
from clew.stores.statements.communities import BUILT, KEEP, PARTITION, reported
from clew.types import Community, Topic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.ports import CommunityChanges, CommunityReport, Partition, TopicSet
    from clew.types import Ids, Vectors

_SHOWN = ("id", "level", "parent", "title", "summary", "entities", "size", "sources")


class Communities:
    """`ports.CommunityWriter` over a back end; of a store that can only be read, this process's."""

    def __init__(self, backend: Backend) -> None:
        """The store's own back end."""
        self._backend = backend

    def generation(self) -> int:
        """See `ports.CommunityStore`."""
        return _built(self._backend)[0]

    def members(self) -> NDArray[np.int64]:
        """See `ports.CommunityStore`."""
        (rows,) = self._backend.gather(statements.MEMBERS)
        return entity_places([_row(row) for row in rows if row[4]])

    def communities(
        self, *, ids: Sequence[int] | None = None, level: int | None = None
    ) -> list[Community]:
        """See `ports.CommunityStore`."""
        wanted = distinct(ids or ())
        statement = reported(_SHOWN, among=ids is not None, at_level=level is not None)
        (rows,) = self._backend.gather(statement, ids=wanted, level=level)
        found = {row[0]: _community(row) for row in rows}
        if ids is not None:
            return [found[i] for i in map(int, ids) if i in found]
        return sorted(found.values(), key=lambda community: (-community.size, community.id))

    def community_vectors(self, level: int) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        statement = reported(("id", "embedding"), among=False, at_level=True)
        return _vectors(*self._backend.gather(statement, level=level))

    def topics(self, *, ids: Sequence[int] | None = None) -> list[Topic]:
        """See `ports.CommunityStore`."""
        statement = statements.TOPICS if ids is None else statements.TOPICS_AMONG
        (rows,) = self._backend.gather(statement, ids=distinct(ids or ()))
        found = {row[0]: _topic(row) for row in rows}
        if ids is not None:
            return [found[i] for i in map(int, ids) if i in found]
        return sorted(found.values(), key=lambda t: (-t.documents, -t.passages, t.id))

    def topic_vectors(self) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        return _vectors(*self._backend.gather(statements.TOPIC_VECTORS))

    def theme_vectors(self) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        of_topics, rows = self._backend.gather(statements.TOPIC_THEMES, statements.THEME_VECTORS)
        themes = np.array([theme for _, theme in sorted(map(tuple, of_topics))], dtype=np.int64)
        return themes, _vectors(rows)[1]

    def topic_chunks(self, topic_ids: Sequence[int]) -> NDArray[np.int64]:
        """See `ports.CommunityStore`."""
        (rows,) = self._backend.gather(statements.TOPIC_CHUNKS, ids=distinct(topic_ids))
        return np.array(sorted(map(tuple, rows)), dtype=np.int64).reshape(-1, 2)

    # --- keeping them up to date

    def partition(self) -> Partition | None:
        """See `ports.CommunityWriter`."""
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
        """See `ports.CommunityWriter`."""
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
        """See `ports.CommunityWriter`."""
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
