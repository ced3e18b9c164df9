"""What a source file is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """A class, a function, or a scope that only qualifies names."""

    kind: Literal["class", "function", "scope"]
    path: tuple[str, ...]
    """Its name, after those of the definitions around it."""
    start: int
    """With decorators and comments that lead it in."""
    end: int
    name_start: int
    name_end: int
    self_name: str = ""
    """How it names its own object, where its language leaves that open."""
    is_local: bool = False
    """Whether it is defined within a function."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A name that the code uses: a base of a class, what is called, a type or a decorator."""

    kind: Literal["extends", "implements", "call", "returns", "type", "decorator"]
    name: str
    """As it is written, with the object before it."""
    start: int
    end: int
    within: int
    """Place of the innermost definition around it; -1 for none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Syntax:
    """What a source file holds, in order; ranges are characters of the text."""

    language: str
    definitions: tuple[Definition, ...]
    references: tuple[Reference, ...]
    imports: tuple[tuple[int, int], ...]
    comments: tuple[tuple[int, int], ...]
    """Docstrings among them."""
    package: str
    """As the file states it; empty where it states none."""
