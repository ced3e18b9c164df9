"""The people of a message, as its metadata keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

MEDIA_TYPE = "message/rfc822"


class Person(NamedTuple):
    """One of the people of a field; either may be empty."""

    name: str
    address: str
    """In lower case."""


def flat(found: Iterable[Person]) -> list[str]:
    """Names and addresses as one list, each address after its name: what filters compare with."""
    return [part for person in found for part in person if part]


def from_flat(values: object) -> list[Person]:
    """The people of a list made by `flat`."""
    found: list[Person] = []
    for value in values if isinstance(values, list) else []:
        if "@" not in str(value):
            found.append(Person(str(value), ""))
        elif found and not found[-1].address:
            found[-1] = Person(found[-1].name, str(value))
        else:
            found.append(Person("", str(value)))
    return found
