"""CSV and TSV: one document, each row of it a ready-split piece."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from clew.indexing.reading.formats.common import LONGEST_VALUE, RawFile, ReadResult, check_limit
from clew.indexing.reading.formats.encoding import decode
from clew.indexing.reading.formats.media_types import media_type_of
from clew.text import one_line
from clew.types import Document, Piece

_DELIMITERS = ",;\t|"
_ID_NAMES = ("_id", "id", "key")
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,15})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,15})\.\d{1,15}")
_SEPARATOR = "\n\n"
_LONGEST_NAME = 200
"""Characters of a column's name."""
_MOST_COLUMNS = 1000
"""Columns that are metadata, of which every chunk of a long row has a copy."""


def read_table(raw: RawFile) -> ReadResult:
    """A table whose first row names the columns.

    A row's text is a line of `name: value` for each cell that holds something; its metadata are
    the same values, numbers as numbers. Its key is the `_id`, `id` or `key` column where that
    tells every row from the others, else the row's number (from 1, the header not counted). The
    text of a table without rows is the names of its columns.
    """
    names, rows = _parse(raw)
    keys = _keys(names, rows)
    parts: list[str] = []
    pieces: list[Piece] = []
    position = 0
    for key, row in zip(keys, rows, strict=True):
        part = "\n".join(f"{name}: {value}" for name, value in row.items())
        columns = islice(row.items(), _MOST_COLUMNS)
        metadata = {name: _number_or_text(value[:LONGEST_VALUE]) for name, value in columns}
        pieces.append(Piece(start=position, end=position + len(part), key=key, metadata=metadata))
        parts.append(part)
        position += len(part) + len(_SEPARATOR)
    document = Document(
        source=raw.source,
        text=_SEPARATOR.join(parts) or ", ".join(names),
        media_type=media_type_of(raw.suffix),
        metadata={"columns": names},
        pieces=tuple(pieces),
    )
    return ReadResult(documents=(document,))


def _parse(raw: RawFile) -> tuple[list[str], list[dict[str, str]]]:
    """Column names and rows; empty cells and empty rows are left out."""
    text = decode(raw)
    # The process-wide limit (131,072 characters a cell) is only ever raised: cells may hold texts.
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(raw, text))
    names = _column_names(next(lines, []))
    return names, [row for cells in _counted(raw, lines) if (row := dict(_cells(names, cells)))]


def _counted(raw: RawFile, lines: Iterator[list[str]]) -> Iterator[list[str]]:
    """The lines; raises `LimitError` where they have too many cells together."""
    count = 0
    for cells in lines:
        count += len(cells)
        check_limit(raw.limits, "cells", count, raw.source)
        yield cells


def _delimiter(raw: RawFile, text: str) -> str:
    """The one that divides the header into the most columns."""
    if raw.suffix in {".tsv", ".tab"}:
        return "\t"
    header = [text.lstrip("\n").split("\n", 1)[0]]
    return max(
        _DELIMITERS, key=lambda delimiter: len(next(csv.reader(header, delimiter=delimiter)))
    )


def _column_names(header: Sequence[str]) -> list[str]:
    """The header's names, each made unique and none empty or long: rows repeat them."""
    names: list[str] = []
    seen: set[str] = set()
    for number, cell in enumerate(header, 1):
        name = one_line(cell)[:_LONGEST_NAME] or f"column {number}"
        names.append(name if name not in seen else f"{name} ({number})")
        seen.add(names[-1])
    return names


def _cells(names: Sequence[str], cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, cell in enumerate(cells):
        if value := cell.strip():
            yield (names[number] if number < len(names) else f"column {number + 1}"), value


def _keys(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> list[str]:
    """A key for each row, all different."""
    columns = {name.lower(): name for name in reversed(names)}
    for column in (columns[wanted] for wanted in _ID_NAMES if wanted in columns):
        keys = [one_line(row.get(column, "")) for row in rows]
        if all(keys) and len(set(keys)) == len(keys):
            return keys
    return [str(number) for number in range(1, len(rows) + 1)]


def _number_or_text(value: str) -> Any:  # noqa: ANN401 - int, float or str
    """Plain numbers as such; `007` and `1,5` are text, since they may be codes or lists."""
    if _INTEGER.fullmatch(value):
        return int(value)
    return float(value) if _DECIMAL.fullmatch(value) else value
