"""What a store remembers of itself: its generation, its embedder, what is functional, next ids.

The statements stand here, too, since each back end uses them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from clew.errors import StoreCorruptError, StoreMismatchError
from clew.ports.models import LoggedReply
from clew.stores.backend import Backend, Found, Statement
from clew.types.results import Usage

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


_TOKENS = ("input_tokens", "cached_tokens", "output_tokens")


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
            self._backend.write(lambda: self._backend.execute_many(RECORD_REPLY, [_row(entry)]))

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


def _row(entry: LoggedReply) -> dict[str, Any]:
    row = asdict(entry)
    row |= row.pop("usage")
    row["documents"] = json.dumps(entry.documents)
    return {name: row[name] for name in COLUMNS}


def _entry(values: Sequence[Any]) -> LoggedReply:
    row = dict(zip(COLUMNS, values, strict=True))
    usage = Usage(**{name: row.pop(name) for name in _TOKENS})
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
