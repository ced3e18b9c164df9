"""Every regular expression of the package, and texts that make a bad one slow.

Runs in processes of its own: an expression that explodes is killed and reported.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any
from unittest.mock import patch

SMALL, MEDIUM, LARGE = 1_000, 20_000, 1_000_000
"""Characters."""
_SQUARE_SHARE = 1 / 3
"""How near to squared growth a character of a longer text may come: caches and pages cost some."""
_AGAIN = 3
"""Measurements of what looks slow, of which the quickest counts."""
_NOTICEABLE = 0.05
"""Seconds; anything faster passes, since its growth is noise."""
_TYPICAL = "aA0 .\n\t-_,'\"([*|#=:/<\x00中"
_MOST_SAMPLES = 6
_TRIED_LONGER = 6
"""Attacks of each expression, the slowest."""
_SCANS = frozenset(("search", "finditer", "findall", "sub", "subn", "split"))


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression of the source code."""

    name: str
    """Module and name, or module and line."""
    compiled: re.Pattern[Any]
    scans: bool
    """Whether it looks for matches anywhere; else it is tried where a text begins."""


# --- finding them -------------------------------------------------------------------------


def expressions() -> list[Expression]:
    """Every expression that `clew` compiles on import, and every literal given to `re.…`."""
    made: list[tuple[str, re.Pattern[Any]]] = []
    compile_ = re.compile

    def recorded(pattern: Any, flags: int = 0) -> re.Pattern[Any]:  # noqa: ANN401
        compiled = compile_(pattern, flags)
        made.append((sys._getframe(1).f_globals["__name__"], compiled))
        return compiled

    with patch("re.compile", recorded):
        modules = [importlib.import_module(name) for name in _module_names()]
    uses = {m.__name__: _Uses(Path(m.__file__ or "")) for m in modules}
    found: list[Expression] = []
    for module, compiled in made:
        if module in uses:
            named = [(m, name) for m in uses for name in _names_of(compiled, vars(sys.modules[m]))]
            name = next((n for m, n in named if m == module), named[0][1] if named else "")
            private = name.startswith("_")
            users = [uses[m] for m, _ in named] if private else list(uses.values())
            scans = not name or any(n in use.scanned for use in users for _, n in named)
            unnamed = f"#{len(found)} {compiled.pattern[:40]}"
            found.append(Expression(f"{module}.{name or unnamed}", compiled, scans))
    for module, use in uses.items():
        for line, pattern, flags, method in use.literals:
            name = f"{module}:{line}"
            found.append(Expression(name, compile_(pattern, flags), method in _SCANS))
    return found


def _names_of(compiled: re.Pattern[Any], variables: Mapping[str, Any]) -> Iterator[str]:
    """What a module calls an expression: a name, or the place in a table of expressions."""
    for name, value in list(variables.items()):
        if value is compiled:
            yield name
        elif isinstance(value, dict):
            yield from (f"{name}[{key!r}]" for key, one in value.items() if one == compiled)


def _module_names() -> Iterator[str]:
    import clew

    for module in pkgutil.walk_packages(clew.__path__, "clew."):
        if not module.name.startswith("clew.testing") and not module.name.endswith("__main__"):
            yield module.name


class _Uses(ast.NodeVisitor):
    """How a file uses expressions."""

    def __init__(self, path: Path) -> None:
        self.scanned: set[str] = set()
        """Names that anything but a single try at a text's start is done with."""
        self.literals: list[tuple[int, str, int, str]] = []
        self._tried: set[int] = set()
        self.visit(ast.parse(path.read_text("utf-8")))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            method, owner = node.func.attr, node.func.value
            if ast.unparse(owner) == "re" and method in _SCANS | {"match", "fullmatch"}:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    self.literals.append((node.lineno, first.value, 0, method))
            if method in ("match", "fullmatch") and len(node.args) == 1:
                self._tried.add(id(owner))
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Constant) and id(node) not in self._tried:
            self.scanned.add(f"{ast.unparse(node.value)}[{node.slice.value!r}]")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and id(node) not in self._tried:
            self.scanned.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if id(node) not in self._tried:
            self.scanned.add(node.attr)
        self.generic_visit(node)


# --- texts --------------------------------------------------------------------------------


def attacks(pattern: str | bytes, flags: int) -> list[tuple[str, str, str]]:
    """(beginning, what is repeated, end) of texts that the pattern may take long for."""
    tree = parser.parse(pattern, flags)
    alphabet = dict.fromkeys((*_TYPICAL, *_literals(tree)))
    found = [("", character, end) for character in alphabet for end in ("", "\x00")]
    for before, body in _repeats(tree, [""]):
        for once in body:
            found += [(before, once, end) for end in ("", "\x00", "\n")]
            found += [("", before + once, "\x00")]
            found += [(before, once + other, "\x00") for other in body[:2] if other != once]
    for whole in _samples(tree):
        found += [("", whole, "\x00"), ("", whole[:-1], "\x00"), ("\n", whole + "\n", "")]
    return [attack for attack in dict.fromkeys(found) if attack[1]]


def _literals(tree: Any) -> Iterator[str]:  # noqa: ANN401 - a tree of the standard library
    for op, value in tree:
        if op is ops.LITERAL:
            yield chr(value)
        elif op is ops.IN:
            yield from _of_class(value)
        else:
            for inner in _inner(op, value):
                yield from _literals(inner)


def _inner(op: Any, value: Any) -> Sequence[Any]:  # noqa: ANN401
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        return [value[2]]
    if op is ops.SUBPATTERN:
        return [value[3]]
    if op is ops.ATOMIC_GROUP:
        return [value]
    return list(value[1]) if op is ops.BRANCH else []


def _repeats(tree: Any, before: list[str]) -> Iterator[tuple[str, list[str]]]:  # noqa: ANN401
    """Each repeat: a text that leads to it, and texts that it may repeat."""
    for op, value in tree:
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT) and value[1] > 1:
            yield before[0], _samples(value[2])
        for inner in _inner(op, value):
            yield from _repeats(inner, before)
        before = _joined(before, _of_node(op, value))


def _samples(tree: Any) -> list[str]:  # noqa: ANN401
    found = [""]
    for op, value in tree:
        found = _joined(found, _of_node(op, value))
    return found


def _joined(left: list[str], right: list[str]) -> list[str]:
    """Each of both sides at least once, not all pairs."""
    count = max(len(left), len(right))
    return [left[i % len(left)] + right[i % len(right)] for i in range(count)][:_MOST_SAMPLES]


def _of_node(op: Any, value: Any) -> list[str]:  # noqa: ANN401
    if op is ops.LITERAL:
        return [chr(value)]
    if op is ops.NOT_LITERAL:
        return [c for c in "a 0\n" if c != chr(value)]
    if op is ops.ANY:
        return ["a", " "]
    if op is ops.IN:
        return list(_of_class(value))[:_MOST_SAMPLES] or ["a"]
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        return [sample * max(value[0], 1) for sample in _samples(value[2])]
    if op is ops.BRANCH:
        return [s for branch in value[1] for s in _samples(branch)[:2]][:_MOST_SAMPLES]
    inner = _inner(op, value)
    return _samples(inner[0]) if inner else [""]


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    ops.CATEGORY_DIGIT: str.isdecimal,
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
}


def _of_class(items: Sequence[Any]) -> Iterator[str]:
    """Typical characters that the class holds, and some that it names."""

    def holds(character: str) -> bool:
        code = ord(character)
        for op, value in items:
            if (
                (op is ops.LITERAL and value == code)
                or (op is ops.RANGE and value[0] <= code <= value[1])
                or (op is ops.CATEGORY and _in_category(value, character))
            ):
                return not negated
        return negated

    negated = bool(items) and items[0][0] is ops.NEGATE
    named = [
        chr(v if op is ops.LITERAL else v[0]) for op, v in items if op in (ops.LITERAL, ops.RANGE)
    ]
    yield from dict.fromkeys(filter(holds, (*_TYPICAL, *named[:3], *named[-1:])))


def _in_category(category: Any, character: str) -> bool:  # noqa: ANN401
    if category in _CATEGORIES:
        return bool(_CATEGORIES[category](character))
    positive = getattr(ops, category.name.replace("NOT_", ""))
    return not _CATEGORIES[positive](character)


# --- measuring ----------------------------------------------------------------------------


def measure(pipe: Connection, done: Sequence[str], bad: Sequence[str]) -> None:
    """Send (name, None) before an expression is tried, (name, complaint or "") after it.

    Those of the package, else those given as `bad`.
    """
    given = [Expression(text, re.compile(text, re.M), scans=False) for text in bad]
    for expression in given or expressions():
        if expression.name not in done:
            pipe.send((expression.name, None))
            pipe.send((expression.name, _complaint(expression)))
    pipe.send(None)
    pipe.close()


def _complaint(expression: Expression) -> str:
    tried = []
    for attack in attacks(expression.compiled.pattern, expression.compiled.flags):
        seconds = _seconds(expression, attack, SMALL)
        if seconds > _NOTICEABLE:
            return f"{attack}: {seconds:.3f} s for {SMALL} characters"
        tried.append((seconds, attack))
    for size, longer, count in ((SMALL, MEDIUM, _TRIED_LONGER), (MEDIUM, LARGE, 1)):
        slowest, tried = sorted(tried, reverse=True)[:count], []
        for before, attack in slowest:
            most = max(_NOTICEABLE, _SQUARE_SHARE * before * (longer / size) ** 2)
            seconds = _seconds(expression, attack, longer)
            if seconds > most:
                seconds = min(_seconds(expression, attack, longer) for _ in range(_AGAIN))
            if seconds > most:
                return f"{attack}: {before:.4f} s at {size}, {seconds:.3f} s at {longer}"
            tried.append((seconds, attack))
    return ""


def _seconds(expression: Expression, attack: tuple[str, str, str], size: int) -> float:
    before, pump, after = attack
    text: Any = before + pump * (size // len(pump)) + after
    if isinstance(expression.compiled.pattern, bytes):
        text = text.encode("utf-8", "replace")
    start = time.process_time()
    if expression.scans:
        for _ in expression.compiled.finditer(text):
            pass
    else:
        expression.compiled.match(text)
        expression.compiled.fullmatch(text)
    return time.process_time() - start
