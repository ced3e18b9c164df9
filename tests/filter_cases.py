"""Metadata, filters in both forms, and whether one meets the other, written without the product.

A filter is a tuple: ("and", a, b, …), ("or", …), ("not", a), or (field, operator, value).
"""

from __future__ import annotations

import calendar
import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from hypothesis import strategies as st

Tree: TypeAlias = tuple[Any, ...]

FIELDS = ("year", "author", "tags", "draft", "day", "due date", "größe", "rank")
NOBODYS = "yeer"
TEXTS = ("Marta Quill", "marta quill", "Bo", "and", "a, b", "x) or (y", 'say "hi"', "C:\\new\\", "")
MIXED = ("2019", "2020", "007", "7", "1.10", "true", "True", "null", "2020-05", "2020-05-08")
TIMES = ("2020-05-08T12:00", "2020-05-08T12:00:00+02:00", "2020-05-08T10:00:00Z")
NUMBERS = (0, 7, 2019, 2020, 1.1, -3, 2019.5, 9007199254740993, 9007199254740992)

scalars = st.sampled_from([*TEXTS, *MIXED, *TIMES, *NUMBERS, True, False])
stored = st.one_of(
    scalars, st.none(), st.lists(st.one_of(scalars, st.none()), max_size=3), st.just({"a": 1})
)
metadata = st.dictionaries(st.sampled_from(FIELDS), stored)

_fields = st.sampled_from([*FIELDS, NOBODYS])
_globs = st.sampled_from(["*", "*quill", "Marta*", "20??", "?o", "[mM]arta *", "*hi*", "true", "7"])
_several = st.lists(scalars, max_size=3).map(tuple)
comparisons = st.one_of(
    st.tuples(_fields, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), scalars),
    st.tuples(_fields, st.sampled_from(["~", "!~"]), _globs),
    st.tuples(_fields, st.sampled_from(["in", "not in"]), _several),
    st.tuples(_fields, st.sampled_from(["contains", "not contains"]), scalars),
    st.tuples(_fields, st.sampled_from(["between", "not between"]), st.tuples(scalars, scalars)),
    st.tuples(_fields, st.sampled_from(["is null", "is not null"]), st.none()),
)


def _joined(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    several = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        several.map(lambda parts: ("and", *parts)),
        several.map(lambda parts: ("or", *parts)),
        inner.map(lambda part: ("not", part)),
    )


trees: st.SearchStrategy[Tree] = st.recursive(comparisons, _joined, max_leaves=6)


def some_metadata(chance: random.Random) -> dict[str, Any]:
    """Metadata such as `metadata` generates, from a source of chance of one's own."""
    values = [*TEXTS, *MIXED, *TIMES, *NUMBERS, True, False]
    kinds = [*values, None, [], *([one, chance.choice(values)] for one in values[::4])]
    return {name: chance.choice(kinds) for name in FIELDS if chance.random() < 0.5}


# --- the two forms


def as_text(tree: Tree) -> str:
    """The tree as somebody may type it, with more brackets than it needs."""
    match tree:
        case ("and" | "or" as word, *parts):
            return f" {word} ".join(f"({as_text(part)})" for part in parts)
        case ("not", part):
            return f"not ({as_text(part)})"
    name, sign, value = tree
    name = f'"{name}"' if len(name) % 2 else name
    if sign.endswith("null"):
        return f"{name} {sign}"
    if sign.endswith("in"):
        return f"{name} {sign.upper()} ({', '.join(map(_written, value))})"
    return (
        f"{name} {sign} {_written(value[0])} and {_written(value[1])}"
        if sign.endswith("between")
        else f"{name} {sign} {_written(value)}"
    )


def _written(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return json.dumps(value)


def as_data(tree: Tree) -> dict[str, Any]:
    """The tree as Haystack writes it."""
    match tree:
        case ("and" | "or" as word, *parts):
            return {"operator": word.upper(), "conditions": [as_data(part) for part in parts]}
        case ("not", part):
            return {"operator": "NOT", "conditions": [as_data(part)]}
    name, sign, value = tree
    value = list(value) if isinstance(value, tuple) else value
    sign = {"=": "==", "is null": "==", "is not null": "!="}.get(sign, sign)
    return {"field": f"meta.{name}", "operator": sign, "value": value}


# --- what they mean


def meets(tree: Tree, values: Mapping[str, object]) -> bool:
    """Whether values meet a filter: a comparison with what is missing is false."""
    match tree:
        case ("and", *parts):
            return all(meets(part, values) for part in parts)
        case ("or", *parts):
            return any(meets(part, values) for part in parts)
        case ("not", part):
            return not meets(part, values)
    name, sign, value = tree
    found = values.get(name)
    if sign == "is null":
        return found is None
    if found is None:
        return False
    if sign == "is not null":
        return True
    if sign == "!=":
        return not _holds(found, "=", value)
    if sign == "!~":
        return not _holds(found, "~", value)
    return (
        not _holds(found, sign.removeprefix("not "), value)
        if sign.startswith("not ")
        else _holds(found, sign, value)
    )


def _holds(found: Any, sign: str, value: Any) -> bool:  # noqa: ANN401
    if sign == "between":
        return _holds(found, ">=", value[0]) and _holds(found, "<=", value[1])
    if sign == "in":
        return any(_holds(found, "=", one) for one in value)
    if sign == "contains":
        if isinstance(found, str):
            return _shown(value).casefold() in found.casefold()
        return isinstance(found, list) and _holds(found, "=", value)
    if isinstance(found, list):
        return sign in "=~" and any(_holds(item, sign, value) for item in found if item is not None)
    return (
        fnmatchcase(_shown(found).casefold(), value.casefold())
        if sign == "~"
        else sign in _relations(found, value)
    )


def _relations(found: Any, value: Any) -> set[str]:  # noqa: ANN401
    """The signs that may stand between the two."""
    if isinstance(found, bool) or isinstance(value, bool):
        return {"="} if _shown(found).lower() == _shown(value).lower() else set()
    both_texts = isinstance(found, str) and isinstance(value, str)
    a, b = _decimal(found), _decimal(value)
    if a is not None and b is not None and not both_texts:
        return _signs(a, b)
    p, q = _moments(found), _moments(value)
    if p and q:
        (first, last), (since, until) = p, q
        holds = {
            "=": first <= until and since <= last,
            "<": first < since,
            "<=": first <= until,
            ">": last > until,
            ">=": last >= since,
        }
        return {sign for sign, does in holds.items() if does}
    if both_texts and not q:
        return _signs(found, value)
    return {"="} if _shown(found) == _shown(value) else set()


def _signs(a: Any, b: Any) -> set[str]:  # noqa: ANN401
    return {"=", "<=", ">="} if a == b else {"<", "<="} if a < b else {">", ">="}


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _decimal(value: object) -> Decimal | None:
    try:
        number = Decimal(_shown(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _moments(value: object) -> tuple[datetime, datetime] | None:
    """The first and the last moment of what an ISO date names, to the microsecond."""
    text = _shown(value)
    try:
        if len(text) == 4 and text.isdecimal():
            first = datetime(int(text), 1, 1, tzinfo=UTC)
            days = 366 if calendar.isleap(first.year) else 365
        elif len(text) == 7:
            first = datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC)
            days = calendar.monthrange(first.year, first.month)[1]
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            if len(text) > len("2020-05-08"):
                return moment, moment
            first, days = moment, 1
    except ValueError:
        return None
    return first, first + timedelta(days=days) - timedelta(microseconds=1)
