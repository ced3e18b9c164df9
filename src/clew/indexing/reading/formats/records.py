"""JSON and JSON Lines: records with a text become documents, anything else readable lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from clew.indexing.reading.formats.chats.json_exports import read_chat
from clew.indexing.reading.formats.common import (
    DEEPEST,
    RawFile,
    ReadResult,
    json_safe,
    properties,
    text_digest,
)
from clew.indexing.reading.formats.encoding import decode
from clew.text import one_line
from clew.types import Document, Skipped

_TEXT_NAMES = ("text", "content", "body")
_ID_NAMES = ("_id", "id")
_SHORT_LIST = 200


def read_json(raw: RawFile) -> ReadResult:
    """An object as one document, a list of objects with a text as a document each.

    A chat that was exported is a document for each conversation.
    """
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
    if (chat := read_chat(raw, value)) is not None:
        return chat
    if _is_list_of_records(value):
        return _read_records(raw, enumerate(value, 1))
    return ReadResult(documents=(_document(value, raw.source, "application/json"),))


def read_jsonl(raw: RawFile) -> ReadResult:
    """Each line a document; lines that are not JSON are reported and do not hold up the rest."""
    return _read_lines(raw, decode(raw))


def _read_lines(raw: RawFile, text: str) -> ReadResult:
    bad: list[Skipped] = []

    def records() -> Iterator[tuple[int, object]]:
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                bad.append(Skipped(source=raw.record(number), reason="malformed JSON"))

    result = _read_records(raw, records())
    if not result.documents and not result.skipped:
        raise raw.unreadable("malformed JSON (no line can be parsed)")
    return ReadResult(documents=result.documents, skipped=(*bad, *result.skipped))


def _read_records(raw: RawFile, records: Iterator[tuple[int, Any]]) -> ReadResult:
    documents: dict[str, Document] = {}
    skipped: list[Skipped] = []
    for number, record in records:
        source = raw.record(_key(record, number))
        document = _document(record, source, "text/plain", origin=raw.source)
        if not document.text.strip():
            skipped.append(Skipped(source=source, reason="empty"))
        elif source in documents:
            skipped.append(Skipped(source=source, reason=f"same id again (record {number})"))
        else:
            documents[source] = document
    return ReadResult(documents=tuple(documents.values()), skipped=tuple(skipped))


def _is_list_of_records(value: object) -> bool:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return False
    return any(_text_name(item) is not None for item in value)


def _key(record: object, number: int) -> str:
    if isinstance(record, dict):
        for name in _ID_NAMES:
            key = record.get(name)
            if isinstance(key, (str, int)) and not isinstance(key, bool) and str(key).strip():
                return one_line(str(json_safe(key)))
    return str(number)


def _text_name(record: Mapping[str, Any]) -> str | None:
    return next((name for name in _TEXT_NAMES if isinstance(record.get(name), str)), None)


def _document(value: object, source: str, media_type: str, origin: str = "") -> Document:
    """A record as a document; a file's only one leaves its digest to the file's."""
    safe = json_safe(value)
    digest = text_digest(json.dumps(safe, sort_keys=True)) if origin else ""
    text_name = _text_name(safe) if isinstance(safe, dict) else None
    if text_name is None:
        text = "\n".join(readable_lines(safe))
        known = properties({"title": safe["title"]} if _has_title(safe) else {})
    else:
        text = safe[text_name]
        known = properties(_metadata(safe, text_name))
    return replace(known.document(source, text, media_type), origin=origin, sha256=digest)


def _has_title(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("title"), str)


def _metadata(record: Mapping[str, Any], text_name: str) -> dict[str, Any]:
    """The record's other names, and those of its `metadata` beside them."""
    left_out = {text_name, "metadata", *_ID_NAMES}
    values = {name: value for name, value in record.items() if name not in left_out}
    inner = record.get("metadata")
    if isinstance(inner, dict):
        return {**inner, **values}
    return values if inner is None else {**values, "metadata": inner}


def readable_lines(value: object, indent: str = "") -> Iterator[str]:
    """A JSON value as lines of `key: value`, nested ones indented, empty ones left out."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _labelled_lines(name, item, indent)
    elif isinstance(value, list):
        for item in value:
            first, *rest = list(readable_lines(item, _deeper(indent))) or [""]
            if first:
                yield f"{indent}- {first.lstrip()}"
            yield from rest
    elif value is not None and value != "":
        yield indent + _scalar(value).replace("\n", f"\n{indent}")


def _labelled_lines(name: str, value: object, indent: str) -> Iterator[str]:
    if isinstance(value, (dict, list)) and not _is_short_list(value):
        lines = list(readable_lines(value, _deeper(indent)))
        if lines:
            yield f"{indent}{name}:"
            yield from lines
        return
    text = ", ".join(map(_scalar, value)) if isinstance(value, list) else _scalar(value)
    if text:
        yield f"{indent}{name}: {text}".replace("\n", f"\n{indent}  ")


def _deeper(indent: str) -> str:
    return (indent + "  ")[: 2 * DEEPEST]


def _is_short_list(value: object) -> bool:
    """Whether a list of plain values fits a line."""
    if not isinstance(value, list) or any(isinstance(item, (dict, list)) for item in value):
        return False
    return sum(len(_scalar(item)) + 2 for item in value) <= _SHORT_LIST


def _scalar(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
