"""Errors of the graph's stores: what cannot be mended or written, and what to do instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clew.errors import InputError, NotFoundError
from clew.text import entity_key


def named_key(name: str) -> str:
    """The key of a name that an entity is given; raises `InputError` where it has none."""
    key = entity_key(name)
    if not key:
        raise InputError(
            f"an entity cannot be named {name!r}; expected a name with letters or digits"
        )
    return key


def unknown_entities(entity_ids: Iterable[int]) -> NotFoundError:
    """There are no such entities."""
    shown = ", ".join(str(i) for i in dict.fromkeys(entity_ids))
    return NotFoundError(
        f"no entity with the id {shown}; look its id up by its name (`clew entity show NAME`)"
    )


def merged_with_itself(entity_id: int) -> InputError:
    """Merging needs two entities."""
    return InputError(f"cannot merge entity {entity_id!r} with itself; give two entities")


def missing_keys(entity_id: int, missing: Sequence[str], held: Sequence[str]) -> NotFoundError:
    """Only names that an entity has can be split off it."""
    return NotFoundError(
        f"entity {entity_id!r} has no alias of the keys {missing!r}; expected some of {held!r}"
    )


def half_without_source(half: Sequence[str], held: Sequence[str]) -> InputError:
    """A half that no text names would be an entity without a source."""
    return InputError(
        f"cannot split the names {list(held)!r}: no text names the half {list(half)!r};"
        " each half needs a name that some document holds"
    )


def unusable_name(name: str) -> InputError:
    """A name without letters or digits has no key."""
    return InputError(f"cannot rename an entity to {name!r}: expected letters or digits")


def name_of_another(name: str, entity_id: int) -> InputError:
    """A name belongs to one entity."""
    return InputError(
        f"{name!r} is a name of another entity ({entity_id}); merge the two with"
        " `clew entity merge` instead"
    )


def passages_gone(count: int) -> NotFoundError:
    """What was read has changed meanwhile."""
    return NotFoundError(
        f"{count} of the passages were changed or deleted meanwhile; read them again"
        " (extraction_next)"
    )
