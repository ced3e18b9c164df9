"""What a store remembers of itself: its generation, its embedder, what is functional, next ids.

The statements stand here, too, since each back end uses them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clew.errors import StoreCorruptError, StoreMismatchError
from clew.ports import LoggedReply
from clew.stores.backend import Backend, Found, Statement
from clew.stores.statements import AMONG
from clew.types import Ids, Usage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class State:
    """What `STATE` returned; each value is read when it is asked for, since one may be damaged.

    Raises `StoreCorruptError` for one that cannot be read.
    """

    rows: Found

    @property
    def generation(self) -> int:
        """Grows with every commit that changes anything."""
        return self._read("generation", int, 0)

    @property
    def mentions_version(self) -> int:
        """Grows when mentions of old chunks change hands."""
        return self._read("epoch", int, 0)

    @property
    def dimension(self) -> int:
        """Of the vectors; 0 where none were ever saved."""
        return self._read("dimension", int, 0)

    @property
    def vectors(self) -> tuple[str, int] | None:
        """Name and dimension of the embedder, once one is known."""
        name, dimension = self._read("embedder", str, ""), self.dimension
        return (name, dimension) if name and dimension else None

    @property
    def functional(self) -> list[str]:
        """Relation types of which a later fact ends an earlier one, sorted."""
        return self._read("functional", lambda text: list(json.loads(text)), "[]")

    @property
    def packs(self) -> list[str]:
        """Names of the packs that are enabled, in the order in which they were."""
        return self._read("packs", lambda text: list(json.loads(text)), "[]")

    @property
    def copying(self) -> str | None:
        """How far a copy into the store has come; None for a store that is whole."""
        return self._read("copying", lambda text: text, None)

    @property
    def last_chunk(self) -> int:
        """The highest id of a chunk; 0 where there is none."""
        return int(self.rows[0][-1])

    def _read(self, name: str, convert: Callable[[Any], T], default: object) -> T:
        value = self.rows[0][_META.index(name)]
        try:
            return convert(default if value is None else value)
        except (TypeError, ValueError) as error:
            raise StoreCorruptError(
                f"the store is damaged: its {name} is {value!r}, which cannot be read; restore it"
                " from a backup, or delete it and index again"
            ) from error


class NextIds(NamedTuple):
    """The row of `NEXT_IDS`: the first id of each table that was never given."""

    sections: int
    chunks: int
    entities: int
    aliases: int
    relations: int


COUNTER = """
CALL () {
    MATCH (s:ClewStore {namespace: $namespace}) WHERE $worker = 0 RETURN s
    UNION MATCH (s:ClewWorker {namespace: $namespace, number: $worker}) RETURN s
}
"""
"""Cypher: `s`, which gives ids to who writes and counts the changes: the store, or a worker."""
CHANGES = """
MATCH (s:ClewStore {namespace: $namespace})
OPTIONAL MATCH (w:ClewWorker {namespace: $namespace}) WHERE w.number > 0
WITH s, sum(w.generation) AS generation, sum(w.epoch) AS epoch
WITH s, s.generation + generation AS generation, s.epoch + epoch AS epoch
"""
"""Cypher: the store `s`, and how often it and its workers have changed it."""
_META = ("generation", "epoch", "embedder", "dimension", "functional", "copying", "packs")

STATE = Statement(
    # A value that is null is damage, unlike one that there is not.
    "SELECT "
    + ", ".join(f"(SELECT coalesce(value, 'null') FROM meta WHERE name = '{n}')" for n in _META)
    + ", (SELECT coalesce(max(id), 0) FROM chunks)",
    f"""{CHANGES}
RETURN [generation, epoch, {", ".join(f"s.{name}" for name in _META[2:])}, s.next_chunk - 1] AS row
""",
)
NEXT_IDS = Statement(
    "SELECT "
    + ", ".join(
        f"1 + coalesce(max(CASE name WHEN '{table}' THEN seq END), 0)" for table in NextIds._fields
    )
    + " FROM sqlite_sequence",
    f"""{COUNTER}
RETURN [s.next_section, s.next_chunk, s.next_entity, s.next_alias, s.next_relation] AS row
""",
)
# Rows: name, value.
REMEMBER = Statement(
    "INSERT OR REPLACE INTO meta VALUES (:name, :value)",
    """
UNWIND $rows AS row
MATCH (s:ClewStore {namespace: $namespace}) SET s[row.name] = row.value
""",
)
COUNT_CHANGE = Statement(
    """
UPDATE meta SET value = value + CASE name WHEN 'generation' THEN :changes ELSE :moves END
WHERE name IN ('generation', 'epoch')
""",
    """
MATCH (s:ClewStore {namespace: $namespace})
SET s.generation = s.generation + $changes, s.epoch = s.epoch + $moves
""",
)


# Entities by the ids of their aliases. Columns: alias id, entity id.
ENTITIES_OF_ALIASES = Statement(
    "SELECT id, entity_id FROM aliases WHERE id IN (SELECT value FROM json_each(:ids))",
    """
UNWIND $ids AS id
MATCH (a:ClewAlias {namespace: $namespace, id: id})
    -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
RETURN [id, e.id] AS row
""",
)
# Give no id again that was ever given. Rows: table, last (the highest id given, at least 1).
RESERVE_IDS = Statement(
    """
INSERT OR REPLACE INTO sqlite_sequence (rowid, name, seq) SELECT
    (SELECT rowid FROM sqlite_sequence WHERE name = :table), :table,
    max(:last, coalesce((SELECT seq FROM sqlite_sequence WHERE name = :table), 0))
""",
    """
UNWIND $rows AS row
WITH row.last + 1 AS free, {
    sections: 'next_section', chunks: 'next_chunk', entities: 'next_entity',
    aliases: 'next_alias', relations: 'next_relation'}[row.table] AS counter
MATCH (s:ClewStore {namespace: $namespace}) WHERE s[counter] < free
SET s[counter] = free
""",
)
FORGET_MARK = Statement(
    "DELETE FROM meta WHERE name = 'copying'",
    "MATCH (s:ClewStore {namespace: $namespace}) REMOVE s.copying",
)


class StoreState:
    """What every part of a store knows: its back end and the store's state."""

    backend: Backend

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._bound: tuple[str, int] | None = None
        self._here = threading.local()

    @property
    def folder(self) -> Path:
        """The folder on this machine that holds what is derived from it."""
        return self.backend.folder

    def grouping(self) -> AbstractContextManager[None]:
        """Inside it, what this thread saves lasts through loss of power at the end, all together.

        Outside, each transaction does when it returns. Either lasts through a crash of the process.
        """
        return self.backend.grouping()

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
        self.backend.close()

    @contextmanager
    def pinned_generation(self, *, anew: bool = False) -> Iterator[None]:
        """Inside it, a thread may get generation, mentions version and embedder of its beginning.

        Inside another they are those of the outer one, unless asked for `anew`. It saves asking for
        them again and again.

        `reading` has its own, of the moment that it reads.
        """
        kept = self._pinned_state is not None and not anew
        with nullcontext() if kept else self._with_state(self._read_state()):
            yield

    @contextmanager
    def _with_state(self, state: State | None) -> Iterator[None]:
        before, self._here.state = self._pinned_state, state
        try:
            yield
        finally:
            self._here.state = before

    @property
    def _pinned_state(self) -> State | None:
        found: State | None = getattr(self._here, "state", None)
        return found

    def state(self) -> State:
        """What the store remembers of itself; what it was when `pinned_generation` began."""
        return self._pinned_state or self._read_state()

    def _read_state(self) -> State:
        return State(self.backend.rows(STATE))

    def generation(self) -> int:
        """A number that grows with every commit that changes anything."""
        return int(self.state().generation)

    def mentions_version(self) -> int:
        """A number that grows when mentions of old chunks change hands, or old chunks come back.

        Merging and splitting entities do the one, bringing back a backup the other.
        """
        return int(self.state().mentions_version)

    def last_chunk(self) -> int:
        """About the highest id of a chunk: at least the number of chunks; 0 where none was ever."""
        return self.state().last_chunk

    def embedder(self) -> tuple[str, int] | None:
        """Name and dimension of the embedder that the store was built with."""
        return self.state().vectors

    def bind_embedder(self, embedder: str, dimension: int) -> None:
        """Make sure that the store's vectors are this embedder's; the first one is remembered.

        Raises `StoreMismatchError` where they are another's.
        """
        wanted = (embedder, dimension)

        def bind() -> None:
            if not self._holds(wanted):
                remember_embedder(self.backend, wanted)

        if not self._holds(wanted):
            self.backend.write(bind)
            self.backend.define_vectors(dimension)
        self._bound = wanted

    def _holds(self, wanted: tuple[str, int]) -> bool:
        """Whether the store's vectors are this embedder's; False where there are none yet."""
        known = self.embedder()
        if known not in (None, wanted):
            raise StoreMismatchError(
                f"the store was built with the embedder {known[0]!r} ({known[1]} dimensions), but"
                f" {wanted[0]!r} ({wanted[1]} dimensions) was asked for; choose the former, or"
                " embed all documents again with `clew reindex`"
            )
        return known is not None


def remember_embedder(backend: Backend, embedder: tuple[str, int]) -> None:
    """Say whose vectors the store holds from now on; call inside `write`."""
    remember(backend, embedder=embedder[0], dimension=embedder[1])


def remember(backend: Backend, **values: str | int | bytes) -> None:
    """Write down what the store is to know of itself, by name; call inside `write`."""
    backend.execute_many(REMEMBER, [{"name": n, "value": value} for n, value in values.items()])


# Requests to language models and their replies, over any back end.


class Replies:
    """Requests and their replies; a store that can only be read keeps nothing new."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def find(self, key: str, *, counted: bool) -> LoggedReply | None:
        """The request of that key that was answered; None for none.

        `counted`: it is used again, and its `hits` grow.
        """
        found = self._backend.rows(FIND_REPLY, key=key)
        if found and counted and not self._backend.read_only:
            # The number is of no account without what follows it.
            self._backend.write(lambda: self._backend.execute(COUNT_HIT, key=key), durable=False)
        return _entry(found[0]) if found else None

    def record(self, entry: LoggedReply) -> None:
        """Keep a request, in place of one of the same key."""
        if not self._backend.read_only:
            row = asdict(entry)
            row |= row.pop("usage") | {"documents": json.dumps(entry.documents)}
            self._backend.write(lambda: self._backend.execute_many(RECORD_REPLY, [row]))

    def entries(self) -> Sequence[LoggedReply]:
        """All requests, the latest first, without their replies."""
        return [_entry(row) for row in self._backend.rows(ALL_REPLIES)]

    def clear(self) -> int:
        """Forget all requests; how many."""

        def work() -> int:
            ((count,),) = self._backend.rows(COUNT_REPLIES)
            self._backend.execute(CLEAR_REPLIES)
            return int(count)

        return self._backend.write(work)


def _entry(values: Sequence[Any]) -> LoggedReply:
    row = dict(zip(COLUMNS, values, strict=True))
    usage = Usage(
        **{name: row.pop(name) for name in ("input_tokens", "cached_tokens", "output_tokens")}
    )
    return LoggedReply(**{**row, "documents": tuple(json.loads(row["documents"])), "usage": usage})


# What language models were asked, and what they answered: the table `llm_cache`.


COLUMNS = (
    *("key", "task", "model", "subject", "documents", "reason", "reply", "characters"),
    *("input_tokens", "cached_tokens", "output_tokens", "cost", "seconds", "at", "hits"),
)
_SQL = ", ".join(COLUMNS)
_CYPHER = ", ".join(f"n.{name}" for name in COLUMNS)
# Without the replies themselves, which may be long.
_SQL_LIST = ", ".join("''" if name == "reply" else name for name in COLUMNS)
_CYPHER_LIST = ", ".join("''" if name == "reply" else f"n.{name}" for name in COLUMNS)
_NODE = "(n:ClewReply {namespace: $namespace})"

FIND_REPLY = Statement(
    f"SELECT {_SQL} FROM llm_cache WHERE key = :key AND reason = ''",
    f"""
MATCH (n:ClewReply {{namespace: $namespace, key: $key}}) WHERE n.reason = ''
RETURN [{_CYPHER}] AS row
""",
)
COUNT_HIT = Statement(
    "UPDATE llm_cache SET hits = hits + 1 WHERE key = :key",
    "MATCH (n:ClewReply {namespace: $namespace, key: $key}) SET n.hits = n.hits + 1",
)
RECORD_REPLY = Statement(
    f"INSERT OR REPLACE INTO llm_cache ({_SQL}) VALUES ({', '.join(f':{n}' for n in COLUMNS)})",
    """
UNWIND $rows AS row
MERGE (n:ClewReply {namespace: $namespace, key: row.key}) SET n += row
""",
)
ALL_REPLIES = Statement(
    f"SELECT {_SQL_LIST} FROM llm_cache ORDER BY at DESC, key",
    f"""
MATCH {_NODE} WHERE n.key IS NOT NULL
RETURN [{_CYPHER_LIST}] AS row ORDER BY n.at DESC, n.key
""",
)
COUNT_REPLIES = Statement(
    "SELECT count(*) FROM llm_cache",
    f"MATCH {_NODE} WHERE n.key IS NOT NULL RETURN [count(n)] AS row",
)
CLEAR_REPLIES = Statement(
    "DELETE FROM llm_cache", f"MATCH {_NODE} WHERE n.key IS NOT NULL DELETE n"
)
# What was said of a document goes with it. `documents` is a JSON list of ids.
DELETE_REPLIES_ABOUT = Statement(
    """
DELETE FROM llm_cache WHERE documents <> '[]' AND EXISTS (
    SELECT 1 FROM json_each(documents) d, json_each(:ids) i WHERE d.value = i.value)
""",
    f"""
MATCH {_NODE} WHERE n.key IS NOT NULL AND any(id IN $ids WHERE n.documents CONTAINS id)
DELETE n
""",
)


# What changed of late: what is derived from a store takes in this alone, not the whole store.
#
# The store keeps two logs, of the newest changes only: which chunks were deleted, by generation,
# and
# which chunks' mentions changed, by the mentions version that this made. Names that become
# another
# entity's, what readers find in old passages, and pruning change mentions; a commit that nobody
# noted
# shows as a gap. Who is further behind reads everything.


MOST = 2000
"""Ids that each log keeps."""

# Columns of both: the log as JSON; no row where nothing was ever noted.
_DELETED, _MOVED = (
    Statement(
        f"SELECT value FROM meta WHERE name = '{name}'",
        f"""
MATCH (s:ClewStore {{namespace: $namespace}}) WHERE s.{name} IS NOT NULL
RETURN [s.{name}] AS row
""",
    )
    for name in ("deleted", "moved")
)
# What a deletion has to know. Columns: the chunks' ids, of which there may be none.
DELETING = (
    Statement(
        f"SELECT id FROM chunks WHERE document_id {AMONG}",
        """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id}) WHERE c.id > 0
RETURN [c.id] AS row
""",
    ),
    _DELETED,
)
# One more than are kept tells that there are too many.
_CHUNKS_OF_ALIASES = Statement(
    f"SELECT DISTINCT chunk_id FROM mentions WHERE alias_id {AMONG} LIMIT :most",
    """
UNWIND $ids AS id
MATCH (:ClewAlias {namespace: $namespace, id: id})-[:NAMES {namespace: $namespace}]->(e)
MATCH (e)<-[m:MENTIONS {namespace: $namespace, alias_id: id}]-()
WITH DISTINCT m.chunk_id AS chunk LIMIT $most
RETURN [chunk] AS row
""",
)
_CHUNKS_OF_ENTITIES = Statement(
    f"SELECT DISTINCT chunk_id FROM entity_mentions WHERE entity_id {AMONG} LIMIT :most",
    """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
MATCH (e)<-[m:MENTIONS {namespace: $namespace}]-()
WITH DISTINCT m.chunk_id AS chunk LIMIT $most
RETURN [chunk] AS row
""",
)


def note_deleted(backend: Backend, generation: int, chunks: Found, held: Found) -> None:
    """Note what `DELETING` returned before documents are deleted; call inside `write`."""
    log = _read(held)
    if not log or sum(len(ids) for _, *ids in log[1:]) + len(chunks) > MOST:
        log = [[generation]]  # what went before is not known from here on
    log.append([generation, *(row[0] for row in chunks)])
    remember(backend, deleted=json.dumps(log))


def chunks_naming(
    backend: Backend, *, aliases: Iterable[int] = (), entities: Iterable[int] = ()
) -> set[int]:
    """Ids of the chunks that mention some aliases or entities, `MOST` and one more of either."""
    asked = ((_CHUNKS_OF_ALIASES, list(aliases)), (_CHUNKS_OF_ENTITIES, list(entities)))
    return {
        row[0]
        for statement, ids in asked
        if ids
        for row in backend.rows(statement, ids=ids, most=MOST + 1)
    }


def count_move(backend: Backend, chunk_ids: Collection[int], *, changes: int = 1) -> None:
    """Count a change of the mentions of these chunks, and note them; call inside `write`, once."""
    held, state = backend.gather(_MOVED, STATE)
    log = [*_read(held), [State(state).mentions_version + 1, *sorted(map(int, chunk_ids))]]
    while log and sum(map(len, log)) - len(log) > MOST:
        del log[0]
    remember(backend, moved=json.dumps(log))
    backend.execute(COUNT_CHANGE, changes=changes, moves=1)


def count_moved_aliases(backend: Backend, aliases: Iterable[int], *, changes: int = 1) -> None:
    """Count a change by which these aliases became another entity's, and note where they stand."""
    count_move(backend, chunks_naming(backend, aliases=aliases), changes=changes)


class Changes(StoreState):
    """What changed since a generation or a mentions version."""

    def deleted_since(self, generation: int) -> Ids | None:
        """Sorted ids of the chunks deleted since a generation, and perhaps of some before.

        None: not known, since too much was deleted meanwhile.
        """
        log = _read(self.backend.rows(_DELETED))
        if not log or log[0][0] > generation:
            return None
        ids = [one for at, *some in log[1:] if at >= generation for one in some]
        return np.unique(np.array(ids, dtype=np.int64))

    def moved_since(self, mentions_version: int) -> Ids | None:
        """Sorted ids of the chunks whose mentions changed hands since a version, and perhaps more.

        None: not known, since too many did meanwhile, or old chunks came back.
        """
        now = self.mentions_version()
        notes = {version: ids for version, *ids in _read(self.backend.rows(_MOVED))}
        missed = range(mentions_version + 1, now + 1)
        if mentions_version > now or not all(version in notes for version in missed):
            return None
        found = [one for version in missed for one in notes[version]]
        return np.unique(np.array(found, dtype=np.int64))


def _read(held: Found) -> list[list[int]]:
    """A number and ids each; nothing where what is there cannot be read."""
    try:
        log = json.loads(held[0][0]) if held else []
        sound = isinstance(log, list) and all(
            one and all(type(number) is int for number in one) for one in log
        )
    except (TypeError, ValueError):
        return []
    return log if sound else []
