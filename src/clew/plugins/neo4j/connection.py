"""Connections to Neo4j, and transactions.

Who writes to a namespace locks its `ClewStore` node first, until the commit, then its workers: any
number of machines may write, one at a time within a namespace, so that ids and generations grow in
the order of the commits. Computing embeddings, which is most of indexing, needs no lock. A worker
that saves beside others locks its own node alone (`neo4j.store`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from clew.errors import (
    MissingExtraError,
    StoreBusyError,
    StoreError,
    StoreMismatchError,
    StoreUnavailableError,
)
from clew.request_end import go_on
from clew.stores.backend import half_character

if TYPE_CHECKING:
    from neo4j import ManagedTransaction, Query, Session, Transaction

    from clew.settings import Neo4jSettings


T = TypeVar("T")
Row = list[Any]

# Writing a property takes the node's lock; what is read afterwards is what the last holder left.
_LOCK = """
MATCH (s:ClewStore {namespace: $namespace}) SET s.locked = true
WITH s CALL () {
    MATCH (w:ClewWorker {namespace: $namespace}) WHERE w.number > 0
    WITH w ORDER BY w.number SET w.locked = true
}
MATCH (v:ClewSchema {name: 'store'}) RETURN v.version
"""
_LOCK_WORKER = """
MATCH (w:ClewWorker {namespace: $namespace, number: $worker}) SET w.locked = true
WITH w MATCH (v:ClewSchema {name: 'store'}) RETURN v.version
"""
_SHOWN = 60
_log = logging.getLogger("clew")


class Neo4jDatabase:
    """One namespace of a Neo4j database; threads share one, processes open their own.

    Every query is sent with `namespace` and `worker`. Raises `StoreUnavailableError` where the
    server cannot be reached, `StoreBusyError` where something that should pass did not within
    `retry_seconds`, and `StoreError` for all else; never the driver's own errors.
    """

    def __init__(self, address: str, settings: Neo4jSettings, namespace: str) -> None:
        """Nothing is connected before the first query."""
        self.address = address
        self.namespace = namespace
        self.schema: int | None = None
        """Version that this process works with, once it has seen to it; checked at each lock."""
        self._settings = settings
        self._here = threading.local()
        try:
            from neo4j import GraphDatabase
        except ImportError as error:
            raise MissingExtraError("a store on Neo4j", "neo4j") from error
        login = (settings.user, settings.password.get_secret_value())
        self._driver = GraphDatabase.driver(
            address,
            auth=login if settings.user and login[1] else None,
            connection_timeout=settings.connect_seconds,
            connection_acquisition_timeout=settings.connect_seconds + 5,
            max_transaction_retry_time=settings.retry_seconds,
            notifications_min_severity="OFF",
            user_agent="clew",
        )
        self._closed = False

    def connect(self) -> None:
        """Make sure that the server answers; at once, without trying again."""
        with self._translated(), self._session(writes=False) as session:
            session.run("RETURN 1").consume()

    def close(self) -> None:
        """Let go of connections; may be called twice."""
        self._closed = True
        self._driver.close()

    # --- queries

    def rows(self, query: str, **parameters: object) -> list[Row]:
        """The rows that a query returns, as lists; one round trip.

        Within `write`, `batch` or `reading` it is a part of their transaction; else it only reads
        and is repeated while it fails for a reason that passes.
        """
        values = {"namespace": self.namespace, "worker": self.worker, **parameters}
        started = time.perf_counter()
        with self._translated():
            if self.in_transaction:
                found = [list(row.values()) for row in self._here.transaction.run(query, values)]
            else:
                found = self._read(query, values)
        spent = 1000 * (time.perf_counter() - started)
        _log.debug("neo4j rows=%d ms=%.1f %s", len(found), spent, " ".join(query.split())[:_SHOWN])
        return found

    def value(self, query: str, **parameters: object) -> Any:  # noqa: ANN401 - any column's
        """The first value of the first row; None where there is none."""
        found = self.rows(query, **parameters)
        return found[0][0] if found else None

    def _read(self, query: str, values: dict[str, object]) -> list[Row]:
        from neo4j.exceptions import DriverError, Neo4jError

        go_on()
        asked = self._bounded(query)
        deadline, pause = time.monotonic() + self._settings.retry_seconds, 0.05
        while True:
            try:
                with self._session(writes=False) as session:
                    return [list(row.values()) for row in session.run(asked, values)]
            except (Neo4jError, DriverError) as error:
                if not error.is_retryable() or time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 2.0)

    # --- queries of others, which may only read

    def explained(self, query: str, values: Mapping[str, object]) -> tuple[str, Mapping[str, Any]]:
        """Kind of a query (`r` where it reads) and the last operator of its plan; none is run."""
        with self._translated(), self._session(writes=False) as session:
            summary = session.run(self._bounded(f"EXPLAIN {query}"), dict(values)).consume()
        return summary.query_type or "", summary.plan or {}

    def bounded_rows(
        self, query: str, values: Mapping[str, object], limit: int
    ) -> tuple[tuple[str, ...], list[Row]]:
        """Columns and the first rows of a query; the server refuses whatever writes."""
        with self._translated(), self._session(writes=False) as session:
            result = session.run(self._bounded(query), dict(values))
            return tuple(result.keys()), [list(row.values()) for row in result.fetch(limit)]

    def _bounded(self, query: str) -> Query:
        from neo4j import Query

        return Query(query, timeout=self._settings.query_seconds)

    # --- transactions

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside `write`, `batch` or `reading`."""
        return getattr(self._here, "transaction", None) is not None

    @property
    def worker(self) -> int:
        """As which worker this thread writes; 0 where it writes alone."""
        return int(getattr(self._here, "worker", 0))

    def write(self, work: Callable[[], T], *, worker: int = 0) -> T:
        """Do what writes, all of it or nothing; beside a `worker`, other workers may write, too.

        The queries of `work` (`rows`) are one transaction. It may be called again, from its
        beginning, where the transaction failed for a reason that passes.
        """
        if self.in_transaction:
            if not self._here.writes:
                raise StoreError(
                    f"cannot begin to write to the store {self.address!r} while this thread reads"
                    " one state of it; leave `reading()` first"
                )
            return work()

        def locked(transaction: ManagedTransaction) -> T:
            with self._within(transaction, writes=True, worker=worker):
                self._lock(_LOCK_WORKER if worker else _LOCK)
                return work()

        from neo4j import unit_of_work

        bounded = unit_of_work(timeout=self._settings.query_seconds)(locked)
        with self._translated(), self._session(writes=True) as session:
            return session.execute_write(bounded)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Give this thread's writes inside one commit.

        What was written before an exception of the caller's lasts; where the server fails, nothing
        of the batch does. Other writers wait until the end. There are no savepoints: what may be
        refused is to be checked before the first query that writes.
        """
        from neo4j.exceptions import DriverError, Neo4jError

        if self.in_transaction:
            raise StoreError(
                f"cannot begin a batch in the store {self.address!r} within another one or within"
                " `reading()`; leave that first"
            )
        failed: Exception | None = None
        with self._translated(), self._transaction() as transaction:
            with self._within(transaction, writes=True):
                self._lock(_LOCK)
                try:
                    yield
                except (Neo4jError, DriverError):
                    raise
                except Exception as error:  # noqa: BLE001 - raised again after the commit
                    failed = error
            transaction.commit()
        if failed is not None:
            raise failed

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let this thread's reads inside see one state: nobody writes to the namespace meanwhile.

        Neo4j reads what is committed at each moment; only the writers' lock keeps a state.
        """
        if self.in_transaction:
            yield
            return
        with self._translated(), self._transaction() as transaction:
            with self._within(transaction, writes=False):
                self._lock(_LOCK)
                yield
            transaction.rollback()

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        with (
            self._session(writes=True) as session,
            session.begin_transaction(timeout=self._settings.query_seconds) as transaction,
        ):
            yield transaction

    @contextmanager
    def _within(
        self, transaction: Transaction | ManagedTransaction, *, writes: bool, worker: int = 0
    ) -> Iterator[None]:
        here = self._here
        here.transaction, here.writes, here.worker = transaction, writes, worker
        try:
            yield
        finally:
            here.transaction, here.worker = None, 0

    def _lock(self, query: str) -> None:
        """Wait for others; raise where another version of Clew has changed the schema meanwhile."""
        found = self.value(query)
        if None not in (found, self.schema) and found != self.schema:
            raise StoreMismatchError(
                f"the store {self.address!r} has schema version {found} by now, and this process"
                f" works with {self.schema}: another version of Clew changed it; end this process"
                " and start it with that version"
            )

    @contextmanager
    def _session(self, *, writes: bool) -> Iterator[Session]:
        if self._closed:
            raise StoreError(f"the store {self.address!r} is closed; open it again")
        session = self._driver.session(
            database=self._settings.database,
            default_access_mode="WRITE" if writes else "READ",
        )
        with session:
            yield session

    # --- schema

    def define(self, statement: str) -> None:
        """Run a statement that defines a constraint or an index, in a transaction of its own.

        What another process has made meanwhile is well, too: two that make the same index at once
        both find none, and the server refuses the second.
        """
        from neo4j.exceptions import ClientError

        with self._translated(), self._session(writes=True) as session:
            try:
                session.execute_write(lambda transaction: transaction.run(statement).consume())
            except ClientError as error:
                if not (error.code or "").endswith("AlreadyExists"):
                    raise

    # --- errors

    @contextmanager
    def _translated(self) -> Iterator[None]:
        from neo4j.exceptions import DriverError, Neo4jError

        try:
            yield
        except (Neo4jError, DriverError) as error:
            # Inside a managed transaction the driver has to see its own errors to try again.
            if self.in_transaction:
                raise
            raise translated(error, self.address, self._settings) from error
        except UnicodeEncodeError as error:
            raise half_character(error) from error


# The one place where errors of Neo4j's driver become Clew's.


class KeyTakenError(StoreError):
    """Somebody else has made a node with the same key meanwhile."""


class IdsUsedUpError(StoreError):
    """A worker has not as many ids left as what it saves takes."""


def translated(error: Exception, address: str, settings: Neo4jSettings) -> StoreError:
    """The error of Clew for one of the driver's."""
    from neo4j.exceptions import AuthError, ServiceUnavailable, SessionExpired, TransientError

    place = f"the store {address!r}"
    if isinstance(error, AuthError):
        return StoreError(
            f"{place} refuses the user {settings.user!r}; set CLEW_NEO4J__USER and"
            " CLEW_NEO4J__PASSWORD"
        )
    late = type(error).__name__ in ("ConnectionAcquisitionTimeoutError", "ReadServiceUnavailable")
    if late or isinstance(error, ServiceUnavailable | SessionExpired):
        return StoreUnavailableError(
            f"{place} cannot be reached; start the server, or give another address with --store"
            " (setting store)"
        )
    if isinstance(error, TransientError):
        return StoreBusyError(
            f"{place} was busy for longer than {settings.retry_seconds:g} s"
            f" ({_shown(error)}); try again, or raise the setting neo4j.retry_seconds"
        )
    code = getattr(error, "code", "") or ""
    if code.endswith("ConstraintValidationFailed"):
        return KeyTakenError(f"{place} has what was to be made already ({_shown(error)})")
    if code.endswith("DatabaseNotFound"):
        return StoreError(f"{place} has no database {settings.database!r}; set neo4j.database")
    return StoreError(f"{place} failed ({_shown(error)})")


def _shown(error: Exception) -> str:
    """The error in one line, without what parameters held."""
    text = str(getattr(error, "message", "") or error).strip().splitlines()
    return (text[0] if text else type(error).__name__)[:300]
