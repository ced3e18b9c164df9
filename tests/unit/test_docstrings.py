"""Every public name of the library has an example in its docstring, and the example runs."""

from __future__ import annotations

import doctest
import inspect
import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.engine.graph import Entities, Graph
from clew.engine.maintenance import Maintenance, Packs
from clew.engine.namespaces import Namespaces
from clew.testing.fakes import HashEmbedder

PARTS = (clew.Clew, Entities, Graph, Maintenance, Packs, Namespaces)
"""What `store` is, and what is one of its parts."""
TEXTS = [
    clew.Document(
        source="clock",
        title="The clock",
        text="Ada Marsh built the clock of the Ostrava tower in 1881.",
        metadata={"year": 1881},
    ),
    clew.Document(
        source="teacher",
        title="The teacher",
        text="Ada Marsh was taught by Ivo Quill in Lund.",
    ),
    clew.Document(
        source="bakery",
        title="The bakery",
        text="Ivo Quill lived above the bakery in Lund.",
    ),
]


def documented() -> Iterator[tuple[str, object]]:
    """Every class and function of `clew`, every public method of a store and its parts."""
    for name in clew.__all__:
        thing = getattr(clew, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield f"clew.{name}", thing
    for part in PARTS:
        for name, thing in inspect.getmembers(part):
            is_given = inspect.isfunction(thing) or isinstance(thing, property)
            if not name.startswith("_") and (is_given or hasattr(thing, "attrname")):
                yield f"{part.__name__}.{name}", thing


DOCUMENTED = dict(documented())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled") / "store"
    with clew.open(folder, embedder=HashEmbedder()) as store:
        store.add_documents(TEXTS)
    return folder


@pytest.mark.parametrize("name", DOCUMENTED)
def test_example(name: str, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = inspect.getdoc(DOCUMENTED[name]) or ""
    assert "Example:\n" in text, f"the docstring of {name} has no example"
    monkeypatch.chdir(tmp_path)
    shutil.copytree(filled, tmp_path / "store")

    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as store:
        globs = {"clew": clew, "store": store}
        test = doctest.DocTestParser().get_doctest(text, globs, name, None, 0)
        told: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)

    assert test.examples, f"the example of {name} runs nothing"
    assert not told, "".join(told)


# --- names that docstrings name

_TOKEN = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)(?:\(\))?`")
_CLASS = re.compile(r"[A-Z][a-z]+\w*[a-z]")
_HOLD = ("types", "errors", "ports", "filters", "hookspecs", "search.options", "engine.search")
"""Modules whose classes a docstring may name without the module."""


def names_nothing(text: str, own: object, store: clew.Clew) -> list[str]:
    """The names in backticks that look like those of modules, classes or members and are none."""
    module = import_module(getattr(inspect.unwrap(own), "__module__", "clew"))  # type: ignore[arg-type]
    places: list[Any] = [module, clew, *(import_module(f"clew.{name}") for name in _HOLD)]
    roots = [store, store.settings, *places]
    found = []
    for token in _TOKEN.findall(text):
        name = token.removeprefix("clew.")
        if name == token and "." not in token and not _CLASS.fullmatch(token):
            continue  # a parameter, a value, a field
        if not any(_leads(root, name) for root in roots) and not _is_module(name):
            found.append(token)
    return found


def _leads(root: object, dotted: str) -> bool:
    for part in dotted.split("."):
        if not hasattr(root, part):
            return False
        root = getattr(root, part)
    return True


def _is_module(dotted: str) -> bool:
    """Whether it is a module of the package, or stands in one."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        try:
            module = import_module(".".join(["clew", *parts[:end]]))
        except ModuleNotFoundError:
            continue
        return _leads(module, ".".join(parts[end:])) if parts[end:] else True
    return False


def test_names(filled: Path) -> None:
    with clew.open(filled, embedder=HashEmbedder()) as store:
        wrong = {
            name: missing
            for name, thing in DOCUMENTED.items()
            if (missing := names_nothing(inspect.getdoc(thing) or "", thing, store))
        }

    assert wrong == {}


def test_a_name_of_nothing_is_found(filled: Path) -> None:
    text = "See `clew.errors.InputError`, `Nowhere`, `retrieval.walk` and `maintenance.reindex`."

    with clew.open(filled, embedder=HashEmbedder()) as store:
        assert names_nothing(text, clew.open, store) == ["Nowhere", "retrieval.walk"]
