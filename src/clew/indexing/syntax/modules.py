"""What a source file is called where others import it, from its path and what it states."""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath

from clew.indexing.syntax.parts import Syntax

_ROOTS = frozenset({"src", "lib", "source", "python", "site-packages", "dist-packages"})
"""Folders that hold packages and are none."""
_DEEPEST_PACKAGE = 6
_SCRIPT_FOLDERS = 3
"""Parts of the path that name a script's module: there is no root that all scripts share."""
_VERSION = re.compile(r"-v?\d[\w.+]*+$")
_SCRIPT = re.compile(r"\.(?:d\.)?[cm]?[jt]sx?$")
_NAMED = {"python", "javascript", "typescript", "tsx", "go", "java"}


def separator_of(language: str) -> str:
    """What stands between the parts of a qualified name."""
    return "." if language in _NAMED else "::"


def module_of(source: str, syntax: Syntax) -> str:
    """The name of a source file as a module; of C and C++, the file's name."""
    path = PurePosixPath(source.replace("\\", "/"))
    if syntax.language == "python":
        return ".".join(python_package(path.with_suffix("")))
    if syntax.language == "rust":
        return "::".join(rust_path(path.with_suffix("")))
    if syntax.language == "java":
        return syntax.package
    if syntax.language == "go":
        return syntax.package if syntax.package != "main" else path.parent.name or "main"
    if syntax.language in {"c", "cpp"}:
        return path.name
    return script_module(str(path))


def python_package(path: PurePosixPath) -> list[str]:
    """The parts of an import name: up to the folder that is no package, as its name says.

    Where none says so, the last two parts.
    """
    parts = [part for part in path.parts if part not in {"__init__", path.anchor}]
    name = parts[-1:]
    for part in reversed(parts[:-1]):
        if not part.isidentifier() or part in _ROOTS or part == name[0]:
            return name
        if len(name) == _DEEPEST_PACKAGE:
            break
        name.insert(0, part)
    return name[-2:] if len(name) > 2 else name


def rust_path(path: PurePosixPath) -> list[str]:
    """Crate and modules: the crate is called as the folder that holds `src`."""
    parts = list(path.parts)
    at = max((i for i, part in enumerate(parts) if part == "src" and i), default=0)
    if not at or not all(part.isidentifier() for part in parts[at + 1 :]):
        return parts[-1:]
    crate = _VERSION.sub("", parts[at - 1]).replace("-", "_")
    inner = parts[at + 1 :]
    if inner and inner[-1] in {"lib", "main", "mod"}:
        inner.pop()
    return [crate, *inner]


def script_module(path: str) -> str:
    """The last parts of the path of a script, without ending and `index`."""
    parts = [part for part in _SCRIPT.sub("", path).split("/") if part not in {"", "/", "."}]
    if len(parts) > 1 and parts[-1] == "index":
        parts.pop()
    return "/".join(_VERSION.sub("", part) for part in parts[-_SCRIPT_FOLDERS:])


def imported_script(source: str, written: str) -> str:
    """The module that a script means by `./path`; packages are called as they are written."""
    if not written.startswith("."):
        return written
    folder = posixpath.dirname(source.replace("\\", "/"))
    return script_module(posixpath.normpath(posixpath.join(folder, written)))
