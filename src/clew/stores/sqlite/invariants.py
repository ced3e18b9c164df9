"""What must hold in a store, one function an invariant; each yields what breaks it."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from clew.stores.invariants import (
    broken_chunk,
    broken_ends,
    broken_sections,
    broken_terms,
    broken_vector,
    broken_versions,
)
from clew.stores.sqlite.backend import read_state
from clew.stores.statements.relations import ALL_FACTS
from clew.stores.validity import FOREVER, Fact, derived_ends

Invariant = Callable[[sqlite3.Connection], Iterator[str]]


def integrity(connection: sqlite3.Connection) -> Iterator[str]:
    """SQLite's own pages, indexes and constraints are sound."""
    for (message,) in connection.execute("PRAGMA integrity_check"):
        if message != "ok":
            yield message


def references(connection: sqlite3.Connection) -> Iterator[str]:
    """Every row that points at another finds it."""
    for reference in list_references(connection):
        orphans = connection.execute(
            f"SELECT count(*) FROM {reference.table} WHERE {reference.is_missing}"
        ).fetchone()[0]
        if orphans:
            yield (
                f"{orphans} rows of {reference.table} have a {reference.column}"
                f" that is not in {reference.parent}"
            )


def names(connection: sqlite3.Connection) -> Iterator[str]:
    """Every alias has a source; every entity has an alias, and is shown under one."""
    for (name,) in connection.execute(
        "SELECT name FROM aliases WHERE id IN (SELECT id FROM orphan_aliases)"
    ):
        yield f"the alias {name!r} is in no mention and no relation"
    for (name,) in connection.execute(
        "SELECT name FROM entities e WHERE NOT EXISTS"
        " (SELECT 1 FROM aliases a WHERE a.entity_id = e.id AND a.key = e.key)"
    ):
        yield f"the entity {name!r} has no alias of that name"


def sections(connection: sqlite3.Connection) -> Iterator[str]:
    """The sections of a document partition its text."""
    for source, length, rows in _documents_with_sections(connection):
        yield from broken_sections(source, length, rows)


def chunks(connection: sqlite3.Connection) -> Iterator[str]:
    """A chunk's text is the document's at its range; its section and its sentences fit."""
    texts = _document_texts(connection)
    document_id, whole = "", ""
    rows = connection.execute(
        'SELECT c.document_id, c.ordinal, c.text, c.start, c."end", c.sentences, s.start, s."end"'
        " FROM chunks c LEFT JOIN sections s ON s.id = c.section_id"
        " ORDER BY c.document_id, c.ordinal"
    )
    for chunk_of, ordinal, text, start, end, sentences, *section in rows:
        while document_id != chunk_of:
            document_id, whole = next(texts, (chunk_of, ""))
        of_section = None if section[0] is None else (section[0], section[1])
        name = f"{chunk_of}#{ordinal}"
        yield from broken_chunk(name, whole, text, (start, end), sentences, of_section)


def mentions(connection: sqlite3.Connection) -> Iterator[str]:
    """Mentions lie in a sentence and in the text of their chunk; relations in a sentence."""
    rows = connection.execute(
        'SELECT m.chunk_id, m.sentence, m.start, m."end", m.count'
        " FROM mentions m JOIN chunks c ON c.id = m.chunk_id"
        " WHERE m.sentence < -1 OR m.sentence >= json_array_length(c.sentences) OR m.count < 1"
        ' OR m.start < 0 OR m."end" < m.start OR m."end" > c."end" - c.start'
    )
    for chunk_id, sentence, start, end, count in rows:
        yield f"chunk {chunk_id}: mention at {start}:{end} of sentence {sentence}, {count} times"
    rows = connection.execute(
        "SELECT r.id, r.sentence, r.chunk_id FROM relations r JOIN chunks c ON c.id = r.chunk_id"
        " WHERE r.sentence NOT BETWEEN 0 AND json_array_length(c.sentences) - 1"
    )
    for relation_id, sentence, chunk_id in rows:
        yield f"relation {relation_id} is from sentence {sentence} of chunk {chunk_id}"


def keywords(connection: sqlite3.Connection) -> Iterator[str]:
    """The keyword index holds every chunk's terms, and nothing else."""
    stored = connection.execute("SELECT rowid, terms FROM keywords ORDER BY rowid")
    rows = connection.execute("SELECT id, context, text FROM chunks ORDER BY id")
    indexed: dict[int, str] = dict(stored)
    for chunk_id, context, text in rows:
        yield from broken_terms(chunk_id, context, text, indexed.pop(chunk_id, None))
    for chunk_id in indexed:
        yield f"the keyword index holds chunk {chunk_id}, which does not exist"


def keyword_index(connection: sqlite3.Connection) -> Iterator[str]:
    """The inverted index agrees with the terms that it was made from; needs a write transaction."""
    try:
        connection.execute("INSERT INTO keywords (keywords) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        yield f"the inverted index of the keywords is damaged ({error})"


def vectors(connection: sqlite3.Connection) -> Iterator[str]:
    """Every chunk has one embedding as it was written, of the store's dimension and unit length."""
    dimension = read_state(connection).dimension
    rows = connection.execute(
        "SELECT c.id, e.vector, e.checksum FROM chunks c"
        " LEFT JOIN embeddings e ON e.chunk_id = c.id"
    )
    for chunk_id, blob, checksum in rows:
        if blob is None:
            yield f"chunk {chunk_id} has no embedding"
        elif len(blob) != 4 * dimension:
            yield f"the embedding of chunk {chunk_id} has {len(blob) / 4:g} of {dimension} numbers"
        elif zlib.crc32(blob) != checksum:
            yield f"the embedding of chunk {chunk_id} is damaged: index its document anew"
        else:
            yield from broken_vector(chunk_id, np.frombuffer(blob, dtype="<f4"), dimension)


def versions(connection: sqlite3.Connection) -> Iterator[str]:
    """A document's versions count from 1, each from the one before; the last is the one held."""
    rows = connection.execute(
        "SELECT d.source, d.version, d.sha256, d.derived_from, v.version, v.sha256, v.derived_from,"
        " v.replaced_at FROM documents d LEFT JOIN document_versions v ON v.document_id = d.id"
        " ORDER BY d.source, v.version"
    )
    yield from broken_versions(rows)


def times(connection: sqlite3.Connection) -> Iterator[str]:
    """A chunk was said once at most; every period ends after its start."""
    for chunk_id, text in connection.execute(
        'SELECT chunk_id, text FROM chunk_times WHERE start >= "end"'
    ):
        yield f"chunk {chunk_id} has the time {text!r}, which ends before it starts"
    for (chunk_id,) in connection.execute(
        "SELECT chunk_id FROM chunk_times WHERE said = 1 GROUP BY chunk_id HAVING count(*) > 1"
    ):
        yield f"chunk {chunk_id} was said at more than one time"


def validity(connection: sqlite3.Connection) -> Iterator[str]:
    """A relation ends where its text says or, if its type is functional, the next one begins."""
    values = {"types": json.dumps(read_state(connection).functional), "known": FOREVER}
    facts = [Fact(*row) for row in connection.execute(ALL_FACTS.sql, values)]
    rows = connection.execute("SELECT id, stated_until, valid_until FROM relations ORDER BY id")
    return broken_ends(rows, derived_ends(facts))


def memory(connection: sqlite3.Connection) -> Iterator[str]:
    """An observation belongs to an entity that was made by hand."""
    rows = connection.execute(
        "SELECT d.source FROM documents d WHERE d.origin GLOB 'memory:*' AND NOT EXISTS"
        " (SELECT 1 FROM aliases a JOIN entities e ON e.id = a.entity_id"
        "  WHERE a.key = substr(d.origin, 8) AND e.tier = 'manual')"
    )
    for (source,) in rows:
        yield f"the observation {source!r} is of no entity that was made by hand"


class Reference(NamedTuple):
    """A foreign key."""

    table: str
    column: str
    parent: str
    key: str
    """The parent's primary key."""

    @property
    def is_missing(self) -> str:
        """The SQL test for rows of `table` that point at nothing."""
        return (
            f"{self.table}.{self.column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {self.parent}"
            f" WHERE {self.parent}.{self.key} = {self.table}.{self.column})"
        )


def list_references(connection: sqlite3.Connection) -> list[Reference]:
    """Every foreign key; each points at a primary key of one column."""
    rows = connection.execute(
        'SELECT t.name, f."from", f."table", k.name'
        ' FROM sqlite_master t, pragma_foreign_key_list(t.name) f, pragma_table_info(f."table") k'
        " WHERE t.type = 'table' AND k.pk = 1 ORDER BY t.rowid, f.id"
    )
    return [Reference(*row) for row in rows]


def _documents_with_sections(
    connection: sqlite3.Connection,
) -> Iterator[tuple[str, int, list[tuple[int, int, str]]]]:
    for document_id, source, length in connection.execute(
        "SELECT id, source, characters FROM documents ORDER BY id"
    ):
        rows = connection.execute(
            'SELECT start, "end", text FROM sections WHERE document_id = ? ORDER BY ordinal',
            (document_id,),
        )
        yield source, length, rows.fetchall()


def _document_texts(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """(id, text) of every document, by id."""
    for (document_id,) in connection.execute("SELECT id FROM documents ORDER BY id"):
        rows = connection.execute(
            "SELECT text FROM sections WHERE document_id = ? ORDER BY ordinal", (document_id,)
        )
        yield document_id, "".join(row[0] for row in rows)
