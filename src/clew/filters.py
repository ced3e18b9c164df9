"""The language of filters on metadata: read from text or from data, written, and decided.

`year >= 2020 and (author = "Marta Quill" or tags in (a, b)) and not draft = true`, or the same as
data: `{"operator": "AND", "conditions": [{"field": "year", "operator": ">=", "value": 2020}, …]}`.
Either becomes the same small tree (`clew.types`: `Condition`, `And`, `Or`, `Not`), which
`predicate` turns into a function of a document's values. docs/filters.md describes the language.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from fnmatch import translate
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, cast, get_args

from clew.errors import FilterError, InputError
from clew.types import (
    And,
    Condition,
    DatePrecision,
    Filter,
    Not,
    Operator,
    Or,
    PartialDate,
    Scalar,
    in_utc,
)

Where: TypeAlias = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
"""A filter as text or as data, or several, all of which must be met."""

FIELDS = (
    *("title", "source", "path", "type", "media_type", "language"),
    *("date", "created_at", "updated_at"),
)
"""What filters may name beside metadata; an empty one counts as missing.

`path` is the file, `type` the media type and the file's ending, `language` a code or "unknown",
`date` is `created_at` as precisely as it is stated. `meta.type` and so on are the metadata's own.
"""
OF_METADATA = {f"meta.{name}": name for name in FIELDS}
"""Names of metadata that are those of fields, too."""
DATES = ("date", "created_at", "updated_at")
"""Fields that hold dates alone."""
UNORDERED = ("path", "type")
"""Fields that know no greater and smaller."""
MAX_CHARACTERS = 10_000
"""Of a filter's text, and of a text in it."""
MAX_DEPTH = 50
"""Brackets and `not` within each other."""
MAX_CONDITIONS, MAX_VALUES = 100, 1000
"""Comparisons of a filter, and values in its lists: each is decided for every document."""

_OPERATORS = get_args(Operator)
_NEGATED = {
    "!=": "=",
    "!~": "~",
    "not in": "in",
    "not contains": "contains",
}
_COMPARE = {
    "=": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_SUCH = "such as year>=2020"


def read_where(where: Where) -> tuple[Filter, ...]:
    """The filters given, all of which must be met; raises `InputError` for what is none."""
    given: object = where
    if isinstance(given, (str, Mapping)):
        given = [given] if isinstance(given, str) or given else []
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise InputError(
            f"{type(given).__name__} cannot be a filter; expected a text, {_SUCH}, an object with"
            " 'field', 'operator' and 'value', or a list of these"
        )
    return tuple(read_text(one) if isinstance(one, str) else read_data(one) for one in given)


# --- from text -------------------------------------------------------------------------------

_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(
    r"""  "(?P<double> (?: [^"\\] | \\. )*+ )"
        | '(?P<single> (?: [^'\\] | \\. )*+ )'
        | “(?P<curly> [^“”]*+ )”
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"""\\(["'\\])""")
_SIGN = re.compile(r">=|<=|!=|!~|[=~<>]")
_SIGNS = re.compile(r"[=~<>!]+")
_IN_NAME = re.compile(r"[^\s=<>~!(),]+")
_NOT_IN_NAME = ("and", "or", "not", "in", "is", "contains", "between")
_BARE_ENDS = re.compile(r"""[(),]|\s(?:and|or)(?=[\s("'“]|$)""", re.IGNORECASE)
_SECOND = re.compile(r"\s(?:(?:contains|between)\s|in\s*+\(|is\s++(?:not\s++)?null\b)", re.I)
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
"""What these say without quotes."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")


def read_text(text: str) -> Filter:
    """The filter that a text says; raises `FilterError`, which points at what cannot be read.

    A text that begins with `{` is the JSON of a filter as data.
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(
            f"a filter has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read"
        )
    if text.lstrip().startswith("{"):
        try:
            return read_data(json.loads(text))
        except (ValueError, RecursionError) as error:
            problem = getattr(error, "msg", "nested too deeply, or a number too long")
            raise FilterError(text, getattr(error, "pos", 0), f"no JSON: {problem}") from error
    return _Reader(text).read()


class _Reader:
    """Reads a text from left to right: `or` of `and` of single conditions."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._made = _Conditions()

    def read(self) -> Filter:
        """The whole text."""
        found = self._joined(0)
        if self._next() == ")":
            raise self._error("no bracket is open here; quote a value that holds brackets")
        if self._next():
            raise self._error("expected and, or, or the end; quote what has several words")
        return found

    def _joined(self, depth: int, words: Sequence[str] = ("or", "and")) -> Filter:
        """What is joined by the first of the words, each part of it by the next one."""
        if not words:
            return self._single(depth)
        parts = [self._joined(depth, words[1:])]
        while self._takes(words[0]):
            parts.append(self._joined(depth, words[1:]))
        kind = Or if words[0] == "or" else And
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    def _single(self, depth: int) -> Filter:
        if depth > MAX_DEPTH:
            raise self._error(f"brackets and not are nested more than {MAX_DEPTH} deep")
        if self._takes("not"):
            return Not(self._single(depth + 1))
        if not self._takes_sign("("):
            return self._comparison()
        inner = self._joined(depth + 1)
        if not self._takes_sign(")"):
            raise self._error("expected and, or, or the closing bracket")
        return inner

    # --- one comparison

    def _comparison(self) -> Filter:
        name = self._name()
        self._next()
        sign, at = self._operator(name), self._at
        if sign.endswith("null"):
            return self._condition(name, sign, None, at)
        if sign in ("in", "not in"):
            return self._condition(name, sign, self._list(), at)
        if not sign.endswith("between"):
            return self._condition(name, sign, self._value(pattern=sign.endswith("~")), at)
        least = self._condition(name, ">=", self._value(), at)
        if not self._takes("and"):
            raise self._error("expected and, such as year between 2019 and 2021")
        at = self._at
        ends = (least, self._condition(name, "<=", self._value(), at))
        return _between(name, ends, negated=sign.startswith("not"))

    def _name(self) -> str:
        self._next()
        start = end = self._at
        if (quoted := self._quoted()) is not None:
            if not quoted.strip():
                raise self._error("the name of a field is empty", start)
            return _field(quoted)
        while found := _IN_NAME.match(self._text, self._at):
            word = found[0].lower()
            if word in _NOT_IN_NAME and (end > start or word in ("and", "or")):
                break
            end = self._at = found.end()
            self._next()
        if end == start:
            raise self._error(f"expected the name of a field, {_SUCH}")
        return _field(self._text[start:end])

    def _operator(self, name: str) -> str:
        signs = _SIGNS.match(self._text, self._at)
        sign = _SIGN.match(self._text, self._at)
        if signs and (sign is None or signs[0] not in (sign[0], f"{sign[0]}!")):
            instead = "; write = for equal" if signs[0] == "==" else ""
            raise self._error(
                f"unknown operator {_shown(signs[0])}{instead}; expected one of"
                f" {' '.join(_OPERATORS[:8])}, {_SUCH}"
            )
        if sign:
            self._at = sign.end()
            return sign[0]
        if self._takes("is"):
            negated = "not " if self._takes("not") else ""
            if not self._takes("null"):
                raise self._error("expected null, such as summary is null")
            return f"is {negated}null"
        negated = "not " if self._takes("not") else ""
        for word in ("in", "contains", "between"):
            if self._takes(word):
                return negated + word
        raise self._error(
            f"expected an operator after the field {_shown(name)} ({' '.join(_OPERATORS[:8])}, in,"
            f" contains, between, is null), {_SUCH}; quote a value that holds and, or, or brackets"
        )

    def _list(self) -> tuple[Scalar, ...]:
        if not self._takes_sign("("):
            raise self._error("expected a list in brackets, such as tags in (a, b)")
        values: list[Scalar] = []
        while values or not self._takes_sign(")"):
            self._next()
            at = self._at
            value = self._value(in_list=True)
            if value is None:
                raise self._error("null stands in no list; write or … is null", at)
            values.append(value)
            if self._takes_sign(")"):
                break
            if not self._takes_sign(","):
                raise self._error("expected a comma or the closing bracket of the list")
        return tuple(values)

    def _value(self, *, in_list: bool = False, pattern: bool = False) -> Scalar | None:
        """A value in quotes (text), or bare: what its letters say; None for null."""
        self._next()
        if (quoted := self._quoted()) is not None:
            return quoted
        start = self._at
        self._at = self._end_of_bare(in_list)
        bare = self._text[start : self._at].rstrip()
        if not bare:
            raise self._error(f"expected a value, {_SUCH}", start)
        if bare[0] in "(=<>~":
            raise self._error(f"a value that begins with {bare[0]} needs quotes", start)
        last = max(map(bare.rfind, "=<>~"))
        found = _SECOND.search(bare)
        if found or (last > 0 and re.search(r"[\s,;]", bare[:last])):
            raise self._error(
                f"{_shown(bare)} may be one value or two conditions; quote the value, or put"
                " and or or between the conditions",
                start + (found.start() + 1 if found else last),
            )
        if pattern:
            return bare
        if bare.lower() in _WORDS:
            return _WORDS[bare.lower()]
        number = _number(bare)
        return bare if number is None else number

    def _end_of_bare(self, in_list: bool) -> int:
        opened: list[int] = []
        for found in _BARE_ENDS.finditer(self._text, self._at):
            if found[0] == "(":
                opened.append(found.start())
            elif found[0] == ")" and opened:
                opened.pop()
            elif not opened and (found[0] != "," or in_list):
                return found.start()
        if opened:
            raise self._error(
                "this bracket is not closed; a value with brackets needs quotes", opened[-1]
            )
        return len(self._text)

    def _quoted(self) -> str | None:
        found = _QUOTED.match(self._text, self._at)
        if found is None:
            if self._next() in ('"', "'", "“"):
                raise self._error("this quote is not closed")
            return None
        self._at = found.end()
        if found["curly"] is not None:
            return found["curly"]
        inner = found["double"] if found["double"] is not None else found["single"]
        return _ESCAPED.sub(r"\1", inner)

    def _condition(
        self, name: str, sign: str, value: Scalar | tuple[Scalar, ...] | None, at: int
    ) -> Filter:
        """A condition that was read; `at` is where its value begins, or nearly."""
        place = _SPACE.match(self._text, at)
        try:
            return self._made.one(name, sign, value)
        except InputError as error:
            raise self._error(str(error), place.end() if place else at) from error

    # --- what comes next

    def _next(self) -> str:
        """The next character after blanks; empty at the end."""
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._text[self._at : self._at + 1]

    def _takes_sign(self, sign: str) -> bool:
        taken = self._next() == sign
        self._at += taken
        return taken

    def _takes(self, word: str) -> bool:
        self._next()
        end = self._at + len(word)
        after = self._text[end : end + 1]
        taken = self._text[self._at : end].lower() == word and not (
            after and not after.isspace() and after not in "()\"'“,"
        )
        if taken:
            self._at = end
        return taken

    def _error(self, problem: str, at: int | None = None) -> FilterError:
        return FilterError(self._text, self._at if at is None else at, problem)


# --- from data -------------------------------------------------------------------------------

_JOINED = ("AND", "OR", "NOT")
_OBJECT = "expected 'field', 'operator' and 'value', or 'operator' and 'conditions'"


def read_data(data: object) -> Filter:
    """The filter that data say, as Haystack 2 writes them; raises `InputError` for what is none.

    A comparison has `field`, `operator` and `value`; `AND`, `OR` and `NOT` have `conditions`. `NOT`
    of several is met where not all of them are.
    """
    return _DataReader().read(data, "", 0)


class _DataReader:
    def __init__(self) -> None:
        self._conditions = _Conditions()

    def read(self, data: object, place: str, depth: int) -> Filter:
        """The filter at a place in the data, such as `conditions[1]`."""
        if not isinstance(data, Mapping):
            raise _wrong(place, f"{_shown(data)} is no filter; {_OBJECT}")
        if depth > MAX_DEPTH:
            raise _wrong(place, f"conditions are nested more than {MAX_DEPTH} deep")
        joins = "conditions" in data or str(data.get("operator")).upper() in ("AND", "OR", "NOT")
        names = ("operator", "conditions") if joins else ("field", "operator")
        missing = [name for name in names if name not in data]
        unknown = [key for key in data if key not in (*names, *(["value"] * ("field" in data)))]
        if missing or unknown:
            what = f"{missing[0]!r} is missing" if missing else f"{_shown(unknown[0])} is not known"
            raise _wrong(place, f"{what}; {_OBJECT}")
        sign = data["operator"]
        if not isinstance(sign, str):
            raise _wrong(f"{place}.operator", f"{_shown(sign)} is no operator")
        if "conditions" in data:
            return self._joined(sign.upper(), data["conditions"], place, depth)
        return self._comparison(data, " ".join(sign.lower().split()), place)

    def _joined(self, sign: str, conditions: object, place: str, depth: int) -> Filter:
        if sign not in _JOINED:
            raise _wrong(
                f"{place}.operator", f"{_shown(sign)}; expected one of {', '.join(_JOINED)}"
            )
        place = f"{place}.conditions"
        if not isinstance(conditions, (list, tuple)) or not conditions:
            raise _wrong(place, f"{_shown(conditions)}; expected a list of at least one condition")
        deeper = depth + (2 if sign == "NOT" else 1)  # as text it may need brackets
        parts = tuple(
            self.read(one, f"{place}[{number}]", deeper) for number, one in enumerate(conditions)
        )
        if sign == "OR":
            return parts[0] if len(parts) == 1 else Or(parts)
        every = parts[0] if len(parts) == 1 else And(parts)
        return Not(every) if sign == "NOT" else every

    def _comparison(self, data: Mapping[str, Any], sign: str, place: str) -> Filter:
        field, value = data["field"], data.get("value")
        if not isinstance(field, str) or not field.strip() or len(field) > MAX_CHARACTERS:
            raise _wrong(f"{place}.field", f"{_shown(field)}; expected the name of a field")
        name, sign = _field(field), "=" if sign == "==" else sign
        if "value" not in data and not sign.endswith("null"):
            raise _wrong(place, "'value' is missing")
        if sign.removeprefix("not ") not in ("in", "between"):
            one = None if value is None else self._scalar(value, place)
            return self._made(name, sign, one, place)
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise _wrong(f"{place}.value", f"{_shown(value)}; {sign} takes a list")
        values = tuple(self._scalar(one, place) for one in value)
        if sign.endswith("in"):
            return self._made(name, sign, values, place)
        if len(values) != 2:
            raise _wrong(f"{place}.value", f"{_shown(value)}; {sign} takes two values")
        ends = (self._made(name, ">=", values[0], place), self._made(name, "<=", values[1], place))
        return _between(name, ends, negated=sign.startswith("not"))

    def _made(
        self, name: str, sign: str, value: Scalar | tuple[Scalar, ...] | None, place: str
    ) -> Filter:
        try:
            return self._conditions.one(name, sign, value)
        except InputError as error:
            raise _wrong(place, str(error)) from error

    def _scalar(self, value: object, place: str) -> Scalar:
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, str) and len(value) <= MAX_CHARACTERS:
            return value
        if isinstance(value, (bool, int)) and abs(value) < 10**40:
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        raise _wrong(
            f"{place}.value",
            f"{_shown(value)}; expected a text, a finite number, true, false or a date",
        )


def _wrong(place: str, problem: str) -> InputError:
    at = f" at {place.removeprefix('.')}" if place else ""
    return InputError(f"cannot read the filter{at}: {problem}")


def _shown(value: object) -> str:
    try:
        return _shortened(repr(value))
    except (ValueError, RecursionError):  # a number of thousands of digits
        return f"this {type(value).__name__}"


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}…"


# --- what both have in common


def _field(name: str) -> str:
    """The name of a field; `meta.year` is `year`, as Haystack calls it."""
    name = name.strip()
    return name if name in OF_METADATA else name.removeprefix("meta.") or name


def _between(name: str, ends: Sequence[Filter], *, negated: bool) -> Filter:
    inside = And(tuple(ends))
    return And((Condition(name, "is not null"), Not(inside))) if negated else inside


class _Conditions:
    """Makes and counts the comparisons of one filter."""

    def __init__(self) -> None:
        self._conditions = self._values = 0

    def one(self, name: str, sign: str, value: Scalar | tuple[Scalar, ...] | None) -> Condition:
        """A comparison; raises `InputError` for one that can never be meant, or one too many."""
        self._conditions += 1
        self._values += len(value) if isinstance(value, tuple) else 0
        if self._conditions > MAX_CONDITIONS or self._values > MAX_VALUES:
            raise InputError(
                f"a filter has at most {MAX_CONDITIONS} comparisons and {MAX_VALUES:,} values in"
                " its lists"
            )
        if sign not in _OPERATORS:
            raise InputError(
                f"unknown operator {_shortened(sign)!r}; expected one of {', '.join(_OPERATORS)},"
                " between"
            )
        if value is None and not sign.endswith("null"):
            nulls = {"=": "is null", "!=": "is not null"}
            if sign not in nulls:
                raise InputError(f"{sign} does not compare with null; write … is null")
            sign = nulls[sign]
        if sign.endswith("null") and value is not None:
            raise InputError(f"{sign} takes no value")
        if name in UNORDERED and sign[0] in "<>":
            raise InputError(f"{name} has no greater and smaller; expected one of = != ~ !~ in")
        if name in DATES and sign.removeprefix("not ") in ("!=", "in", *_COMPARE):
            for one in value if isinstance(value, tuple) else (value,):
                if _period(_text(one)) is None:
                    raise InputError(
                        f"{name} {_shown(_text(one))} in a filter is no date; expected one such as"
                        " 2019, 2019-05, 2019-05-08 or 2019-05-08T12:00"
                    )
        return Condition(name, cast("Operator", sign), value)


# --- written ---------------------------------------------------------------------------------

_PLAIN_NAME = re.compile(r"[^\W\d]\w*+(?:[.:-]\w++)*")


def to_text(filter_: Filter) -> str:
    """The text of a filter, which is read as the same filter."""
    match filter_:
        case And(parts):
            return " and ".join(_bracketed(part, (And, Or)) for part in parts)
        case Or(parts):
            return " or ".join(_bracketed(part, (Or,)) for part in parts)
        case Not(part):
            return f"not {_bracketed(part, (And, Or))}"
    name = filter_.name
    if name.startswith("meta.") and name not in OF_METADATA:
        name = f"meta.{name}"
    is_plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in _NOT_IN_NAME
    name = name if is_plain else _written(name)
    match filter_.value:
        case None:
            return f"{name} {filter_.operator}"
        case tuple(values):
            return f"{name} {filter_.operator} ({', '.join(map(_written, values))})"
    return f"{name} {filter_.operator} {_written(filter_.value)}"


def _bracketed(part: Filter, kinds: tuple[type, ...]) -> str:
    return f"({to_text(part)})" if isinstance(part, kinds) else to_text(part)


def _written(value: Scalar) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- decided ---------------------------------------------------------------------------------

Values: TypeAlias = Callable[[str], object]
"""The value of a field by its name; None where it is missing or null."""


def fields(filter_: Filter) -> Iterator[str]:
    """The names of the fields that a filter asks for, `meta.` left out."""
    match filter_:
        case And(parts) | Or(parts):
            for part in parts:
                yield from fields(part)
        case Not(part):
            yield from fields(part)
        case Condition(name):
            yield OF_METADATA.get(name, name)


def predicate(where: Sequence[Filter]) -> Callable[[Values], bool]:
    """Decides whether values meet all filters; raises `InputError` for an unknown operator.

    A comparison with a missing field is not met, `!=`, `!~` and `not in` included; `not` in front
    of it is.
    """
    tests = [_decided(one) for one in where]
    return lambda values: all(test(values) for test in tests)


def _decided(filter_: Filter) -> Callable[[Values], bool]:
    match filter_:
        case And(parts):
            return predicate(parts)
        case Or(parts):
            tests = [_decided(part) for part in parts]
            return lambda values: any(test(values) for test in tests)
        case Not(part):
            test = _decided(part)
            return lambda values: not test(values)
    name, sign = filter_.name, filter_.operator
    if sign not in _OPERATORS:
        raise InputError(
            f"unknown operator {sign!r} in a filter on {name!r}; expected one of"
            f" {', '.join(_OPERATORS)}"
        )
    if sign == "is null":
        return lambda values: values(name) is None
    if sign == "is not null":
        return lambda values: values(name) is not None
    meets = _comparison(name, _NEGATED.get(sign, sign), filter_.value)
    expected = sign not in _NEGATED

    def decide(values: Values) -> bool:
        found = values(name)
        return found is not None and meets(found) is expected

    return decide


def _comparison(name: str, sign: str, value: Any) -> Callable[[object], bool]:  # noqa: ANN401
    """Whether a value that is there stands in a relation to the one that is wanted."""
    if sign == "in" and name == "path":
        tests = [_comparison(name, "=", one) for one in value]
        return lambda found: any(test(found) for test in tests)
    if sign == "in":
        wanted = [_scalar(one) for one in value]
        texts = {one.text for one in wanted}
        return lambda found: _any(
            found,
            lambda one: (
                one.text in texts
                or (not one.is_plain and any(_compares(one, "=", w) for w in wanted))
            ),
        )
    text, other = _text(value), _scalar(value)
    if name == "path" and sign == "=":
        return lambda found: _matches_path(_text(found), literal(text))
    if name == "path" and sign == "~":
        return lambda found: _matches_path(_text(found).casefold(), text.casefold())
    if sign == "~":
        glob = _glob(text.casefold())
        return lambda found: _any(
            found, lambda one: glob.fullmatch(one.text.casefold()) is not None
        )
    if sign == "=":
        return lambda found: _any(found, lambda one: _compares(one, "=", other))
    if sign != "contains":
        return lambda found: not isinstance(found, list) and _compares(_scalar(found), sign, other)
    return lambda found: (
        text.casefold() in found.casefold()
        if isinstance(found, str)
        else isinstance(found, list) and _any(found, lambda one: _compares(one, "=", other))
    )


def _any(found: object, test: Callable[[_Scalar], bool]) -> bool:
    """Whether it holds of the value, or of an item of the list."""
    if isinstance(found, list):
        return any(test(_scalar(one)) for one in found if one is not None)
    return test(_scalar(found))


_Period: TypeAlias = tuple[datetime, datetime]


class _Scalar(NamedTuple):
    """A value as what it reads as."""

    text: str
    number: int | float | None
    period: _Period | None
    is_text: bool
    is_truth: bool

    is_plain: bool
    """Whether it equals nothing that is written otherwise."""


def _compares(found: _Scalar, sign: str, wanted: _Scalar) -> bool:
    """How two values compare: as numbers, as dates, else as text where both are text.

    Numbers where both read as such and one of them is one; ISO dates, and parts of them, as
    periods: `=` where they share a moment, `>` where one goes on after the other. What is wanted
    as a number or a date is never greater or smaller than other text.
    """
    are_texts = found.is_text and wanted.is_text
    if found.is_truth or wanted.is_truth:
        return sign == "=" and found.text.lower() == wanted.text.lower()
    if found.number is not None and wanted.number is not None and not are_texts:
        return bool(_COMPARE[sign](found.number, wanted.number))
    if found.period is not None and wanted.period is not None:
        (start, end), (since, until) = found.period, wanted.period
        holds = {
            "=": start < until and since < end,
            ">=": end > since,
            ">": end > until,
            "<=": start < until,
            "<": start < since,
        }
        return holds[sign]
    if sign == "=":
        return found.text == wanted.text
    return are_texts and wanted.period is None and bool(_COMPARE[sign](found.text, wanted.text))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_LONGEST = 50
"""Characters of a text that may be a number or a date."""


def _scalar(value: object) -> _Scalar:
    is_short = not isinstance(value, str) or len(value) <= _LONGEST
    if is_short and isinstance(value, (str, bool, int, float)):
        return _short_scalar(value)
    return _Scalar(_text(value), None, None, isinstance(value, str), False, True)


@lru_cache(maxsize=16_384, typed=True)
def _short_scalar(value: Scalar) -> _Scalar:
    text, is_truth = _text(value), isinstance(value, bool)
    number = None if is_truth else _number(text) if isinstance(value, str) else value
    if isinstance(number, float) and not math.isfinite(number):
        number = None
    period = _period(text)
    is_plain = number is None and period is None and text.lower() not in ("true", "false")
    return _Scalar(text, number, period, isinstance(value, str), is_truth, is_plain)


def _number(text: str) -> int | float | None:
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text.strip()):
        return None
    with suppress(ValueError):
        return int(text)  # exact, however long: record numbers must not meet their neighbours
    number = float(text)
    return number if math.isfinite(number) else None


_ISO_DATE = re.compile(r"([0-9]{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12][0-9]|3[01]))?)?")
_INSTANT = timedelta(microseconds=1)


def _period(text: str) -> _Period | None:
    """The moments from and before which an ISO date, or a part of one, holds."""
    part = _ISO_DATE.fullmatch(text)
    try:
        if part is None:
            moment = in_utc(datetime.fromisoformat(text))
            return moment, moment + _INSTANT
        precision: DatePrecision = "day" if part[3] else "month" if part[2] else "year"
        start = in_utc(datetime(int(part[1]), int(part[2] or 1), int(part[3] or 1)))
        return start, PartialDate(start, precision).end
    except (ValueError, OverflowError):
        return None


# --- globs


def literal(text: str) -> str:
    """The glob that a text alone meets."""
    return re.sub(r"([*?[])", r"[\1]", text)


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    """A glob as an expression; what fnmatch writes does not backtrack past a star."""
    return re.compile(translate(pattern))


def _matches_path(path: str, pattern: str) -> bool:
    """Whether a path ends as the glob says, from the beginning of a folder or name on.

    A glob without a slash is met by what follows, folders and all: `*plan*` anywhere in the path.
    In one with slashes a star stays within a name, and `**` is any folders. It begins at the root
    where it begins with a slash; it is met by all below a folder where it ends with one.
    """
    names, parts = path.split("/"), pattern.split("/")
    if len(parts) == 1:
        glob, starts = _glob(pattern), [0, *(m.end() for m in re.finditer("/", path))]
        return any(glob.fullmatch(path, at) for at in starts)
    parts = parts if pattern.startswith("/") else ["**", *parts]
    if parts[-1] == "":
        parts[-1] = "**"
    # Whether what is read of the glob so far is met by the first so many names.
    reached = [True, *(False for _ in names)]
    for part in parts:
        if part == "**":
            reached = list(accumulate(reached, operator.or_))
        else:
            glob, before = _glob(part), zip(reached, names, strict=False)
            reached = [False, *(was and glob.fullmatch(name) is not None for was, name in before)]
    return reached[-1]
