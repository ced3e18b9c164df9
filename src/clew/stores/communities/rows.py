"""Communities and topics between the arrays of `ports` and the rows of a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.ports import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.ports import TopicSet
    from clew.types import Ids, Scores


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
