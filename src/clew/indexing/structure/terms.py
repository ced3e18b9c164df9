"""What a text defines and cites: terms with what kind of thing each is, and numbered documents.

The forms of a definition: `Term` with `: definition` below (Markdown), `Term` with an indented text
below (reStructuredText), an entry `**Term**: definition` of a list, code alone above its text or in
the first cell of a table, and an entry of a list of options.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from clew.indexing.ner.entity_types import CODE, is_ordinary
from clew.indexing.reading.formats.media_types import UNKNOWN, media_type_of
from clew.indexing.relations.descriptions import CONCEPT, IS_A, concept_of
from clew.indexing.structure.document import FIELD_NAMES, GENERIC, is_name, snake_case
from clew.indexing.structure.enter import structure
from clew.text import entity_key
from clew.types import Statement
from clew.word_lists import read_patterns, read_word_lists, word_list

if TYPE_CHECKING:
    from clew.types import Document


_RE = read_patterns("clew.indexing.structure", "patterns.toml")["terms"]


_RST = "text/x-rst"
_DEFINITIONS = ("definition", "labelled", "alone", "row", "option", "listed")


@structure(prose=False, most=2_000)
def definitions(document: Document) -> Iterator[Statement]:
    """`defined_in` the document, and `is_a` where the definition says what the term is."""
    if document.media_type.startswith("text/x-") and document.media_type != _RST:
        return
    forms = [*_DEFINITIONS, *(["term"] if document.media_type == _RST else [])]
    for match in (match for form in forms for match in _RE[form].finditer(document.text)):
        said = match.groupdict()
        term = next(filter(None, map(said.get, ("term", "bold", "code", "item"))), "")
        term = term.replace("_/", "/").strip(" `*_:")
        is_common = term.casefold() in GENERIC or snake_case(term) in FIELD_NAMES
        is_common = is_common or (bool(said.get("item")) and is_ordinary(term))
        if is_common or not is_name(term) or len(term.split()) > 4:
            continue
        start, end = match.span()
        kind = CODE if said.get("code") or said.get("item") else CONCEPT
        yield Statement(
            head=term,
            head_type=kind,
            relation_type="defined_in",
            tail=document.title,
            start=start,
            end=end,
        )
        if concept := concept_of(f" is {match['text'][:1].lower()}{match['text'][1:200]}"):
            yield Statement(
                head=term,
                relation_type=IS_A,
                tail=concept,
                tail_type=CONCEPT,
                start=start,
                end=end,
            )


@structure(prose=False, most=500)
def citations(document: Document) -> Iterator[Statement]:
    """`cites`, once a document cited, from what the document is about: "RFC 2616", "PEP 8"."""
    own = f"{entity_key(document.title)} "
    numbers = {f"{name} {value}".casefold() for name, value in document.metadata.items() if value}
    for match in _RE["citation"].finditer(document.text):
        series = match["series"] or match["role"].upper()
        name = f"{series}{'-' if series == 'CVE' else ' '}{match['number']}"
        if name.casefold() not in numbers and f"{entity_key(name)} " not in own:
            yield Statement(
                head=document.title,
                relation_type="cites",
                tail=name,
                tail_type="work",
                start=match.start(),
                end=match.end(),
            )


# What a text says of the code that it names in marks: its kind, and what it is a part of.
#
# "the `quilt` package" and the role of "`:mod:`asyncio`" state a kind, the dots of a name that is
# marked as code state what holds it: `os.environ` is part of `os`. Parameters and variables are
# left out, since they mean something within one place alone.


_MOST = 3_000
"""Statements of a document."""
_LONGEST_LIST_OF_CODE = 8
_LISTS = read_word_lists("clew.indexing.structure", "kinds.toml")
_ROLES: dict[str, str] = _LISTS["roles"]
_AFTER, _BEFORE = word_list(_LISTS["after"]), word_list(_LISTS["before"])
_PLURALS = {f"{noun}{'es' if noun.endswith('s') else 's'}": noun for noun in _AFTER}
_ARTICLES = word_list(_LISTS["articles"])
_WITH_PARTS = word_list(
    "mod class func function meth method attr attribute exc exception data const type member obj"
)
"""Roles of what stands within another by its dotted name."""
_NAME = r"[!~]?(?P<name>(?:--?)?[^\W\d][\w.:@/+-]{1,60})"
_MARKED = re.compile(
    rf"(?::(?:[a-z]{{1,6}}:)?(?P<role>[a-z]{{2,12}}):`[!~]?\.?{_NAME}|(?<![`:])(?P<ticks>``?)"
    rf"{_NAME.replace('name', 'ticked')}|(?<![\w\"])\"{_NAME.replace('name', 'quoted')})"
    r"(?:\(\))?[`\"]{1,2}(?![`\"\w])"
)
_COMPOUND = _AFTER | word_list(
    "name names call calls object objects value values definition definitions instance instances"
    " argument arguments parameter parameters body signature declaration level system page pages"
    " documentation source code loader manager handler support path"
)
"""Nouns behind a noun that make another thing of it: "the `foo` module loader"."""
_ENDINGS = word_list("txt log conf cfg ini bak orig odt png svg jpg gif exe dll tar zip gz deb rpm")
"""Endings of files, beside those that are read."""
PLACEHOLDERS = word_list(
    "foo bar baz spam eggs pippo pluto toto x y z name example myapp mymodule mypackage"
)
"""Names that stand for any name."""
_INSTANCES = word_list("self cls this obj super")
"""What a method calls its object."""
_HOSTS = word_list("www com org net example test localhost")
"""Parts of a host's name."""


class _Marked(NamedTuple):
    start: int
    end: int
    name: str
    role: str


@structure(titled=False, most=_MOST)
def code_names(document: Document) -> Iterator[Statement]:
    """`is_a` and `part_of` of the names in code marks; nothing of source code."""
    if any(mark in document.text for mark in ("`", '"', "::")):
        yield from _marked_names(document.text)


def _marked_names(text: str) -> Iterator[Statement]:
    marked = list(_marked(text))
    # First parts of dotted names: what the text imports, marks alone, or has deep parts of.
    imported = {match["name"].partition(".")[0] for match in _RE["imported"].finditer(text)}
    modules = imported.union(
        one.name.partition(".")[0]
        for one in marked
        if one.role in _WITH_PARTS or one.name.count(".") != 1
    )
    for match in _RE["directive"].finditer(text):
        # A class in small letters is one of a style sheet.
        is_style = match["role"] == "class" and match["name"].islower() and "." not in match["name"]
        if (kind := _ROLES.get(match["role"])) and not is_style:
            one = _Marked(*match.span("name"), match["name"].rstrip("./"), match["role"])
            yield _statement(one, IS_A, kind, CONCEPT)
            yield from _parts(one, modules)
    listed: list[_Marked] = []
    for one in marked:
        if listed and not _RE["between"].fullmatch(text, listed[-1].end, one.start):
            listed.clear()
        listed = [*listed[-_LONGEST_LIST_OF_CODE:], one]
        if kind := _ROLES.get(one.role):
            yield _statement(one, IS_A, kind, CONCEPT)
        if one.role in _WITH_PARTS or not one.role:
            yield from _parts(one, modules)
        if one.role in _WITH_PARTS and "." in one.name:
            continue
        if kind := _kind_before(text, one):
            yield _statement(one, IS_A, kind, CONCEPT)
        for each, kind in _kinds_after(text, listed):
            yield _statement(each, IS_A, kind, CONCEPT)


def _parts(one: _Marked, modules: Collection[str]) -> Iterator[Statement]:
    """What holds a name, and what holds that: `xml.dom.Node`, `xml.dom`, `xml`."""
    whole = one.name.rpartition(".")[0] if one.role else _whole_of(one.name, modules)
    while entity_key(whole):
        yield _statement(one, "part_of", whole, CODE)
        one = one._replace(name=whole)
        whole = _whole_of(whole, modules)


def _whole_of(name: str, modules: Collection[str]) -> str:
    """What a dotted name is a part of: a class, by its capitals, or a module; empty if unclear."""
    said = _RE["member"].fullmatch(name) or _RE["qualified"].fullmatch(name)
    if said is None or not _HOSTS.isdisjoint(name.split(".")):
        return ""
    part = said["part"]
    if part in _ENDINGS or media_type_of(f".{part}") != UNKNOWN:
        return ""
    whole = said["whole"]
    first = whole.partition(".")[0]
    is_held = said.re is _RE["member"] or (first in modules and first not in _INSTANCES)
    return whole if is_held else ""


def _marked(text: str) -> Iterator[_Marked]:
    for match in _MARKED.finditer(text):
        name = (match["name"] or match["ticked"] or match["quoted"]).rstrip(".:/-")
        if match["role"] == "file" and not _RE["file"].search(name):
            continue
        if entity_key(name) and name.casefold() not in PLACEHOLDERS:
            yield _Marked(match.start(), match.end(), name, match["role"] or "")


def _kind_before(text: str, one: _Marked) -> str:
    """What "the command `x`" says that it is; empty where nothing is said."""
    before = _RE["before_name"].search(text, max(0, one.start - 26), one.start)
    if before is None or before["last"].strip().casefold() not in _BEFORE:
        return ""
    article = (before["first"] or "").casefold().rpartition("'")
    is_said = article[2] in _ARTICLES or (article[1] and article[0] + "'" in _ARTICLES)
    return before["last"].strip() if is_said else ""


def _kinds_after(text: str, listed: list[_Marked]) -> Iterator[tuple[_Marked, str]]:
    """What "the `x` and `y` modules" says of each."""
    said = _RE["noun_after"].match(text, listed[-1].end)
    start = listed[0].start
    before = _RE["before_name"].search(text, max(0, start - 26), start)
    article = before["last"].strip().casefold() if before else ""
    if said is None or said["next"] in _COMPOUND or article not in ("the", "this", "new"):
        return
    # Many of one name are its instances: "the `Node` elements".
    noun = said["noun"] if len(listed) == 1 else _PLURALS.get(said["noun"])
    if noun in _AFTER:
        for one in listed:
            yield one, noun


def _statement(one: _Marked, relation: str, tail: str, tail_type: str) -> Statement:
    return Statement(
        head=one.name,
        head_type=CODE,
        relation_type=relation,
        tail=tail,
        tail_type=tail_type,
        start=one.start,
        end=one.end,
        confidence=0.85,
    )
