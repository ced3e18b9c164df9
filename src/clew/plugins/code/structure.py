"""What source code names and states: what defines, imports, extends, implements and calls what.

Names are those by which other files know a thing (`httpx._client.Client.get`), so that classes of
one name in two packages stay two entities. What a name means is looked up within the file and its
imports; what is not found there is left out.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clew.indexing.ner.entity_types import CODE, NameSpan
from clew.languages import read_patterns
from clew.plugins.code.parse import (
    Reference,
    Syntax,
    imported_script,
    module_of,
    separator_of,
    syntax_of,
)
from clew.text import entity_key, sentences
from clew.types import (
    AliasEvidence,
    Chunk,
    ChunkExtraction,
    Document,
    Extraction,
    Mention,
    Statement,
    Structure,
)

_RE = read_patterns("clew.plugins.code", "patterns.toml")["structure"]

_OWN = frozenset({"self", "this", "cls", "Self"})
_SEES_OWN_CLASS = frozenset({"java", "cpp"})
"""Languages whose methods call each other by their bare names."""
_ONE_NAMESPACE = frozenset({"c", "cpp"})
_RELATIONS = {
    "extends": "extends",
    "implements": "implements",
    "call": "calls",
    "returns": "returns",
    "type": "uses",
    "decorator": "decorated_by",
}
_OF_SIGNATURE = frozenset({"returns", "type", "decorator"})
"""What may stand before the name of the definition that it belongs to."""
_ANNOTATIONS = ("typing.", "typing_extensions.", "collections.abc.")
"""Modules whose names say how a type is put together, not which."""
_MOST_NAMES = 200
"""Characters of a name, at most."""


def code_structure(document: Document) -> Structure:
    """What a source file states; nothing of documents whose language has no grammar."""
    syntax = syntax_of(document)
    if syntax is None:
        return Structure()
    return Structure(statements=tuple(_Stated(document, syntax).statements()))


@dataclass(frozen=True, slots=True)
class Entities:
    """The definitions of a file that other files may speak of."""

    module: str
    names: dict[int, str]
    """Qualified name by the place of the definition."""
    by_path: dict[tuple[str, ...], int]
    """Place by path."""


def entities_of(document: Document, syntax: Syntax) -> Entities:
    """Classes and functions that are not local; of two with one key, the first that is public."""
    module, separator = module_of(document.source, syntax), separator_of(syntax.language)
    names: dict[int, str] = {}
    by_path: dict[tuple[str, ...], int] = {}
    taken = {entity_key(module)}
    places = [i for i, one in enumerate(syntax.definitions) if not one.is_local]
    for place in sorted(places, key=lambda i: syntax.definitions[i].path[-1].startswith("_")):
        one = syntax.definitions[place]
        # Its path behind the module, but for what C knows in all files by its bare name.
        is_qualified = syntax.language not in _ONE_NAMESPACE
        if not is_qualified:
            before = document.text[max(one.start, one.name_start - 200) : one.name_start]
            is_plain = one.kind == "function" and len(one.path) == 1
            is_alone = is_plain and _RE["file_alone"].search(before) is not None
            is_qualified = is_alone or one.path == ("main",)
        name = separator.join((module, *one.path) if module and is_qualified else one.path)
        key = entity_key(name)
        if one.kind == "scope" or not key or len(name) > _MOST_NAMES or key in taken:
            continue
        taken.add(key)
        names[place] = name
        by_path[one.path] = place
    return Entities(module, dict(sorted(names.items())), by_path)


class _Stated:
    """One file on its way."""

    def __init__(self, document: Document, syntax: Syntax) -> None:
        self._text = document.text
        self._syntax = syntax
        self._entities = entities_of(document, syntax)
        self._separator = separator_of(syntax.language)
        module = self._entities.module
        self._imports: list[tuple[Import, int, int]] = [
            (one, start, end)
            for start, end in syntax.imports
            for one in imports_of(
                document.text[start:end], syntax.language, document.source, module
            )
        ]
        self._imported = {one.local: one for one, _, _ in self._imports if one.local}
        self._locals = {one.path[-1] for one in syntax.definitions if one.is_local}
        self._bases: dict[int, list[str]] = {}

    def statements(self) -> Iterator[Statement]:
        """All of them, in order of kind; none of a thing with itself."""
        found = [*self._definitions(), *self._import_statements(), *self._references()]
        for one in found:
            if entity_key(one.head) != entity_key(one.tail) and len(one.tail) <= _MOST_NAMES:
                yield one

    def _definitions(self) -> Iterator[Statement]:
        for place, name in self._entities.names.items():
            one = self._syntax.definitions[place]
            outer = self._entities.by_path.get(one.path[:-1])
            head = self._entities.names[outer] if outer is not None else self._entities.module
            yield _statement(head, "defines", name, one.name_start, one.name_end)

    def _import_statements(self) -> Iterator[Statement]:
        seen: set[str] = set()
        for one, start, end in self._imports:
            if one.module not in seen:
                seen.add(one.module)
                yield _statement(self._entities.module, "imports", one.module, start, end)

    def _references(self) -> Iterator[Statement]:
        # Bases first: what a method calls may be its base's.
        for one in sorted(self._syntax.references, key=lambda r: r.kind == "call"):
            place = self._entity_around(one)
            if place is None:
                continue
            head, target = self._entities.names[place], self._meaning(one, place)
            if target and not (one.kind in _OF_SIGNATURE and head.startswith(target)):
                if one.kind in {"extends", "implements"}:
                    self._bases.setdefault(place, []).append(target)
                yield _statement(head, _RELATIONS[one.kind], target, one.start, one.end)

    def _entity_around(self, one: Reference) -> int | None:
        """The innermost entity around a reference; a decorator's call is none of the function's."""
        place = one.within
        before = place >= 0 and one.start < self._syntax.definitions[place].name_start
        if place < 0 or (before and one.kind not in _OF_SIGNATURE):
            return self._implemented(one) if one.kind == "implements" else None
        path = self._syntax.definitions[place].path
        paths = (path[:length] for length in range(len(path), 0, -1))
        return next((self._entities.by_path[p] for p in paths if p in self._entities.by_path), None)

    def _implemented(self, one: Reference) -> int | None:
        """Of `impl Trait for Type`, the type."""
        path = self._syntax.definitions[one.within].path if one.within >= 0 else ()
        return self._entities.by_path.get(path)

    # --- what names mean ---

    def _meaning(self, one: Reference, place: int) -> str | None:
        """The qualified name of what a reference names; None where that is not known."""
        if not _RE["dotted"].fullmatch(one.name):
            return None
        parts = _RE["step"].split(one.name)
        path = self._syntax.definitions[place].path
        if one.kind == "call" and parts[0] in {*_OWN, self._syntax.definitions[place].self_name}:
            return self._own(parts, path) if len(parts) == 2 else None
        if self._separator == "::" and "." in one.name:
            return None  # an object's, never a module's
        found = self._defined(parts, path) or self._from_import(parts)
        if one.kind in _OF_SIGNATURE:
            return found if found and self._is_told(found, one.kind) else None
        if found or one.kind == "call":
            return found or self._everywhere(parts)
        # A base that neither file nor imports tell of is called as it is written.
        return self._separator.join(parts)

    def _is_told(self, found: str, kind: str) -> bool:
        """Whether a signature tells something by that name: no constructor, no way of typing."""
        place = next((i for i, name in self._entities.names.items() if name == found), None)
        is_class = place is None or self._syntax.definitions[place].kind == "class"
        return (is_class or kind == "decorator") and not found.startswith(_ANNOTATIONS)

    def _own(self, parts: list[str], path: tuple[str, ...]) -> str | None:
        """A method of the class around, or of its bases within the file."""
        if self._syntax.definitions[self._entities.by_path[path]].kind == "function":
            path = path[:-1]
        names, by_path = self._entities.names, self._entities.by_path
        method = by_path.get((*path, parts[1]))
        if method is None and path in by_path:
            bases = self._bases.get(by_path[path], ())
            paths = (self._syntax.definitions[i].path for i, n in names.items() if n in bases)
            method = next(
                (by_path[(*p, parts[1])] for p in paths if (*p, parts[1]) in by_path), None
            )
        return names[method] if method is not None else None

    def _defined(self, parts: list[str], path: tuple[str, ...]) -> str | None:
        if parts[0] in self._locals:
            return None
        by_path = self._entities.by_path
        inner = path if self._syntax.language in _SEES_OWN_CLASS else ()
        for length in range(len(inner), -1, -1):
            place = by_path.get((*inner[:length], *parts))
            if place is not None:
                return self._entities.names[place]
        return None

    def _from_import(self, parts: list[str]) -> str | None:
        """A name that was imported, or that stands in a module or a class that was."""
        one = self._imported.get(parts[0])
        if one is None or parts[0] in self._locals or len(parts) > 3:
            return None
        if len(parts) > 1 and not (one.is_module or parts[0][0].isupper()):
            return None  # the method of an object whose class is not known
        named = [parts[0]] if self._is_default_export(one, parts) else []
        return self._separator.join([one.target, *named, *parts[1:]])

    def _is_default_export(self, one: Import, parts: list[str]) -> bool:
        """Whether a script imports what its file is called after: a class, or what is called."""
        is_script = self._syntax.language in SCRIPTS and one.target.endswith(f"/{parts[0]}")
        return is_script and (len(parts) == 1 or parts[0][0].isupper())

    def _everywhere(self, parts: list[str]) -> str | None:
        """In C, a function of another file has no other name: one that can be no variable's."""
        is_c = self._syntax.language in _ONE_NAMESPACE and len(parts) == 1
        return (
            parts[0] if is_c and re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+", parts[0]) else None
        )


def _statement(head: str, relation: str, tail: str, start: int, end: int) -> Statement:
    return Statement(
        head=head,
        head_type=CODE,
        relation_type=relation,
        tail=tail,
        tail_type=CODE,
        start=start,
        end=end,
    )


# What the import statements of each language bring in.


SCRIPTS = frozenset({"javascript", "typescript", "tsx"})
_LONGEST = 5000
"""Characters of an import statement that are read."""


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
        yield from _python(text, module, source)
    elif language in SCRIPTS:
        yield from _script(text, source)
    elif language == "java":
        name = text.removeprefix("import").strip(" ;\n\t")
        is_static = name.startswith("static ")
        name = "".join(name.removeprefix("static ").split())
        if name.endswith(".*"):
            yield Import(name[:-2])
        elif name:
            whole = name.rpartition(".")[0] if is_static else name
            yield Import(whole, name.rpartition(".")[2], name, not is_static)
    elif language == "go":
        yield from _go(text)
    elif language == "rust":
        yield from _rust(_RE["comment"].sub(" ", text), module)
    else:
        written = text.strip('<>" \t')
        if _RE["name"].search(written):
            yield Import(written)


def _python(text: str, module: str, source: str) -> Iterator[Import]:
    try:
        statement = ast.parse(text).body[0]
    except (SyntaxError, ValueError, IndexError, MemoryError, RecursionError):
        return
    for one in getattr(statement, "names", ()):
        if isinstance(statement, ast.Import):
            bound = one.name if one.asname else one.name.split(".")[0]
            yield Import(one.name, one.asname or bound, bound, True)
        elif isinstance(statement, ast.ImportFrom):
            dots = statement.level
            base = _relative(module, dots, source.endswith("__init__.py")) if dots else ""
            if base is None:
                return
            whole = ".".join(filter(None, (base, statement.module)))
            name = f"{whole}.{one.name}"
            if one.name == "*":
                yield Import(whole)
            elif statement.module:
                yield Import(whole, one.asname or one.name, name)
            else:
                yield Import(name, one.asname or one.name, name, True)


def _relative(module: str, dots: int, is_package: bool) -> str | None:
    """The package that leading dots mean; None where they lead out of what is known."""
    parts = module.split(".")
    up = dots - 1 if is_package else dots
    return ".".join(parts[: len(parts) - up]) if up < len(parts) else None


def _script(text: str, source: str) -> Iterator[Import]:
    quoted = _RE["quoted"].findall(text)
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
    elif _RE["name"].fullmatch(default):
        yield Import(module, default, module, True)
    for part in inside.partition("}")[0].split(",") if brace else ():
        words = part.replace(":", " as ").removeprefix("type ").split()
        is_renamed = len(words) == 3 and words[1] == "as"
        if (is_renamed or len(words) == 1) and _RE["name"].fullmatch(words[-1]):
            yield Import(module, words[-1], f"{module}.{words[0]}")


def _go(text: str) -> Iterator[Import]:
    quoted = _RE["quoted"].search(text)
    if quoted is None:
        return
    path = quoted[1]
    parts = [part for part in path.split("/") if not re.fullmatch(r"v\d+", part)]
    package = re.sub(r"\.v\d+$", "", parts[-1]) if parts else ""
    named = text[: quoted.start()].strip()
    if named in {"_", "."} or not _RE["name"].fullmatch(package):
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
    while (found := _RE["group"].search(tree)) and len(tree) <= 10 * _LONGEST:
        within = ",".join(found["before"] + part for part in found["parts"].split(",") if part)
        tree = tree[: found.start()] + within + tree[found.end() :]
    for leaf in filter(None, tree.split(",")):
        path, _, renamed = leaf.partition("=")
        if path.endswith("::*"):
            yield path.removesuffix("::*"), "*"
        elif not set(path) & {"{", "}"}:
            path = path.removesuffix("::self")
            yield path, renamed or path.rpartition("::")[2]


# Names in source code are those of what it defines; what it imports, extends and calls comes with
# the relations.


_CLASS = 5
"""Letters of a class's name that stands for it alone, at least."""


def extract_code(document: Document, chunks: Sequence[Chunk]) -> Extraction:
    """The definitions of a source file with their short names."""
    syntax = syntax_of(document)
    if syntax is None:
        return Extraction(chunks=tuple(_read_chunk(one, _defined(one.text)) for one in chunks))
    entities = entities_of(document, syntax)
    aliases = tuple(_aliases(syntax, entities))
    spans = sorted(_definitions(syntax, entities, aliases))
    starts = [span.start for span in spans]
    placed = [
        [
            s._replace(start=s.start - chunk.start, end=s.end - chunk.start)
            for s in spans[bisect_left(starts, chunk.start) : bisect_left(starts, chunk.end)]
            if s.end <= chunk.end
        ]
        for chunk in chunks
    ]
    return Extraction(
        chunks=tuple(_read_chunk(c, found) for c, found in zip(chunks, placed, strict=True)),
        about=((entities.module, CODE),) if entity_key(entities.module) else (),
        aliases=aliases,
    )


def _read_chunk(chunk: Chunk, spans: Iterable[NameSpan]) -> ChunkExtraction:
    ranges = sentences(chunk.text)
    starts = [start for start, _ in ranges]
    found: dict[tuple[int, str], Mention] = {}
    for span in spans:
        ordinal = max(0, bisect_left(starts, span.start + 1) - 1)
        if ranges and span.end <= ranges[ordinal][1]:
            found.setdefault(
                (ordinal, entity_key(span.name)),
                Mention(
                    name=span.name,
                    entity_type=span.entity_type,
                    sentence=ordinal,
                    start=span.start,
                    end=span.end,
                ),
            )
    mentions = sorted(found.values(), key=lambda mention: mention.sentence)
    return ChunkExtraction(sentences=tuple(ranges), mentions=tuple(mentions))


def _defined(text: str) -> Iterator[NameSpan]:
    """What lines define, in a language without a grammar."""
    for match in _RE["defined"].finditer(text):
        yield NameSpan(*match.span("name"), match["name"], CODE)


def _definitions(
    syntax: Syntax, entities: Entities, aliases: Sequence[AliasEvidence]
) -> Iterator[NameSpan]:
    """Each with its qualified name and, so that questions know them, its short ones."""
    short: dict[str, list[str]] = {}
    for alias in aliases:
        short.setdefault(alias.name, []).append(alias.alias)
    for place, name in entities.names.items():
        one = syntax.definitions[place]
        for said in (name, *short.get(name, ())):
            yield NameSpan(one.name_start, one.name_end, said, CODE)


def _aliases(syntax: Syntax, entities: Entities) -> Iterator[AliasEvidence]:
    """Names within the file, and single ones where one definition has them.

    A plain word ("get", "Use", "Html") is the name of too much to stand for one thing, but for a
    class of the module itself with a longer name ("Client", "Response").
    """
    once = Counter(syntax.definitions[place].path[-1] for place in entities.names)
    for place, name in entities.names.items():
        one = syntax.definitions[place]
        path, last = one.path, one.path[-1]
        said = [".".join(path)] if len(path) > 1 else []
        is_class = one.kind == "class" and len(path) == 1 and last[:1].isupper()
        if once[last] == 1 and (_RE["compound"].search(last) or (is_class and len(last) >= _CLASS)):
            said.append(last)
        for alias in said:
            if entity_key(alias) and entity_key(alias) != entity_key(name):
                evidence = f"{alias} is defined in {entities.module}"
                yield AliasEvidence(
                    alias=alias, name=name, method="exact", score=0.9, evidence=evidence
                )
