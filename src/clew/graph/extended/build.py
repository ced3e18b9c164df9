"""A snapshot of the store as it stands, from an earlier one where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.graph.extended.moved import Moved, with_mentions
from clew.graph.extended.snapshot import ExtendedSnapshot
from clew.graph.snapshot import Snapshot
from clew.graph.snapshot_columns import find_sorted, read_columns

if TYPE_CHECKING:
    from clew.graph.snapshot import Ints
    from clew.graph.snapshot_columns import Columns
    from clew.ports import SnapshotSource
    from clew.types import Ids


def build(source: SnapshotSource, previous: Snapshot | None = None) -> Snapshot:
    """A snapshot of the store as it stands; `previous` is extended where it can be."""
    generation, mentions_version = source.generation(), source.mentions_version()
    if previous is not None and previous.generation == generation:
        return previous
    layers = None
    if previous is not None and previous.chunks:
        changed = source.moved_since(previous.mentions_version)
        layers = None if changed is None else _extended(source, previous, changed)
    if layers is None:
        columns = _read_after(source, 0)
        return Snapshot(columns, generation=generation, mentions_version=mentions_version)
    extended = ExtendedSnapshot(*layers, generation=generation, mentions_version=mentions_version)
    return extended.whole if extended.large else extended


class _Layers(NamedTuple):
    """What an `ExtendedSnapshot` is made of."""

    base: Snapshot
    gone: Ints
    added: Columns
    moved: Moved

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return self.base.size - len(self.gone) + len(self.added.chunk_ids)


def _extended(source: SnapshotSource, previous: Snapshot, changed: Ids) -> _Layers | None:
    """An earlier snapshot with what was added since, without what is gone, with new mentions.

    None where ids below those known were saved later, so that more is to be read.
    """
    new = _read_after(source, int(previous.chunk_ids[-1]))
    layers = _Layers(previous, np.zeros(0, dtype=np.int64), new, Moved())
    if isinstance(previous, ExtendedSnapshot):
        added = previous.added.columns.append(new)
        layers = _Layers(previous.base, previous.gone, added, previous.moved)
    count = source.chunk_count()
    if count != previous.chunks + len(new.chunk_ids):
        deleted = source.deleted_since(previous.generation)
        layers = _without(layers, source, count, deleted)
    if layers.chunks < count:
        return None
    return _with_mentions(layers, source, changed)


def _without(layers: _Layers, source: SnapshotSource, count: int, deleted: Ids | None) -> _Layers:
    """Without the chunks deleted; where these are not known, with those alone that there are."""
    base, gone, added, _ = layers
    if deleted is not None:
        places, known = find_sorted(base.chunk_ids, deleted)
        gone = np.union1d(gone, places[known])
        added = added.keep(~np.isin(added.chunk_ids, deleted))
        layers = layers._replace(gone=gone, added=added)
    if layers.chunks != count:
        present = source.chunk_ids()
        gone = np.flatnonzero(~find_sorted(present, base.chunk_ids)[1])
        added = added.keep(find_sorted(present, added.chunk_ids)[1])
    return layers._replace(gone=gone, added=added)


def _with_mentions(layers: _Layers, source: SnapshotSource, changed: Ids) -> _Layers:
    """With the mentions that some chunks have now; none of what is gone."""
    base, gone, added, moved = layers
    if not len(changed) and not len(moved.rows):
        return layers
    found = source.mentions_of(changed)
    places, known = find_sorted(base.chunk_ids, changed)
    rows = np.setdiff1d(np.union1d(moved.rows, places[known]), gone)
    others = moved.mentions[~np.isin(moved.mentions[:, 0], changed)]
    mentions = np.concatenate([others, found])
    mentions = mentions[np.isin(mentions[:, 0], base.chunk_ids[rows])]
    mentions = mentions[np.argsort(mentions[:, 0], kind="stable")]
    later = found[np.isin(found[:, 0], added.chunk_ids)]
    return _Layers(base, gone, with_mentions(added, changed, later), Moved(rows, mentions))


def _read_after(source: SnapshotSource, after: int) -> Columns:
    return read_columns(source.passages(after), source.mention_rows(after))
