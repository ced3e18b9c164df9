"""The language of filters: what is read, what it means, where an error points; on SQLite, too."""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.errors import FilterError, InputError
from clew.filters import (
    MAX_CHARACTERS,
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_VALUES,
    predicate,
    read_data,
    read_text,
    read_where,
    to_text,
)
from clew.types import And, Condition, Filter, Not, Or
from tests.filter_cases import Tree, as_data, as_text, meets, metadata, trees


def decides(filter_: Filter, values: dict[str, Any]) -> bool:
    return predicate([filter_])(values.get)


def said(text: str, **values: Any) -> bool:  # noqa: ANN401
    return decides(read_text(text), values)


# --- one comparison


@pytest.mark.parametrize(
    ("value", "operator", "wanted", "expected"),
    [
        ("10", ">", "9", True),
        ('"10"', ">", "9", True),
        ('"ten"', ">", "9", False),  # no number
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
        ('"soon"', ">", "2024-05-01", False),  # no date
        ('"Maria Keller"', "~", "*keller", True),
        ('"Maria Keller"', "~", "keller", False),
        ('"Maria Keller"', "!~", "*keller", False),
        ('["Ann", "Bo"]', "~", "b?", True),
        ('["Ann", "Bo"]', "!~", "c*", True),
        ("2020", "~", "20*", True),
        ("null", "!~", "x", False),
        ("true", "=", "true", True),
        ("true", "=", "1", False),
        ("1", "=", "true", False),
        ('"True"', "=", "true", True),
        ("[1, 2]", "=", "2.0", True),
        ("[1, 2]", "!=", "2", False),
        ("[1, 2]", "!=", "3", True),
        ("[]", "!=", "3", True),
        ("[1, 2]", ">", "0", False),
        ('{"a": 1}', "=", '{"a": 1}', True),
        ('"Ä"', "=", "Ä", True),
        ("null", "!=", "x", False),
        # In quotes a number is text where a text stands against it.
        ('"1.10"', "=", "1.1", True),
        ('"1.10"', "=", '"1.1"', False),
        ("1.10", "=", '"1.1"', True),
        ('"b"', ">", "a", True),
        # `contains`: a part of a text in any case, an item of a list.
        ('"Marta Quill"', "contains", "quill", True),
        ('["xml"]', "contains", "ml", False),
        ('["xml", "ml"]', "contains", "ml", True),
        ("[2019, 2020]", "contains", "2020", True),
        ("2020", "contains", "20", False),
    ],
)
def test_how_values_compare(value: str, operator: str, wanted: str, expected: bool) -> None:
    values = {"field": json.loads(value)}
    assert decides(read_text(f"field {operator} {wanted}"), values) is expected
    assert decides(read_text(f"not field {operator} {wanted}"), values) is not expected


@pytest.mark.parametrize(
    ("path", "comparison", "expected"),
    [
        ("/srv/a/docs/x.rst", "~ docs/*.rst", True),
        ("/srv/a/docs/x.rst", "~ *.rst", True),
        ("/srv/a/docs/x.rst", "~ docs/", True),
        ("/srv/a/docs/b/x.rst", "~ docs/", True),
        ("/srv/a/docs/b/x.rst", "~ docs/*.rst", False),
        ("/srv/a/docs/b/x.rst", "~ docs/**/*.rst", True),
        ("/srv/a/docs/x.rst", "~ docs/**/x.rst", True),
        ("/srv/a/docs/x.rst", "~ /srv/**", True),
        ("/srv/a/docs/x.rst", "~ /docs/x.rst", False),
        ("/srv/a/docs/x.rst", "~ ocs/x.rst", False),
        ("/srv/a/docs/x.rst", "~ docs", False),
        ("/srv/a/docs/x.rst", "~ *oc*", True),  # without a slash a star crosses folders
        ("/srv/a/docs/x.rst", "~ doc*", True),
        ("/srv/a/docs/x.rst", "~ oc*", False),
        ("/srv/a/Docs/x.rst", "~ docs/*.RST", True),
        ("x", "~ **", True),
        ("x", "~ **/x", True),
        ("/srv/a/x", '~ ""', False),
        # It equals its last folders and names as they are written.
        ("/srv/docs/x[1].rst", "= docs/x[1].rst", True),
        ("/srv/docs/x.rst", "= docs/*.rst", False),
        ("/srv/docs/x.rst", "= DOCS/x.rst", False),
    ],
)
def test_a_path_ends_as_it_is_asked_for(path: str, comparison: str, expected: bool) -> None:
    assert said(f"path {comparison}", path=path) is expected
    assert said(f"path !{comparison}", path=path) is not expected


def test_a_hostile_glob_costs_little() -> None:
    name, start = "/".join(["a" * 200] * 15), time.process_time()
    for glob in ("*a" * 400 + "b", "**/" * 300 + "b", '"' + "[" * 900 + '"', "?" * 900):
        assert not said(f"path ~ {glob}", path=name)
        assert not said(f"field ~ {glob}", field=name)
    assert time.process_time() - start < 5


# --- filters from the issues, as people type them


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("year>=2020 and year<=2022", {"a", "b"}),
        ("year>=2022 or author=Marta Quill", {"a", "b", "c"}),
        ("year >= 2020 and (author = 'Marta Quill' or tags in (x, y))", {"a", "c"}),
        ("not draft = true", {"a", "c", "d"}),
        ("draft != true", {"c"}),
        ("summary is null", {"b", "c", "d"}),
        ("summary is not null", {"a"}),
        ("year between 2021 and 2022 AND NOT author CONTAINS quill", {"b"}),
        ("year not between 2021 and 2022", {"a", "c"}),
        ("yeer = 2020", set()),
        ("not yeer = 2020", {"a", "b", "c", "d"}),
        ("(year = 2020) or ((year = 2023))", {"a", "c"}),
        ("due date < 2024-06", {"b"}),
        ("meta.year = 2022", {"b"}),
        ("tags not in (x)", {"c"}),
        ("author ~ marta* or tags ~ y", {"a", "c"}),
        ('author in (Bo Lind, "Marta Quill")', {"a", "b"}),
        ("author = Bo Lind or author = Marta Quill and year = 2020", {"a", "b"}),
        ('{"field": "year", "operator": "in", "value": [2020, 2022]}', {"a", "b"}),
    ],
)
def test_filters_mean_what_they_say(text: str, expected: set[str]) -> None:
    documents: dict[str, dict[str, Any]] = {
        "a": {"year": 2020, "author": "Marta Quill", "tags": ["x"], "summary": "S"},
        "b": {"year": 2022, "author": "Bo Lind", "draft": True, "due date": "2024-05-31"},
        "c": {"year": 2023, "tags": ["y", "z"], "draft": False, "due date": "2024-06"},
        "d": {},
    }
    found = {name for name, values in documents.items() if said(text, **values)}
    assert found == expected


A, B = Condition("a", "=", 1), Condition("b", "=", 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("year>=2020", Condition("year", ">=", 2020)),
        (" author = Ada Morn ", Condition("author", "=", "Ada Morn")),
        ("a!=b", Condition("a", "!=", "b")),
        ("created_at<2024-01-01", Condition("created_at", "<", "2024-01-01")),
        ("note=x=y", Condition("note", "=", "x=y")),
        ("path~docs/*.rst", Condition("path", "~", "docs/*.rst")),
        ("author !~ *Keller", Condition("author", "!~", "*Keller")),
        ("title = Report (black and white)", Condition("title", "=", "Report (black and white)")),
        ("(title = a (b) c)", Condition("title", "=", "a (b) c")),
        ("title = Life in Rome", Condition("title", "=", "Life in Rome")),
        ("title = android", Condition("title", "=", "android")),
        ("author = O'Brien", Condition("author", "=", "O'Brien")),
        ("author = “Marta Quill”", Condition("author", "=", "Marta Quill")),
        ('author = "say \\"hi\\""', Condition("author", "=", 'say "hi"')),
        ('path = "C:\\new\\a"', Condition("path", "=", "C:\\new\\a")),
        ("'due date' = null", Condition("due date", "is null")),
        ("x = 'null'", Condition("x", "=", "null")),
        ("x in (a b, 'c, d', 3, true)", Condition("x", "in", ("a b", "c, d", 3, True))),
        ("a=1 or b=2 and c=3", Or((A, And((B, Condition("c", "=", 3)))))),
        ("not a=1 and b=2", And((Not(A), B))),
    ],
)
def test_filters_are_read_as_people_write_them(text: str, expected: Filter) -> None:
    assert repr(read_text(text)) == repr(expected)  # Python takes True for 1


def test_several_filters_must_all_be_met_and_each_form_may_stand_in_the_list() -> None:
    data = {"field": "meta.author", "operator": "==", "value": "Ada"}
    assert read_where(["year>=2020", data]) == (
        Condition("year", ">=", 2020),
        Condition("author", "=", "Ada"),
    )
    assert read_where("year>=2020") == read_where(("year>=2020",))
    assert read_where(data) == read_where([data]) == read_where(json.dumps(data))
    assert read_where([]) == read_where({}) == ()


def test_values_in_metadata_may_be_of_any_size_and_depth() -> None:
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    for value in (10**400, -(10**400), 1e308, deep, {"a": deep}, "x" * 100_000, [deep, "a"]):
        assert said("field is not null and not field = b", field=value)
        assert said("field > 5 or not field > 5", field=value)
    assert said("field > 5", field=10**400)
    assert said("field = a and field ~ A", field=[deep, "a"])


def test_dates_of_python_are_dates() -> None:
    for value in (date(2020, 5, 8), datetime(2020, 5, 8, 12, tzinfo=UTC)):
        filter_ = read_data({"field": "day", "operator": ">=", "value": value})
        assert decides(filter_, {"day": "2020-05-08T12:00:00Z"})
        assert not decides(filter_, {"day": "2020-05-07"})


# --- brute force and round trips


@given(trees, st.lists(metadata, min_size=1, max_size=5))
@settings(max_examples=400)
@example(("not", ("draft", "=", True)), [{}, {"draft": 1}, {"draft": True}])
@example(("year", "in", ()), [{"year": 1}])
def test_text_and_data_are_decided_as_brute_force_decides(
    tree: Tree, documents: list[dict[str, Any]]
) -> None:
    from_text, from_data = read_text(as_text(tree)), read_data(as_data(tree))
    assert repr(from_text) == repr(from_data)
    for values in documents:
        assert decides(from_text, values) is meets(tree, values), (as_text(tree), values)


@given(trees)
@settings(max_examples=300)
def test_what_is_written_is_read_as_the_same_filter(tree: Tree) -> None:
    read = read_text(as_text(tree))
    assert repr(read_text(to_text(read))) == repr(read)


plain = st.one_of(st.text(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))


@given(st.text(min_size=1).filter(str.strip), plain)
def test_any_name_and_any_value_can_be_written(name: str, value: str | float) -> None:
    condition = read_data({"field": name, "operator": "contains", "value": value})
    assert read_text(to_text(condition)) == condition


PIECES = st.sampled_from(
    [*"ab =<>!~(),\"'“”{}[]0.-\\\n\t*", " and ", " or ", "not ", " in (", " is null", "between "]
)


def refusal(where: Any) -> InputError | None:  # noqa: ANN401
    try:
        read_where(where)
    except InputError as error:
        return error
    return None


@given(st.lists(PIECES, max_size=30).map("".join))
@settings(max_examples=300)
def test_any_text_is_read_or_refused_at_one_of_its_characters(text: str) -> None:
    error = refusal(text)
    if error is None:
        read = read_text(text)
        assert repr(read_text(to_text(read))) == repr(read)
    elif isinstance(error, FilterError):
        message, shown, caret = str(error).split("\n")
        assert message == error.line
        assert caret.strip() == "^"
        assert len(caret) <= len(shown) + 1
    else:
        assert text.lstrip().startswith("{"), "what is no text has no characters to point at"


# --- errors


def test_what_is_no_condition_says_what_one_looks_like() -> None:
    for text in ("year", "=2020", "year>=", "", ">", "year>>2020", "year==2020", "a~~b"):
        with pytest.raises(InputError, match=r"cannot read the filter .* such as year>=2020"):
            read_where([text])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        # The character marked by ¦ is the one that the error points at.
        ("year >= 2020 and ¦", "expected the name of a field"),
        ("author = Marta Quill and Bo Lind¦", "quote a value that holds and, or"),
        ("year >= 2020 author ¦= Marta", "may be one value or two conditions"),
        ("year = 2020,author¦=Marta", "may be one value or two conditions"),
        ("year >= 2020 tags ¦contains x", "may be one value or two conditions"),
        ("year >= 2020 summary ¦is null", "may be one value or two conditions"),
        ("(a = 1¦", "the closing bracket"),
        ("a = 1¦)", "no bracket is open"),
        ('a = ¦"x', "this quote is not closed"),
        ('a = "x" ¦y', "expected and, or, or the end"),
        ("a = ¦(2020 or 2021)", r"begins with \( needs quotes"),
        ("title = foo ¦(bar", "this bracket is not closed"),
        ("date >= ¦soon", "date 'soon' in a filter is no date"),
        ("date = ¦soon", "date 'soon' in a filter is no date"),
        ("date between 2019 and ¦soon", "date 'soon' in a filter is no date"),
        ("path > ¦3", "path has no greater and smaller"),
        ("year between 1¦", "expected and"),
        ("tags in ¦a, b", r"expected a list in brackets, such as tags in \(a, b\)"),
        ("tags in (a, ¦null)", "null stands in no list"),
        ("tags in (a, ¦)", "expected a value"),
        ("a is ¦nothing", "expected null"),
        ("a > ¦null", "> does not compare with null; write … is null"),
        ("x not ¦like 3", "expected an operator after the field 'x'"),
        ("year ¦<> 2020", "unknown operator '<>'"),
    ],
)
def test_an_error_points_at_the_character(text: str, problem: str) -> None:
    at = text.index("¦")
    with pytest.raises(FilterError, match=problem) as raised:
        read_text(text.replace("¦", ""))
    message, shown, caret = str(raised.value).split("\n")
    assert raised.value.position == at
    assert f"at character {at + 1}: " in message
    assert caret.index("^") - 2 == at
    assert shown == f"  {text.replace('¦', '')}"


def test_of_a_long_text_an_error_shows_the_part_where_it_is() -> None:
    text = f"x = {'a' * 3000} and y ?? 3 and z = {'b' * 3000}"
    with pytest.raises(FilterError) as raised:
        read_text(text)
    message, shown, caret = str(raised.value).split("\n")
    assert len(message) < 500
    assert shown[: caret.index("^")].endswith("y ?? 3 ")
    assert len(shown) < 100


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"year": 2020}, "'field' is missing; expected 'field', 'operator' and 'value'"),
        ({"operator": "AND"}, "'conditions' is missing"),
        ({"field": "a", "operator": "=", "value": 1, "boost": 2}, "'boost' is not known"),
        ({"operator": "XOR", "conditions": [{}]}, "at operator: 'XOR'; expected one of AND, OR"),
        ({"operator": "AND", "conditions": []}, "at conditions: .*at least one condition"),
        ({"operator": "AND", "conditions": [{"field": "a"}]}, r"at conditions\[0\]: 'operator' is"),
        (
            {"operator": "NOT", "conditions": [{"field": "a", "operator": "LIKE", "value": "x"}]},
            r"at conditions\[0\]: unknown operator 'like'; expected one of",
        ),
        ({"field": "a", "operator": "<", "value": [1]}, r"at value: \[1\]; expected a text"),
        ({"field": "a", "operator": "<", "value": None}, "does not compare with null"),
        ({"field": "a", "operator": "<"}, "'value' is missing"),
        ({"field": "a", "operator": "in", "value": "x"}, "in takes a list"),
        ({"field": "a", "operator": "between", "value": [1]}, "between takes two values"),
        ({"field": "a", "operator": "==", "value": float("nan")}, "a finite number"),
        ({"field": "", "operator": "==", "value": 1}, "at field: ''; expected the name"),
        ({"field": "date", "operator": ">", "value": "soon"}, "date 'soon' in a filter is no date"),
        (3, "int cannot be a filter; expected a text"),
        ([3], "3 is no filter"),
        (b"year=1", "bytes cannot be a filter"),
    ],
)
def test_data_that_are_no_filter_say_where_and_why(data: Any, problem: str) -> None:  # noqa: ANN401
    with pytest.raises(InputError, match=problem):
        read_where(data)


def nested(depth: int) -> dict[str, Any]:
    data: dict[str, Any] = {"field": "a", "operator": "=", "value": 1}
    for _ in range(depth):
        data = {"operator": "NOT", "conditions": [data]}
    return data


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("(" * 5000 + "a=1" + ")" * 5000, f"nested more than {MAX_DEPTH} deep|characters"),
        ("(" * 100 + "a=1" + ")" * 100, f"nested more than {MAX_DEPTH} deep"),
        ("not " * 1000 + "a=1", f"nested more than {MAX_DEPTH} deep"),
        (nested(900), f"nested more than {MAX_DEPTH} deep"),
        ('{"operator":"NOT","conditions":[' * 300, "characters|no JSON"),
        ("a=1 or " * 2000 + "a=1", f"at most {MAX_CHARACTERS:,} are read"),
        (" or ".join(["a=1"] * 101), f"at most {MAX_CONDITIONS} comparisons"),
        (f"a in ({','.join('1' * 2000)})", f"and {MAX_VALUES:,} values"),
        ({"field": "a", "operator": "in", "value": [1] * 2000}, f"and {MAX_VALUES:,} values"),
        ({"field": "a", "operator": "=", "value": 10**400}, "a finite number"),
        ({"field": "a", "operator": "=", "value": "x" * 20_000}, "expected a text"),
    ],
    ids=range(11),
)
def test_what_is_too_deep_or_too_long_is_refused(where: Any, problem: str) -> None:  # noqa: ANN401
    with pytest.raises(InputError, match=problem) as raised:
        read_where(where)
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize(
    "text",
    [
        "a = " + " " * 9000 + "b",
        "a = b" + " " * 9000 + "c",
        "a = " + "in " * 3000,
        "a = " + "is " * 3000,
        "a = x" + " and" * 2000,
        'a = "' + "\\" * 9000,
        "a" * 9000,
        "a " * 4500,
        "a " + "=" * 9000,
        "a" * 5000 + " > null",
        "date = " + "b" * 9000,
        "a = " + "()" * 4500,
        "a = " + "1" * 9000,
        "a = " + "." * 9000,
    ],
    ids=range(14),
)
def test_no_text_takes_long_to_read(text: str) -> None:
    start = time.process_time()
    error = refusal(text)
    if error is None:
        said(text, a="x" * 10_000)
    assert len(str(error)) < 1000
    assert time.process_time() - start < 1
