"""Parameters of the kinds that tools have; descriptions repeat ranges and defaults.

Pydantic models in their place were measured: building those of all tools costs `clew mcp` some
45 ms at each start, and the errors, clamping and flat schemas would have to be written anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.filters import MAX_CHARACTERS
from clew.tools.spec import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.tools.spec import Kind


def text(
    name: str,
    description: str,
    *,
    required: bool = False,
    default: str | None = None,
    max_length: int = 1000,
    choices: Iterable[str] = (),
    blank: bool = True,
) -> Parameter:
    """A string of at most `max_length` characters."""
    return Parameter(
        name=name,
        kind="string",
        description=_described(description, default),
        required=required,
        default=default,
        max_length=max_length,
        choices=tuple(choices),
        blank=blank,
    )


def integer(
    name: str, what: str, default: int | None, low: int, high: int, *, clamped: bool = False
) -> Parameter:
    """A whole number from `low` to `high`."""
    return Parameter(
        name=name,
        kind="integer",
        description=_described(f"{what}{', ' if what else ''}{low} to {high}.", default),
        default=default,
        minimum=low,
        maximum=high,
        clamped=clamped,
    )


def positive(name: str, description: str) -> Parameter:
    """A whole number from 1, such as an id; required."""
    return Parameter(name=name, kind="integer", description=description, required=True, minimum=1)


def share(name: str, what: str, default: float) -> Parameter:
    """A number from 0 to 1."""
    return Parameter(
        name=name,
        kind="number",
        description=_described(f"{what}{', ' if what else ''}0 to 1.", default),
        default=default,
        minimum=0,
        maximum=1,
    )


def flag(name: str, what: str, default: bool) -> Parameter:
    """True or false."""
    description = _described(what, str(default).lower())
    return Parameter(name=name, kind="boolean", description=description, default=default)


def array(
    name: str,
    kind: Kind,
    description: str,
    *,
    required: bool = False,
    fields: tuple[Parameter, ...] = (),
    max_items: int = 1000,
    max_length: int = 100_000,
    choices: tuple[str, ...] = (),
) -> Parameter:
    """Several of one kind, each one of the choices where there are any; empty by default."""
    return Parameter(
        name=name,
        kind=kind,
        description=description,
        required=required,
        default=None if required else (),
        fields=fields,
        max_items=max_items,
        max_length=max_length,
        choices=choices,
    )


def _described(description: str, default: object) -> str:
    return description if default in (None, "") else f"{description} Default {default}."


WHERE = Parameter(
    name="where",
    kind="strings",
    description="Such as year>=2020 and not tags in (a, b).",
    default=(),
    max_items=20,
    max_length=MAX_CHARACTERS,
    lone=True,
)
"""Filters on metadata, as text or as the JSON of data; all must be met."""
LEAST_TOKENS = 500
"""The least budget: whatever a result says beside its items fits into it."""
MAX_TOKENS = integer("max_tokens", "", 4000, LEAST_TOKENS, 100_000)
CURSOR = text("cursor", "next_cursor of the page before.", max_length=20)
