"""Hierarchies that a caller declares: types of entities, and the relations between them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.errors import InputError

_TYPE = re.compile(r"(?P<type>[a-z][a-z0-9_]*+)\s*+")
_STEP = re.compile(
    r"(?:-\s*+(?P<down>[a-z][a-z0-9_]*+)\s*+->|<-\s*+(?P<up>[a-z][a-z0-9_]*+)\s*+-)\s*+",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Step:
    """A relation type between two neighbouring layers."""

    relation_type: str
    forward: bool
    """Whether it leads from the layer before to the layer after."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Types of entities, and the relations that lead from each to the next."""

    types: tuple[str, ...]
    steps: tuple[Step, ...]


def parse_hierarchy(text: str) -> Hierarchy:
    """`person -works_at-> organisation <-part_of- place`; raises `InputError` for what is none."""
    text = text.strip()
    types: list[str] = []
    steps: list[Step] = []
    at = 0
    while match := _TYPE.match(text, at):
        types.append(match["type"])
        at = match.end()
        step = _STEP.match(text, at)
        if step is None:
            break
        steps.append(Step(step["down"] or step["up"], step["down"] is not None))
        at = step.end()
    if at != len(text) or len(types) != len(steps) + 1 or len(types) < 2:
        raise InputError(
            f"cannot read the hierarchy {text!r}; expected types of entities with relations between"
            " them, such as 'person -works_at-> organisation -part_of-> organisation'"
        )
    return Hierarchy(tuple(types), tuple(steps))
