from __future__ import annotations

from pathlib import Path

import pytest

from clew.errors import InputError
from clew.stores.documents.metadata import meets
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry
from clew.types import Condition


@pytest.mark.parametrize(
    ("value", "operator", "wanted", "expected"),
    [
        ("10", ">", "9", True),
        ('"10"', ">", "9", True),
        ('"ten"', ">", "9", True),  # text
        ("10", "=", "10.0", True),
        ("9007199254740993", "=", "9007199254740992", False),
        ("1e3", "=", "1000", True),
        ('"nan"', "=", "nan", True),  # text: it is no number that could be compared
        ('"2024-01-01"', "<", "2024-01-01T00:00:01", True),
        ('"2024-01-01T00:00:00Z"', "=", "2024-01-01T01:00:00+01:00", True),
        ('"2024-05-01"', ">=", "2024-05", True),  # text, which orders parts of ISO dates rightly
        ("true", "=", "true", True),
        ("true", "=", "1", False),
        ("[1, 2]", "=", "2.0", True),
        ("[1, 2]", "!=", "2", False),
        ("[1, 2]", "!=", "3", True),
        ("[]", "!=", "3", True),
        ("[1, 2]", ">", "0", False),
        ('{"a": 1}', "=", '{"a": 1}', True),
        ('"Ä"', "=", "Ä", True),
        ("null", "!=", "x", False),
        (None, "!=", "x", False),
    ],
)
def test_how_values_compare(value: str | None, operator: str, wanted: str, expected: bool) -> None:
    assert meets(value, operator, wanted) is expected


def test_an_unknown_operator_is_named(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    where = [Condition(name="year", operator="~", value="1")]  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match="unknown operator '~' in a filter on 'year'; expected one"
    ):
        store.matching_chunks(where)
    store.close()


def test_columns_go_before_metadata_and_chunks_before_both(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    metadata = {"title": "front matter", "media_type": "x"}
    store.save(make_entry("a", "One.", "Two.", title="T", metadata=metadata))
    store.save(make_entry("b", "One.", metadata=metadata, chunk_metadata=[{"source": "own"}]))

    def found(name: str, value: str) -> list[str]:
        ids = store.matching_chunks([Condition(name=name, operator="=", value=value)])
        return [chunk.public_id[-1] + chunk.source for chunk in store.chunks(ids.tolist())]

    assert found("title", "T") == ["0a", "1a"]
    assert found("title", "front matter") == ["0b"]  # it has no title of its own
    assert found("media_type", "text/plain") == ["0a", "1a", "0b"]
    assert found("source", "own") == ["0b"]
    assert found("source", "b") == []
    store.close()
