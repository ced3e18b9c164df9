"""Identifiers are found whole and by their parts."""

from __future__ import annotations

import pytest

from clew.text import question_terms, terms


@pytest.mark.parametrize(
    "asked", ["parse http date", "http date", "ParseHTTPDate", "parse_http_date"]
)
@pytest.mark.parametrize(
    "code", ["def parse_http_date(x):", "class ParseHTTPDate:", "Date parseHttpDate(String s)"]
)
def test_identifiers_are_found_by_their_parts(asked: str, code: str) -> None:
    assert set(terms("http date")) <= set(question_terms(asked)) & set(terms(code))


def test_names_of_prose_stay_whole() -> None:
    assert terms("JavaScript is older than YouTube (2005).") == terms(
        "javascript is older than youtube 2005"
    )
