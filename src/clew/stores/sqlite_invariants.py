"""What must hold in a store, one function an invariant; each yields what breaks it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator

import numpy as np

from clew.stores.sqlite_snapshot import read_number
from clew.text import terms

_UNIT_TOLERANCE = 1e-3

Invariant = Callable[[sqlite3.Connection], Iterator[str]]


def integrity(connection: sqlite3.Connection) -> Iterator[str]:
    """SQLite's own pages, indexes and constraints are sound."""
    for (message,) in connection.execute("PRAGMA integrity_check"):
        if message != "ok":
            yield message


def references(connection: sqlite3.Connection) -> Iterator[str]:
    """Every row that points at another finds it."""
    for table, column, parent in list_references(connection):
        orphans = connection.execute(
            f"SELECT count(*) FROM {table} WHERE {missing_parent(table, column, parent)}"
        ).fetchone()[0]
        if orphans:
            yield f"{orphans} rows of {table} have a {column} that is not in {parent}"


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
        at = 0
        for ordinal, (start, end, text) in enumerate(rows):
            if start != at or len(text) != end - start:
                yield f"section {ordinal} of {source!r} does not go on at {at} or not to its end"
                break
            at = end
        else:
            if at != length:
                yield f"the sections of {source!r} end at {at} of {length} characters"


def chunks(connection: sqlite3.Connection) -> Iterator[str]:
    """A chunk's text is the document's at its range; its section and its sentences fit."""
    texts = _document_texts(connection)
    document_id, whole = "", ""
    rows = connection.execute(
        'SELECT c.document_id, c.ordinal, c.start, c."end", c.text, c.sentences, s.start, s."end"'
        " FROM chunks c LEFT JOIN sections s ON s.id = c.section_id"
        " ORDER BY c.document_id, c.ordinal"
    )
    for chunk_of, ordinal, start, end, text, sentences, section_start, section_end in rows:
        while document_id != chunk_of:
            document_id, whole = next(texts, (chunk_of, ""))
        if whole[start:end] != text:
            yield f"the text of chunk {chunk_of}#{ordinal} is not the document's at {start}:{end}"
        if section_start is not None and not section_start <= start <= section_end:
            yield f"chunk {chunk_of}#{ordinal} does not begin in its section"
        if not _ordered(json.loads(sentences), len(text)):
            yield f"the sentences of chunk {chunk_of}#{ordinal} are out of order or out of its text"


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
        expected = " ".join(terms(f"{context}\n{text}"))
        if indexed.pop(chunk_id, None) != expected:
            yield f"chunk {chunk_id} is not in the keyword index as it should be"
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
    """Every chunk has one embedding, of the store's dimension and of unit length."""
    dimension = read_number(connection, "dimension")
    rows = connection.execute(
        "SELECT c.id, e.vector FROM chunks c LEFT JOIN embeddings e ON e.chunk_id = c.id"
    )
    for chunk_id, blob in rows:
        if blob is None:
            yield f"chunk {chunk_id} has no embedding"
        elif len(blob) != 4 * dimension:
            yield f"the embedding of chunk {chunk_id} has {len(blob) / 4:g} of {dimension} numbers"
        else:
            length = float(np.linalg.norm(np.frombuffer(blob, dtype="<f4")))
            if not abs(length - 1) <= _UNIT_TOLERANCE:  # also true of NaN
                yield f"the embedding of chunk {chunk_id} has length {length:.4g}, not 1"


def list_references(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """(table, column, parent) of every foreign key; parents are pointed at by their `id`."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return [
        (table, row[3], row[2])
        for (table,) in tables
        for row in connection.execute(f"PRAGMA foreign_key_list({table})")
    ]


def missing_parent(table: str, column: str, parent: str) -> str:
    """The SQL test for rows of `table` that point at nothing."""
    return (
        f"{table}.{column} IS NOT NULL"
        f" AND NOT EXISTS (SELECT 1 FROM {parent} WHERE {parent}.id = {table}.{column})"
    )


def _ordered(ranges: list[tuple[int, int]], length: int) -> bool:
    """Whether ranges follow one another within a text of that length."""
    edges = [0, *(edge for pair in ranges for edge in pair), length]
    return edges == sorted(edges)


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
