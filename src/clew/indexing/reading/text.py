"""Plain text, Markdown, reStructuredText and source code."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from clew.indexing.outline import MEDIA_TYPE, headings, with_tags
from clew.indexing.reading.common import (
    DEEPEST,
    LONGEST_VALUE,
    MALFORMED,
    UNKNOWN,
    RawFile,
    ReadResult,
    check_limit,
    decode,
    fields_at,
    joined,
    json_lines,
    json_safe,
    media_type_of,
    properties,
    split_front_matter,
)
from clew.indexing.reading.pages import mended
from clew.text import one_line, text_digest
from clew.types import Document, Piece, Skipped

# Blank lines, comments and indented lines may stand before the title.
_RST_TITLE = re.compile(
    r"\A(?:(?:[^\S\n]|\.\. )[^\n]*+\n|\n)*+"
    r"(?:(?P<over>([!-/:-@\[-`{-~])\2*+)[ \t]*+\n)?[ \t]*+(?P<title>\S[^\n]*+)\n"
    r"(?P<under>([!-/:-@\[-`{-~])\5*+)[ \t]*+(?:\n|\Z)"
)
_RST_MARKUP = re.compile(r"(?m)^\.\. [a-z][a-z0-9-]{1,40}::(?: |$)|:[a-z]{1,20}:`[^`\n]{1,200}`")
_MARKDOWN_HEADING = re.compile(r"\s{0,9}#{1,2} \S")
_MARKDOWN_MARKUP = re.compile(r"(?m)^```|\]\((?:https?:|[\w./#-]{1,200}\))")
_BEGINNING = 4000
"""Characters in which a text's first heading stands, below which its fields may."""


def read_text(raw: RawFile) -> ReadResult:
    """A file of plain text as its words, one of any other kind as it is."""
    media_type = media_type_of(raw.suffix)
    text = decode(raw)
    if text.startswith("{\\rtf"):
        raise raw.unreadable("unsupported format (RTF)")
    values: dict[str, Any] = {}
    if media_type == UNKNOWN:
        # Some are marked up all the same: Sphinx publishes its sources as `.rst.txt`, sites publish
        # `llms.txt`, and a README may have no ending. A heading alone does not tell: a comment
        # looks like one.
        if _RST_MARKUP.search(text) and headings(text[:_BEGINNING], "text/x-rst"):
            return ReadResult(documents=(rst_document(text, raw.source),))
        if _MARKDOWN_HEADING.match(text) and _MARKDOWN_MARKUP.search(text):
            return ReadResult(documents=(markdown_document(text, raw.source),))
        text = mended(text)
        values = fields_at(text, 0, "bare")
    return ReadResult(documents=(properties(values).document(raw.source, text, media_type),))


def read_markdown(raw: RawFile) -> ReadResult:
    """Markdown as it is, without its front matter."""
    return ReadResult(documents=(markdown_document(decode(raw), raw.source),))


def read_rst(raw: RawFile) -> ReadResult:
    """ReStructuredText as it is; title and fields (`:Author:`) are read from its beginning."""
    return ReadResult(documents=(rst_document(decode(raw), raw.source),))


def markdown_document(text: str, source: str) -> Document:
    """The text without its front matter, which becomes title, times and metadata."""
    values, body = split_front_matter(text)
    found = headings(body[:_BEGINNING], MEDIA_TYPE)
    top = found[0].end if found else 0
    fields = fields_at(body, top, "bold") or fields_at(body, top, "bare")
    # The first heading of the first level outside code, without its markup.
    levels = (one_line(h.title) for h in headings(body, MEDIA_TYPE) if h.level == 1)
    title = next(levels, "")
    return properties(with_tags({**fields, **values}, body)).document(
        source, body, MEDIA_TYPE, title=title
    )


def rst_document(text: str, source: str) -> Document:
    """The text with its title and the fields below it as metadata."""
    heading = _RST_TITLE.match(text)
    values = fields_at(text, 0, "bare") or fields_at(text, 0, "marked")
    if not values and heading:
        values = fields_at(text, heading.end(), "marked")
    # A rule of four signs below a longer line is a transition, not an underline.
    title = heading["title"].rstrip(" \t") if heading else ""
    if heading is None or len(heading["under"]) < len(title):
        title = ""
    title = one_line(title.replace("`", "").replace("*", ""))
    return properties(values).document(source, text, "text/x-rst", title=title)


# Perl's documentation (POD), which becomes Markdown: headings, items and formatting codes.


_BLANK_POD = re.compile(r"\n[ \t]*(?:\n[ \t]*)*\n(?=[^\n]|\Z)")
_COMMAND = re.compile(r"=(?P<name>[a-z]{2,12})(?P<level>\d?)[ \t]*+(?P<rest>.*)", re.DOTALL)
_BULLET = re.compile(r"(?:\*|\d{1,4}\.?)(?=\s|\Z)")
_CODE = re.compile(r"(?P<kind>[A-Z])(?:<(?P<one>[^<>]{0,300})>|<<[ ](?P<two>[^\n]{1,200}?)[ ]>>)")
_DEEPEST = 4
"""Formatting codes within each other that are read."""
_ITEM = "- "
_MARKS = {"B": "**", "I": "*", "C": "`", "F": "`"}
_IDENTIFIER = re.compile(r"[\w:]{1,100}")


def read_pod(raw: RawFile) -> ReadResult:
    """The text as Markdown; the section NAME tells the title."""
    body = "\n\n".join(_blocks(decode(raw).replace("\r\n", "\n"))) + "\n"
    name = re.match(r"# NAME\n\n([^\n#]{1,300})", body)
    title = one_line(re.sub(r"[`*]", "", name[1])) if name else ""
    return ReadResult(
        documents=(properties({}).document(raw.source, body, MEDIA_TYPE, title=title),)
    )


def _blocks(text: str) -> Iterator[str]:
    """The paragraphs, without what is meant for other formats, and without Perl between them."""
    skipped, mark = True, ""
    for block in _BLANK_POD.split(text.strip("\n")):
        command = _COMMAND.match(block)
        if command is None:
            if not skipped:
                yield mark + (block if block[:1] in " \t" else _formatted(block))
                mark = ""
            continue
        name, words = command["name"], _formatted(command["rest"]).strip()
        skipped = name in ("begin", "cut")
        mark = ""
        if name == "head":
            yield f"{'#' * int(command['level'] or 1)} {one_line(words)}"
        elif name == "item":
            bullet = _BULLET.match(words)
            words = words[bullet.end() :].strip() if bullet else words
            # What is to stand behind a bullet may be the next paragraph.
            mark = _ITEM if bullet and not words else ""
            if not mark:
                yield f"{_ITEM}{words}" if bullet else words


def _formatted(text: str) -> str:
    for _ in range(_DEEPEST):
        text, count = _CODE.subn(_marked, text)
        if not count:
            break
    return text


def _marked(code: re.Match[str]) -> str:
    kind, said = code["kind"], (code["one"] if code["one"] is not None else code["two"])
    if kind == "E":
        return html.unescape(f"&{said};")
    if kind == "L":
        # What a link shows: its text, else the page that it leads to, else the section.
        shown, bar, _ = said.partition("|")
        if bar or "://" in said:
            return shown
        page, _, section = said.partition("/")
        return f"`{page}`" if _IDENTIFIER.fullmatch(page) else page or section.strip('"')
    if kind in "XZ":
        return ""
    mark = _MARKS.get(kind, "")
    return f"{mark}{said}{mark}" if said.strip() else said


# JSON and JSON Lines: records with a text become documents, anything else readable lines.


_TEXT_NAMES = ("text", "content", "body")
_ID_NAMES = ("_id", "id")
_SHORT_LIST = 200


def read_json(raw: RawFile) -> ReadResult:
    """An object as one document, a list of objects with a text as a document each."""
    text = decode(raw)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":  # JSON Lines under another name
            return _read_lines(raw, text)
        reason = f"malformed JSON (line {error.lineno}, column {error.colno})"
        raise raw.unreadable(reason) from error
    except ValueError as error:  # a number of thousands of digits
        raise raw.unreadable("malformed JSON") from error
    is_records = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    if is_records and any(_text_name(item) is not None for item in value):
        return _read_records(raw, enumerate(value, 1))
    return ReadResult(documents=(_document(value, raw.source, "application/json"),))


def read_jsonl(raw: RawFile) -> ReadResult:
    """Each line a document; lines that are not JSON are reported and do not hold up the rest."""
    return _read_lines(raw, decode(raw))


def _read_lines(raw: RawFile, text: str) -> ReadResult:
    bad: list[Skipped] = []

    def records() -> Iterator[tuple[int, object]]:
        for number, value in json_lines(text):
            if value is MALFORMED:
                bad.append(Skipped(source=raw.record(number), reason="malformed JSON"))
            else:
                yield number, value

    result = _read_records(raw, records())
    if not result.documents and not result.skipped:
        raise raw.unreadable("malformed JSON (no line can be parsed)")
    return ReadResult(documents=result.documents, skipped=(*bad, *result.skipped))


def _read_records(raw: RawFile, records: Iterator[tuple[int, Any]]) -> ReadResult:
    documents: dict[str, Document] = {}
    skipped: list[Skipped] = []
    for number, record in records:
        given = (record.get(name) for name in _ID_NAMES) if isinstance(record, dict) else ()
        keys = (one_line(str(json_safe(one))) for one in given if type(one) in (str, int))
        source = raw.record(next(filter(None, keys), str(number)))
        document = _document(record, source, "text/plain", origin=raw.source)
        if not document.text.strip():
            skipped.append(Skipped(source=source, reason="empty"))
        elif source in documents:
            skipped.append(Skipped(source=source, reason=f"same id again (record {number})"))
        else:
            documents[source] = document
    return ReadResult(documents=tuple(documents.values()), skipped=tuple(skipped))


def _text_name(record: Mapping[str, Any]) -> str | None:
    return next((name for name in _TEXT_NAMES if isinstance(record.get(name), str)), None)


def _document(value: object, source: str, media_type: str, origin: str = "") -> Document:
    """A record as a document; a file's only one leaves its digest to the file's."""
    safe = json_safe(value)
    digest = text_digest(json.dumps(safe, sort_keys=True)) if origin else ""
    text_name = _text_name(safe) if isinstance(safe, dict) else None
    if text_name is None:
        text = "\n".join(readable_lines(safe))
        known = properties(
            {"title": safe["title"]}
            if (isinstance(safe, dict) and isinstance(safe.get("title"), str))
            else {}
        )
    else:
        text = safe[text_name]
        left_out = {text_name, "metadata", *_ID_NAMES}
        values = {name: value for name, value in safe.items() if name not in left_out}
        inner = safe.get("metadata")
        if isinstance(inner, dict):
            values = {**inner, **values}
        elif inner is not None:
            values["metadata"] = inner
        known = properties(values)
    return replace(known.document(source, text, media_type), origin=origin, sha256=digest)


def readable_lines(value: object, indent: str = "") -> Iterator[str]:
    """A JSON value as lines of `key: value`, nested ones indented, empty ones left out."""
    deeper = (indent + "  ")[: 2 * DEEPEST]
    if isinstance(value, dict):
        for name, item in value.items():
            # Plain values that fit a line stand in it.
            items = item if isinstance(item, list) else [item]
            plain = [_scalar(one) for one in items if not isinstance(one, (dict, list))]
            is_short = item is not items or sum(len(one) + 2 for one in plain) <= _SHORT_LIST
            if len(plain) == len(items) and is_short:
                if text := ", ".join(plain):
                    yield f"{indent}{name}: {text}".replace("\n", f"\n{indent}  ")
            elif lines := list(readable_lines(item, deeper)):
                yield f"{indent}{name}:"
                yield from lines
    elif isinstance(value, list):
        for item in value:
            first, *rest = list(readable_lines(item, deeper)) or [""]
            if first:
                yield f"{indent}- {first.lstrip()}"
            yield from rest
    elif value is not None and value != "":
        yield indent + _scalar(value).replace("\n", f"\n{indent}")


def _scalar(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# CSV and TSV: one document, each row of it a ready-split piece.


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
    parts = ["\n".join(f"{name}: {value}" for name, value in row.items()) for row in rows]
    text, starts = joined(parts, _SEPARATOR)
    pieces: list[Piece] = []
    for key, row, part, start in zip(keys, rows, parts, starts, strict=True):
        columns = islice(row.items(), _MOST_COLUMNS)
        metadata = {name: _number_or_text(value[:LONGEST_VALUE]) for name, value in columns}
        pieces.append(Piece(start=start, end=start + len(part), key=key, metadata=metadata))
    document = Document(
        source=raw.source,
        text=text or ", ".join(names),
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
    # The delimiter is the one that divides the header into the most columns.
    header = [text.lstrip("\n").split("\n", 1)[0]]
    signs = "\t" if raw.suffix in {".tsv", ".tab"} else ",;\t|"
    sign = max(signs, key=lambda sign: len(next(csv.reader(header, delimiter=sign))))
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=sign)
    # The header's names, each made unique and none empty or long: rows repeat them.
    names: list[str] = []
    seen: set[str] = set()
    for number, cell in enumerate(next(lines, []), 1):
        name = one_line(cell)[:_LONGEST_NAME] or f"column {number}"
        names.append(name if name not in seen else f"{name} ({number})")
        seen.add(names[-1])
    rows: list[dict[str, str]] = []
    count = 0
    for cells in lines:
        count += len(cells)
        check_limit(raw.limits, "cells", count, raw.source)
        further = (f"column {number}" for number in range(len(names) + 1, len(cells) + 1))
        named = zip((*names, *further), map(str.strip, cells), strict=False)
        if row := {name: value for name, value in named if value}:
            rows.append(row)
    return names, rows


def _keys(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> list[str]:
    """A key for each row, all different."""
    columns = {name.lower(): name for name in reversed(names)}
    for column in (columns[wanted] for wanted in ("_id", "id", "key") if wanted in columns):
        keys = [one_line(row.get(column, "")) for row in rows]
        if all(keys) and len(set(keys)) == len(keys):
            return keys
    return [str(number) for number in range(1, len(rows) + 1)]


def _number_or_text(value: str) -> Any:  # noqa: ANN401 - int, float or str
    """Plain numbers as such; `007` and `1,5` are text, since they may be codes or lists."""
    if _INTEGER.fullmatch(value):
        return int(value)
    return float(value) if _DECIMAL.fullmatch(value) else value
