"""Arguments as a model gives them, checked and completed; errors say how to go on."""

from __future__ import annotations

import json
import math
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeGuard

from clew.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.tools.spec import Arguments, Parameter


_LARGEST = sys.float_info.max
_LARGEST_WHOLE = 2**63 - 1  # that stores and arrays can hold


def load_json(text: str | bytes) -> Any:  # noqa: ANN401 - whatever it says
    """What JSON of strangers says. Raises `ValueError`, in words for them, where it cannot be."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise ValueError("no UTF-8, nested too deeply, or a number too long") from error


def as_object(tool: str, given: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    """Arguments as they are, or what their JSON text says; some models write the text of a text.

    Raises `InputError` for text that says no object.
    """
    if not isinstance(given, str):
        return given or {}
    found = _unquoted(_unquoted(given or "{}"))
    if not isinstance(found, dict):
        raise _wrong(f"{tool}: the arguments", given, 'an object such as {"query": "…"}')
    return found


def complete(tool: str, parameters: Sequence[Parameter], given: Mapping[str, Any]) -> Arguments:
    """All arguments by name, defaults filled in.

    Raises `InputError` that says what was given, what is allowed and what to do next.
    """
    known = {parameter.name: parameter for parameter in parameters}
    unknown = sorted(set(given) - set(known))
    if unknown:
        expected = ", ".join(known) or "none"
        raise InputError(
            f"{tool} has no parameter {unknown[0]!r}; its parameters are {expected}. Call it again"
            " with those alone"
        )
    return {name: _value(tool, parameter, given) for name, parameter in known.items()}


def _value(tool: str, parameter: Parameter, given: Mapping[str, Any]) -> Any:  # noqa: ANN401
    value = given.get(parameter.name)
    if value is None:
        if parameter.required:
            raise InputError(
                f"{tool} needs {parameter.name!r}: {parameter.description} Call it again with it"
            )
        return parameter.default
    if parameter.kind not in ("string", "name"):
        value = _unquoted(value)
    return _READERS[parameter.kind](f"{tool}: {parameter.name}", parameter, value)


def _unquoted(value: object) -> object:
    """What JSON text says: small models, and formats without free-form objects, send values so."""
    if isinstance(value, str):
        with suppress(ValueError):
            return load_json(value)
    return value


def _string(where: str, parameter: Parameter, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(where, value, "a string")
    if len(value) > parameter.max_length:
        raise InputError(
            f"{where} has {len(value)} characters; at most {parameter.max_length} are read. Give"
            " less at a time"
        )
    if not _is_text(value):
        raise _wrong(where, value, "text without halves of surrogate pairs")
    if not (parameter.blank or value.strip()):
        raise _wrong(where, value, "a text with a visible character")
    if parameter.choices and value not in parameter.choices:
        raise _wrong(where, value, f"one of {', '.join(parameter.choices)}")
    return value


def _name(where: str, parameter: Parameter, value: object) -> str:
    if isinstance(value, str):
        return _string(where, parameter, value)
    return str(_integer(where, parameter, value))


def _number(where: str, parameter: Parameter, value: object) -> float:
    if not _is_number(value):
        raise _wrong(where, value, "a number")
    return _within(where, parameter, value)


def _integer(where: str, parameter: Parameter, value: object) -> int:
    # Some models write 2.0 where 2 is meant, and ids of lists as text.
    value = _unquoted(value)
    if not _is_number(value) or value != value // 1:
        raise _wrong(where, value, "a whole number")
    if abs(value) > _LARGEST_WHOLE:
        raise _wrong(where, value, f"a whole number of at most {_LARGEST_WHOLE}")
    return int(_within(where, parameter, value))


def _is_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= _LARGEST  # a whole number may be too large to become a float


def _within(where: str, parameter: Parameter, value: float) -> float:
    low = -math.inf if parameter.minimum is None else parameter.minimum
    high = math.inf if parameter.maximum is None else parameter.maximum
    if parameter.clamped:
        return min(max(value, low), high)
    if not low <= value <= high:
        bounds = f"{low:g} to {high:g}" if math.isfinite(high) else f"at least {low:g}"
        raise _wrong(where, value, bounds)
    return value


def _boolean(where: str, _: Parameter, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(where, value, "true or false")
    return value


def _items(where: str, parameter: Parameter, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(where, value, "an array")
    if len(value) > parameter.max_items:
        raise InputError(
            f"{where} has {len(value)} items; at most {parameter.max_items} are taken. Give less at"
            " a time"
        )
    return value


def _strings(where: str, parameter: Parameter, value: object) -> list[str]:
    if parameter.lone:
        items = _items(where, parameter, value if isinstance(value, list) else [value])
        value = [
            json.dumps(_object(where, parameter, item)) if isinstance(item, dict) else item
            for item in items
        ]
    items = _items(where, parameter, value)
    return [_string(f"{where}[{i}]", parameter, item) for i, item in enumerate(items)]


def _integers(where: str, parameter: Parameter, value: object) -> list[int]:
    items = _items(where, parameter, value)
    return [_integer(f"{where}[{i}]", parameter, item) for i, item in enumerate(items)]


def _objects(where: str, parameter: Parameter, value: object) -> list[Arguments]:
    found = []
    for i, item in enumerate(_items(where, parameter, value)):
        if not isinstance(item, dict):
            raise _wrong(f"{where}[{i}]", item, "an object")
        found.append(complete(f"{where}[{i}]", parameter.fields, item))
    return found


def _object(where: str, _: Parameter, value: object) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise _wrong(where, value, "an object")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        expected = "an object without halves of surrogate pairs and numbers of thousands of digits"
        raise _wrong(where, value, expected) from error
    return value


def _is_text(value: str) -> bool:
    """Whether it can be sent on: JSON's escapes can say halves of pairs, UTF-8 cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


_READERS = {
    "string": _string,
    "name": _name,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "strings": _strings,
    "integers": _integers,
    "objects": _objects,
    "object": _object,
}


def _wrong(where: str, value: object, expected: str) -> InputError:
    try:
        shown = repr(value)
    except ValueError:  # Python writes no whole number of thousands of digits
        shown = f"{type(value).__name__} with a number of thousands of digits"
    shown = shown if len(shown) <= 80 else f"{shown[:77]}…"
    return InputError(f"{where} cannot be {shown}; expected {expected}. Call it again with that")
