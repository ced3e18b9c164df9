from __future__ import annotations

import json
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
        ('"2024-05-01"', ">=", "2024-05", True),
        ('"2024-05-01"', "=", "2024-05", True),
        ('"2024-05-01"', ">", "2024-05", False),
        ('"2024-05-01"', "<=", "2024-04", False),
        ('"2024"', "=", "2024-05-01", True),
        ('"2024"', "<", "2024-05", True),
        ('"2024"', ">", "2024-05", True),
        ('"2024"', "!=", "2025-01", True),
        ('"2024-05-01T10:00:00Z"', "=", "2024-05-01", True),
        ('"Maria Keller"', "~", "*keller", True),
        ('"Maria Keller"', "~", "keller", False),
        ('"Maria Keller"', "!~", "*keller", False),
        ('["Ann", "Bo"]', "~", "b?", True),
        ('["Ann", "Bo"]', "!~", "c*", True),
        ("2020", "~", "20*", True),
        (None, "!~", "x", False),
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


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("/srv/a/docs/x.rst", "docs/*.rst", True),
        ("/srv/a/docs/x.rst", "*.rst", True),
        ("/srv/a/docs/x.rst", "docs/", True),
        ("/srv/a/docs/b/x.rst", "docs/", True),
        ("/srv/a/docs/b/x.rst", "docs/*.rst", False),
        ("/srv/a/docs/b/x.rst", "docs/**/*.rst", True),
        ("/srv/a/docs/x.rst", "docs/**/x.rst", True),
        ("/srv/a/docs/x.rst", "/srv/**", True),
        ("/srv/a/docs/x.rst", "/docs/x.rst", False),
        ("/srv/a/docs/x.rst", "ocs/x.rst", False),
        ("/srv/a/docs/x.rst", "docs", False),
        ("x", "**", True),
        ("x", "**/x", True),
    ],
)
def test_a_path_ends_as_its_glob_says(path: str, glob: str, expected: bool) -> None:
    assert meets(json.dumps(path), "path", glob) is expected
    assert meets(json.dumps(path), "!path", glob) is not expected


def test_a_hostile_glob_costs_little() -> None:
    name = json.dumps("/".join(["a" * 200] * 15))
    for glob in ("*a" * 400 + "b", "**/" * 300 + "b", "[" * 900, "?" * 900):
        assert not meets(name, "path", glob)
        assert not meets(name, "~", glob)


def test_an_unknown_operator_is_named(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    where = [Condition(name="year", operator="~=", value="1")]  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match="unknown operator '~=' in a filter on 'year'; expected one"
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
