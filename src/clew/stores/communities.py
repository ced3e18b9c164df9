"""Communities and topics over any back end, of the generation that they say; and descriptions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.ports import CommunityChanges, Partition, ReportBasis, StoredDescription, TopicSet
from clew.stores.backend import Backend, Row, distinct, pairs, read_described, writing
from clew.stores.statements import snapshot as statements
from clew.stores.statements.relations import COLUMNS, DESCRIPTIONS
from clew.stores.statements.snapshot import BUILT, KEEP, PARTITION, reported
from clew.types import Community, Ids, Topic, Vectors

_SHOWN = ("id", "level", "parent", "title", "summary", "entities", "size", "sources")
_LISTS = ("sources", "documents")
"""Columns of a description that are lists."""


class Communities:
    """Communities that have a report, and topics: derived, kept because they take long to make.

    They are of the generation that `generation` gives: entities and chunks may have gone since. Of
    a store that can only be read they are this process's own.
    """

    def __init__(self, backend: Backend) -> None:
        """The store's own back end."""
        self.backend = backend

    def generation(self) -> int:
        """Generation of the store that they were last brought up to; -1 where never."""
        return self._built()[0]

    def _built(self) -> tuple[int, int]:
        """The generation of what there is, -1 for none; and the first id that no topic had."""
        ((built, next_topic),) = self.backend.rows(BUILT)
        return -1 if built is None else int(built), int(next_topic or 1)

    def members(self) -> NDArray[np.int64]:
        """(n, 3): entity id, level, community id; sorted."""
        (rows,) = self.backend.gather(statements.MEMBERS)
        parts = [np.empty((0, 3), dtype=np.int64)]
        for id_, level, _, members, is_reported in rows:
            if is_reported:
                held = _ids(members)
                place = np.broadcast_to([level, id_], (len(held), 2))
                parts.append(np.column_stack([held, place]))
        found = np.concatenate(parts)
        return found[np.lexsort((found[:, 2], found[:, 1], found[:, 0]))]

    def communities(
        self, *, ids: Sequence[int] | None = None, level: int | None = None
    ) -> list[Community]:
        """Communities by id (in that order), at one level, or all; largest first, then by id.

        At a level are its communities and those of coarser levels that have no parts: together they
        show everything once.
        """
        statement = reported(_SHOWN, among=ids is not None, at_level=level is not None)
        (rows,) = self.backend.gather(statement, ids=distinct(ids or ()), level=level)
        found: dict[int, Community] = {}
        for *shown, described in rows:
            values = dict(zip(_SHOWN, shown, strict=True))
            title, said = read_described(described)
            values |= {name: tuple(_list(values[name])) for name in ("entities", "sources")}
            values["parent"] = values["parent"] or None
            values["title"] = title or values["title"]
            values["summary"] = said.text if said else values["summary"]
            found[values["id"]] = Community(**values)
        if ids is not None:
            return [found[i] for i in map(int, ids) if i in found]
        return sorted(found.values(), key=lambda community: (-community.size, community.id))

    def community_vectors(self, level: int) -> tuple[Ids, Vectors]:
        """Ids of the communities at a level and their embeddings, by id."""
        statement = reported(("id", "embedding"), among=False, at_level=True)
        return _vectors(*self.backend.gather(statement, level=level))

    def topics(self, *, ids: Sequence[int] | None = None) -> list[Topic]:
        """Topics by id (in that order) or all; those of most documents first."""
        statement = statements.TOPICS if ids is None else statements.TOPICS_AMONG
        (rows,) = self.backend.gather(statement, ids=distinct(ids or ()))
        found: dict[int, Topic] = {}
        for id_, phrase, theme_phrase, passages, documents, of_topic, of_theme in rows:
            name, said = read_described(of_topic)
            found[id_] = Topic(
                id=id_,
                name=name or phrase,
                theme=read_described(of_theme)[0] or theme_phrase,
                passages=passages,
                documents=documents,
                phrase=phrase,
                theme_phrase=theme_phrase,
                description=said,
            )
        if ids is not None:
            return [found[i] for i in map(int, ids) if i in found]
        return sorted(found.values(), key=lambda t: (-t.documents, -t.passages, t.id))

    def topic_vectors(self) -> tuple[Ids, Vectors]:
        """Ids of all topics and their embeddings, by id."""
        return _vectors(*self.backend.gather(statements.TOPIC_VECTORS))

    def theme_vectors(self) -> tuple[Ids, Vectors]:
        """(topics,) number of the theme of each topic, by topic id; embeddings by theme number."""
        of_topics, rows = self.backend.gather(statements.TOPIC_THEMES, statements.THEME_VECTORS)
        themes = np.array([theme for _, theme in sorted(map(tuple, of_topics))], dtype=np.int64)
        return themes, _vectors(rows)[1]

    def topic_chunks(self, topic_ids: Sequence[int]) -> NDArray[np.int64]:
        """(n, 2): topic id, id of a chunk that is on it; sorted."""
        (rows,) = self.backend.gather(statements.TOPIC_CHUNKS, ids=distinct(topic_ids))
        return np.array(sorted(map(tuple, rows)), dtype=np.int64).reshape(-1, 2)

    # --- keeping them up to date

    def partition(self) -> Partition | None:
        """What was last written, communities without a report among it; None if never."""
        (kept,), rows = self.backend.gather(PARTITION, statements.MEMBERS)
        if None in kept:
            return None
        rows.sort(key=lambda row: row[0])
        ids, levels, parents = (np.array([r[i] for r in rows], np.int64) for i in range(3))
        held = [_ids(row[3]) for row in rows]
        members = np.concatenate([np.empty(0, dtype=np.int64), *held])
        return Partition(
            ids=ids,
            levels=levels,
            parents=parents,
            members=np.column_stack([np.repeat(ids, [len(h) for h in held]), members]),
            entity_ids=_ids(kept[0]),
            neighbourhoods=_ids(kept[1]),
            strengths=np.frombuffer(kept[2], dtype="<f4"),
            moved=int(kept[3]),
            next_id=int(kept[4]),
        )

    def report_bases(self) -> Mapping[int, ReportBasis]:
        """What each community's report speaks of, by community id."""
        (rows,) = self.backend.gather(statements.REPORT_BASES)
        names = ("entity_ids", "entities", "sources")
        return {
            id_: ReportBasis(**{n: tuple(_list(v)) for n, v in zip(names, of, strict=True)})
            for id_, *of in rows
        }

    def write(self, changes: CommunityChanges) -> bool:
        """Make the changes, all or none; False, and none, where `generation` is not as expected.

        Communities that the partition does not hold are gone afterwards, with their reports. The
        store's generation does not change.
        """
        self.backend = self.backend.writable()
        return self._write(changes)

    @writing
    def _write(self, changes: CommunityChanges) -> bool:
        built, next_topic = self._built()
        if built != changes.expected:
            return False
        gone, partition = self._write_partition(changes.partition), changes.partition
        reports: list[Row] = [
            {
                "id": int(report.community_id),
                "title": report.title,
                "summary": report.summary,
                "entities": json.dumps(report.basis.entities, ensure_ascii=False),
                "entity_ids": json.dumps(list(map(int, report.basis.entity_ids))),
                "sources": json.dumps(list(map(int, report.basis.sources))),
                "embedding": _bytes(report.vector),
            }
            for report in changes.reports
        ]
        self.backend.update("communities", reports)
        # What a language model said of a community before it changed.
        outdated = {*gone, *(report["id"] for report in reports)}
        self.backend.delete("descriptions", [f"community:{id_}" for id_ in sorted(outdated)])
        kept: dict[str, int | bytes] = {
            "built": changes.generation,
            "entity_ids": partition.entity_ids.astype("<i8").tobytes(),
            "neighbourhoods": partition.neighbourhoods.astype("<i8").tobytes(),
            "strengths": _bytes(partition.strengths),
            "moved": partition.moved,
            "next_id": partition.next_id,
        }
        if changes.topics is not None:
            kept["next_topic"] = self._write_topics(changes.topics, next_topic)
        values = [{"name": name, "value": value} for name, value in kept.items()]
        self.backend.execute_many(KEEP, values)
        return True

    def _write_partition(self, partition: Partition) -> list[int]:
        """Rows of communities that stay are left as they are, but for their place above others.

        Returns the ids of those that are gone.
        """
        known = {row[0]: (row[1], row[2]) for row in self.backend.rows(statements.PLACES)}
        ids = partition.ids.tolist()
        gone = sorted(known.keys() - set(ids))
        starts = np.searchsorted(partition.members[:, 0], partition.ids)
        members = np.split(partition.members[:, 1], starts[1:]) if ids else []
        new: list[Row] = []
        moved: list[Row] = []
        places = zip(ids, partition.levels.tolist(), partition.parents.tolist(), strict=True)
        for (id_, *place), held in zip(places, members, strict=True):
            row = {"id": id_, "level": place[0], "parent": place[1]}
            if id_ not in known:
                new.append({**row, "size": len(held), "members": held.astype("<i8").tobytes()})
            elif known[id_] != tuple(place):
                moved.append(row)
        self.backend.delete("communities", gone)
        self.backend.insert({"communities": new})
        self.backend.update("communities", moved)
        return gone

    def _write_topics(self, topics: TopicSet, free: int) -> int:
        """Replace all topics; those of a known key keep their id. The first id that is still free.

        No other topic gets an id that one ever had.
        """
        known = pairs(self.backend.rows(statements.TOPIC_KEYS))
        themes = pairs(self.backend.rows(statements.THEMES))
        self.backend.delete("topics", list(known.values()))
        self.backend.delete("themes", list(themes))
        gone = [f"topic:{known[key]}" for key in known.keys() - set(topics.keys)]
        gone += [f"theme:{title}" for title in set(themes.values()) - set(topics.theme_titles)]
        self.backend.delete("descriptions", gone)
        passages: list[list[int]] = [[] for _ in topics.keys]
        for topic, chunk_id in topics.chunks.tolist():
            passages[topic].append(chunk_id)
        rows: list[Row] = []
        for position, (key, chunks) in enumerate(zip(topics.keys, passages, strict=True)):
            rows.append(
                {
                    "id": known.get(key, free),
                    "key": key,
                    "name": topics.names[position],
                    "theme": int(topics.themes[position]),
                    "passages": len(chunks),
                    "documents": int(topics.documents[position]),
                    "chunks": json.dumps(chunks),
                    "embedding": _bytes(topics.vectors[position]),
                }
            )
            free += key not in known
        titled = zip(topics.theme_titles, topics.theme_vectors, strict=True)
        of_themes = [
            {"number": number, "title": title, "embedding": _bytes(vector)}
            for number, (title, vector) in enumerate(titled)
        ]
        self.backend.insert({"themes": of_themes, "topics": rows})
        return free


def _bytes(vector: NDArray[np.float32]) -> bytes:
    return vector.astype("<f4").tobytes()


def _ids(value: bytes | list[int]) -> Ids:
    if isinstance(value, bytes):
        return np.frombuffer(value, dtype="<i8")
    return np.array(value, dtype=np.int64)


def _list(value: str | list[Any]) -> list[Any]:
    return list(json.loads(value)) if isinstance(value, str) else value


def _vectors(rows: Iterable[Sequence[Any]]) -> tuple[Ids, Vectors]:
    """Ids and embeddings, by id."""
    found = sorted((row[0], row[1]) for row in rows)
    width = len(found[0][1]) // 4 if found else 0
    vectors = np.frombuffer(b"".join(row[1] for row in found), dtype="<f4")
    return np.array([row[0] for row in found], np.int64), vectors.reshape(len(found), width)


class Descriptions:
    """What a language model says of topics, documents, entities and communities."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def descriptions(self, *kinds: str) -> dict[str, StoredDescription]:
        """All of some kinds, such as `entity`, by key."""
        found = {}
        for kind in kinds:
            # ";" is the character after ":".
            for row in self.backend.rows(DESCRIPTIONS, first=f"{kind}:", after=f"{kind};"):
                values = dict(zip(COLUMNS, row, strict=True))
                values |= {name: tuple(json.loads(values[name])) for name in _LISTS}
                found[row[0]] = StoredDescription(**values)
        return found

    @writing
    def describe(self, made: Sequence[StoredDescription]) -> None:
        """Keep descriptions, in place of those of the same keys."""
        rows = [
            {name: getattr(one, name) for name in COLUMNS}
            | {name: json.dumps(getattr(one, name)) for name in _LISTS}
            for one in made
        ]
        self.backend.delete("descriptions", [one.key for one in made])
        self.backend.insert({"descriptions": rows})

    @writing
    def forget(self, keys: Sequence[str]) -> None:
        """Delete descriptions; unknown keys are left out."""
        self.backend.delete("descriptions", list(keys))
