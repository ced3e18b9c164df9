from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.errors import UnreadableError
from clew.indexing.reading.formats.common import ReadResult
from clew.indexing.reading.reader import read_file
from clew.settings import ReadSettings
from clew.types import Skipped

SETTINGS = ReadSettings()


def read(path: Path, content: str) -> ReadResult:
    path.write_text(content, encoding="utf-8")
    return read_file(path, SETTINGS)


# --- JSON Lines ----------------------------------------------------------------------------


def test_records_become_documents(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    line = {
        "_id": "p0",
        "title": "Session 1",
        "text": "Hello.",
        "metadata": {"created_at": "2023-05-08T13:56:00+00:00", "part_of": "s", "position": 1},
    }
    other = {"id": 7, "content": "Text", "author": "Ann"}
    first, second = read(path, json.dumps(line) + "\r\n\n" + json.dumps(other)).documents
    source = path.resolve().as_posix()
    assert (first.source, first.origin) == (f"{source}#p0", source)
    assert (first.title, first.text) == ("Session 1", "Hello.")
    assert first.created_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert first.metadata == {"part_of": "s", "position": 1}
    assert (second.source, second.title, second.text) == (f"{source}#7", "", "Text")
    assert second.metadata == {"author": "Ann"}
    assert first.sha256 != second.sha256


def test_a_record_keeps_its_digest_where_others_change(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    before = read(path, '{"_id": 1, "text": "a", "k": 1}\n{"_id": 2, "text": "b"}').documents
    after = read(path, '{"_id": 2, "text": "c"}\n{"k": 1, "_id": 1,  "text": "a"}').documents
    assert before[0].sha256 == after[1].sha256
    assert before[1].sha256 != after[0].sha256


def test_bad_lines_are_reported_and_lose_nothing_else(tmp_path: Path) -> None:
    lines = [
        '{"_id": "a", "text": "one"}',
        '{"_id": "b", "text": ',
        '{"_id": "a", "text": "other"}',
        '{"_id": "c", "text": " "}',
        "[" * 5000,
        "9" * 5000,
        '"a string"',
        '{"question": "Who?", "answer": {"name": "Ann"}}',
    ]
    path = tmp_path / "a.jsonl"
    result = read(path, "\n".join(lines))
    source = path.resolve().as_posix()
    assert [(d.source, d.text) for d in result.documents] == [
        (f"{source}#a", "one"),
        (f"{source}#7", "a string"),
        (f"{source}#8", "question: Who?\nanswer:\n  name: Ann"),
    ]
    assert sorted(result.skipped, key=lambda skipped: skipped.source) == [
        Skipped(source=f"{source}#2", reason="malformed JSON"),
        Skipped(source=f"{source}#5", reason="malformed JSON"),
        Skipped(source=f"{source}#6", reason="malformed JSON"),
        Skipped(source=f"{source}#a", reason="same id again (record 3)"),
        Skipped(source=f"{source}#c", reason="empty"),
    ]


def test_a_file_without_a_good_line_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"malformed JSON \(no line"):
        read(tmp_path / "a.jsonl", "one\ntwo\n")


def test_escapes_that_no_store_takes_are_cleaned(tmp_path: Path) -> None:
    document = read(
        tmp_path / "a.jsonl", r'{"text": "a\u0000b\r\n\ud800", "k\ud800": NaN}'
    ).documents[0]
    assert document.text == "ab\n\ufffd"
    assert document.metadata == {"k\ufffd": "nan"}


# --- JSON ----------------------------------------------------------------------------------


def test_an_object_with_a_text_is_one_document(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    document = read(
        path, '{"id": 1, "title": "T", "body": "Text", "date": "2020-01-02"}'
    ).documents[0]
    assert document.source == path.resolve().as_posix()
    assert (document.title, document.text) == ("T", "Text")
    assert document.created_at == datetime(2020, 1, 2, tzinfo=UTC)
    assert document.metadata == {"date": "2020-01-02"}


def test_a_list_of_objects_with_text_is_a_document_each(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    first, second = read(path, '[{"text": "a"}, {"_id": "x", "text": "b"}]').documents
    source = path.resolve().as_posix()
    assert (first.source, second.source) == (f"{source}#1", f"{source}#x")
    assert first.origin == second.origin == source


def test_other_json_is_readable_lines(tmp_path: Path) -> None:
    value = {"name": "x", "none": None, "tags": ["a", "b"], "items": [{"a": 1, "b": True}, [2, 3]]}
    document = read(tmp_path / "my-data.json", json.dumps(value)).documents[0]
    assert document.title == "my data"
    assert document.text == ("name: x\ntags: a, b\nitems:\n  - a: 1\n    b: true\n  - - 2\n    - 3")


def test_json_lines_under_the_name_of_json(tmp_path: Path) -> None:
    assert len(read(tmp_path / "a.json", '{"text": "a"}\n{"text": "b"}\n').documents) == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"a": 1,\n "b" 2}', r"malformed JSON \(line 2, column 6\)"),
        ("[" * 20_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "malformed JSON"),
        ("null", "empty"),
        ('{"text": " "}', "empty"),
        ("{}", "empty"),
    ],
)
def test_json_that_cannot_be_read(tmp_path: Path, content: str, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read(tmp_path / "a.json", content)


WORDS = st.text(alphabet="abcж文", min_size=1, max_size=8)
JSON_VALUES = st.recursive(
    WORDS | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner),
    max_leaves=8,
)


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(value=st.dictionaries(WORDS, JSON_VALUES, min_size=1))
def test_every_value_of_other_json_is_in_the_text(tmp_path: Path, value: dict[str, Any]) -> None:
    scalars = list(_scalars(value))
    if not scalars:
        return
    text = read(tmp_path / "a.json", json.dumps(value)).documents[0].text
    assert all(scalar in text for scalar in scalars)


def _scalars(value: object) -> list[str]:
    if isinstance(value, dict):
        return [scalar for item in value.values() for scalar in _scalars(item)]
    if isinstance(value, list):
        return [scalar for item in value for scalar in _scalars(item)]
    return [str(value)]


# --- tables --------------------------------------------------------------------------------


def test_each_row_is_a_piece(tmp_path: Path) -> None:
    content = 'id,name,year\nq1,"Ann, B",2020\n,,\nq2,,007\nq3,"two\nlines",1.5,more\n'
    document = read(tmp_path / "my_table.csv", content).documents[0]
    assert (document.title, document.media_type) == ("my table", "text/csv")
    assert document.metadata == {"columns": ["id", "name", "year"]}
    texts = [document.text[piece.start : piece.end] for piece in document.pieces]
    assert texts == [
        "id: q1\nname: Ann, B\nyear: 2020",
        "id: q2\nyear: 007",
        "id: q3\nname: two\nlines\nyear: 1.5\ncolumn 4: more",
    ]
    assert [piece.key for piece in document.pieces] == ["q1", "q2", "q3"]
    assert document.pieces[0].metadata == {"id": "q1", "name": "Ann, B", "year": 2020}
    assert document.pieces[1].metadata == {"id": "q2", "year": "007"}
    assert document.pieces[2].metadata["year"] == 1.5


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", "n;m\na,b;c\n"), ("a.csv", "n\tm\na,b\tc\n"), ("a.tsv", "n\tm\na,b\tc\n")],
)
def test_the_delimiter_is_found(tmp_path: Path, name: str, content: str) -> None:
    piece = read(tmp_path / name, content).documents[0].pieces[0]
    assert piece.metadata == {"n": "a,b", "m": "c"}


def test_keys_are_row_numbers_where_ids_repeat(tmp_path: Path) -> None:
    pieces = read(tmp_path / "a.csv", "id,x\n1,a\n1,b\n").documents[0].pieces
    assert [piece.key for piece in pieces] == ["1", "2"]


def test_columns_without_a_name_or_with_the_same_get_one(tmp_path: Path) -> None:
    pieces = read(tmp_path / "a.csv", "x,,x\n1,2,3\n").documents[0].pieces
    assert pieces[0].metadata == {"x": 1, "column 2": 2, "x (3)": 3}


def test_a_cell_may_hold_a_long_text(tmp_path: Path) -> None:
    long = "word " * 40_000
    assert len(read(tmp_path / "a.csv", f"id,text\n1,{long}\n").documents[0].text) > 190_000


CELLS = st.text(alphabet="ab ,;\"'\n|ж", max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6))
def test_written_tables_come_back(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    import csv

    path = tmp_path / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("one", "two"), *rows])
    kept = [
        {name: cell.strip() for name, cell in zip(("one", "two"), row, strict=True) if cell.strip()}
        for row in rows
    ]
    kept = [row for row in kept if row]
    if not kept:
        return
    document = read_file(path, SETTINGS).documents[0]
    assert [piece.metadata for piece in document.pieces] == kept
    ends = [0, *(piece.end for piece in document.pieces)]
    assert all(end <= piece.start for end, piece in zip(ends, document.pieces, strict=False))
    assert document.pieces[-1].end == len(document.text)
