"""What the import statements of each language bring in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from clew.indexing.syntax.modules import imported_script

SCRIPTS = frozenset({"javascript", "typescript", "tsx"})
_LONGEST = 5000
"""Characters of an import statement that are read."""
_COMMENT = re.compile(r"#[^\n]*|//[^\n]*")
_QUOTED = re.compile(r"""["'`]([^"'`\n]{1,300})["'`]""")
_NAME = re.compile(r"[\w$]+")


class Import(NamedTuple):
    """One name that a statement brings in."""

    module: str
    """What is imported, as it is called elsewhere."""
    local: str = ""
    """The name by which the file uses it; empty where it uses none."""
    target: str = ""
    """What that name means."""
    is_module: bool = False
    """Whether it is known that it means a module."""


def imports_of(text: str, language: str, source: str, module: str) -> Iterator[Import]:
    """The names that a statement of a file brings in; `module` is what the file itself is."""
    text = text[:_LONGEST]
    if language == "python":
        yield from _python(_COMMENT.sub(" ", text), module, source)
    elif language in SCRIPTS:
        yield from _script(text, source)
    elif language == "java":
        yield from _java(text)
    elif language == "go":
        yield from _go(text)
    elif language == "rust":
        yield from _rust(_COMMENT.sub(" ", text), module)
    else:
        written = text.strip('<>" \t')
        if _NAME.search(written):
            yield Import(written)


def _python(text: str, module: str, source: str) -> Iterator[Import]:
    text = " ".join(text.replace("\\\n", " ").replace("(", " ").replace(")", " ").split())
    head, stated, names = text.partition(" import ")
    if not stated:
        for part in text.removeprefix("import").split(","):
            name, local = _renamed(part)
            if name and local == name:
                yield Import(name, name.split(".")[0], name.split(".")[0], True)
            elif name:
                yield Import(name, local, name, True)
        return
    written = head.removeprefix("from").replace(" ", "")
    name = written.lstrip(".")
    dots = len(written) - len(name)
    base = _relative(module, dots, source.endswith("__init__.py")) if dots else ""
    if base is None:
        return
    whole = ".".join(part for part in (base, name) if part)
    for part in names.split(","):
        member, local = _renamed(part)
        if member == "*":
            yield Import(whole)
        elif member and not name:
            yield Import(f"{whole}.{member}", local, f"{whole}.{member}", True)
        elif member:
            yield Import(whole, local, f"{whole}.{member}")


def _relative(module: str, dots: int, is_package: bool) -> str | None:
    """The package that leading dots mean; None where they lead out of what is known."""
    parts = module.split(".")
    up = dots - 1 if is_package else dots
    return ".".join(parts[: len(parts) - up]) if up < len(parts) else None


def _renamed(part: str) -> tuple[str, str]:
    words = part.split()
    if len(words) == 3 and words[1] == "as":
        return words[0], words[2]
    return (words[0], words[0]) if len(words) == 1 else ("", "")


def _script(text: str, source: str) -> Iterator[Import]:
    quoted = _QUOTED.findall(text)
    if not quoted:
        return
    module = imported_script(source, quoted[-1])
    if text.startswith("import"):
        names = text[len("import") :].rpartition("from")[0].strip()
    else:
        names = text.partition("=")[0].strip()
    names = names.removeprefix("type ")
    before, brace, inside = names.partition("{")
    default = before.strip(" ,\n\t")
    yield Import(module)
    if "* as" in default:
        local = default.rpartition("* as")[2].strip()
        yield Import(module, local, module, True)
    elif _NAME.fullmatch(default):
        yield Import(module, default, module, True)
    for part in inside.partition("}")[0].split(",") if brace else ():
        name, local = _renamed(part.replace(":", " as ").removeprefix("type "))
        if name and _NAME.fullmatch(local):
            yield Import(module, local, f"{module}.{name}")


def _java(text: str) -> Iterator[Import]:
    name = text.removeprefix("import").strip(" ;\n\t")
    is_static = name.startswith("static ")
    name = "".join(name.removeprefix("static ").split())
    if name.endswith(".*"):
        yield Import(name[:-2])
    elif name:
        whole = name.rpartition(".")[0] if is_static else name
        yield Import(whole, name.rpartition(".")[2], name, not is_static)


def _go(text: str) -> Iterator[Import]:
    quoted = _QUOTED.search(text)
    if quoted is None:
        return
    path = quoted[1]
    parts = [part for part in path.split("/") if not re.fullmatch(r"v\d+", part)]
    package = re.sub(r"\.v\d+$", "", parts[-1]) if parts else ""
    named = text[: quoted.start()].strip()
    if named in {"_", "."} or not _NAME.fullmatch(package):
        yield Import(path)
    else:
        yield Import(path, named or package, package, True)


def _rust(text: str, module: str) -> Iterator[Import]:
    _, _, tree = text.strip().rstrip(";").partition("use ")
    crate = module.split("::")[0]
    for path, local in _leaves("".join(tree.replace(" as ", "=").split())):
        parts = path.split("::")
        if parts[0] == "crate":
            parts[0] = crate
        elif parts[0] == "self":
            parts[:1] = module.split("::")
        elif parts[0] == "super":
            while parts and parts[0] == "super":
                module = module.rpartition("::")[0]
                parts.pop(0)
            parts[:0] = module.split("::")
        whole = "::".join(part for part in parts if part)
        if local == "*":
            yield Import(whole)
        elif whole:
            yield Import(whole, local, whole, True)


def _leaves(tree: str) -> Iterator[tuple[str, str]]:
    """(path, local name) of every leaf of a tree such as `a::{b,c::{d=e,*}}`."""
    prefixes: list[str] = [""]
    current = ""
    for token in re.findall(r"[{},]|[^{},]+", tree):
        if token == "{":
            prefixes.append(prefixes[-1] + current)
            current = ""
        elif token in ",}":
            if current:
                yield _leaf(prefixes[-1] + current)
            current = ""
            if token == "}" and len(prefixes) > 1:
                prefixes.pop()
        else:
            current = token
    if current:
        yield _leaf(prefixes[-1] + current)


def _leaf(path: str) -> tuple[str, str]:
    path, _, renamed = path.partition("=")
    if path.endswith("::*"):
        return path.removesuffix("::*"), "*"
    path = path.removesuffix("::self")
    return path, renamed or path.rpartition("::")[2]
