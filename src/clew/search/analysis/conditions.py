"""Filters on metadata, as people write them: `year>=2020`, `author=Ada`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from clew.errors import InputError
from clew.types import Condition, Operator

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONDITION = re.compile(r"(?P<name>[^=!<>]++)(?P<operator>[<>!]?=|[<>])(?P<value>.++)")


def parse_conditions(texts: Sequence[str]) -> tuple[Condition, ...]:
    """Conditions from their text; raises `InputError` for what is none."""
    return tuple(map(_parse, texts))


def _parse(text: str) -> Condition:
    match = _CONDITION.fullmatch(text.strip())
    name, value = (match["name"].strip(), match["value"].strip()) if match else ("", "")
    if not match or not name or not value:
        raise InputError(
            f"cannot read the filter {text!r}; expected a name, one of = != >= <= > <, and a value,"
            " such as year>=2020"
        )
    return Condition(name=name, operator=cast(Operator, match["operator"]), value=value)
