"""Texts within a written query become parameters; nothing else of it changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.attach.cypher import with_parameters


@pytest.mark.parametrize(
    ("query", "expected", "texts"),
    [
        ("MATCH (n {name: 'Ada'}) RETURN n", "MATCH (n {name: $text1}) RETURN n", ["Ada"]),
        ('RETURN "a", \'b\', "a"', "RETURN $text1, $text2, $text1", ["a", "b"]),
        (
            r"RETURN 'it\'s', 'a\\b', 'a\nb'",
            "RETURN $text1, $text2, $text3",
            ["it's", "a\\b", "a\nb"],
        ),
        ('RETURN "it\'s"', "RETURN $text1", ["it's"]),
        ("RETURN ''", "RETURN $text1", [""]),
        ("MATCH (n:`it's`) RETURN n", "MATCH (n:`it's`) RETURN n", []),
        ("RETURN 1 // it's\n, 'a'", "RETURN 1 // it's\n, $text1", ["a"]),
        ("RETURN /* it's */ 'a'", "RETURN /* it's */ $text1", ["a"]),
        ("RETURN 'without an end", "RETURN 'without an end", []),
        ("RETURN /* without 'an' end", "RETURN /* without 'an' end", []),
        (r"RETURN '\u0027 + 1", r"RETURN '\u0027 + 1", []),
        ("RETURN 1, 2.5, true, null", "RETURN 1, 2.5, true, null", []),
    ],
)
def test_texts_become_parameters(query: str, expected: str, texts: list[str]) -> None:
    found, values = with_parameters(query, {})
    assert found == expected
    assert list(values.values()) == texts


def test_names_that_are_taken_stay() -> None:
    found, values = with_parameters("RETURN $text1, 'a'", {"text1": "b"})
    assert found == "RETURN $text1, $text2"
    assert values == {"text1": "b", "text2": "a"}


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=5))
def test_whatever_is_quoted_comes_back_as_it_was(texts: list[str]) -> None:
    quoted = ["'" + t.replace("\\", "\\\\").replace("'", "\\'") + "'" for t in texts]
    query = "RETURN [" + ", ".join(quoted) + "]"
    found, values = with_parameters(query, {})
    if "\\u" in query or "\\U" in query:
        assert found == query
        return
    assert "'" not in found
    assert [values[name] for name in re.findall(r"\$(\w+)", found)] == texts
