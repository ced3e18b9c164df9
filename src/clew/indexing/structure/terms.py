"""What a text says of the code that it names in marks: its kind, and what it is a part of.

"the `quilt` package" and the role of "`:mod:`asyncio`" state a kind, the dots of a name that is
marked as code state what holds it: `os.environ` is part of `os`. Parameters and variables are left
out, since they mean something within one place alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from clew.indexing.ner.entity_types import is_ordinary
from clew.indexing.reading.formats.mail_parts import MEDIA_TYPE as MAIL
from clew.indexing.reading.formats.media_types import media_type_of
from clew.indexing.relations.descriptions import CONCEPT, IS_A, concept_of
from clew.indexing.splitting.code import is_code
from clew.indexing.structure.code import CODE as CODE_CODE
from clew.indexing.structure.document import FIELD_NAMES, GENERIC, is_name, snake_case
from clew.text import entity_key
from clew.types import Statement, Structure
from clew.word_lists import read_word_lists, word_list

if TYPE_CHECKING:
    from clew.types import Document


CODE = "code"
_MOST = 3_000
"""Statements of a document."""
_MOST_LISTED = 8
_LISTS = read_word_lists("clew.indexing.structure", "kinds.toml")
_ROLES: dict[str, str] = _LISTS["roles"]
_AFTER, _BEFORE = word_list(_LISTS["after"]), word_list(_LISTS["before"])
_PLURALS = {f"{noun}{'es' if noun.endswith('s') else 's'}": noun for noun in _AFTER}
_ARTICLES = word_list(_LISTS["articles"])
_WITH_PARTS = word_list(
    "mod class func function meth method attr attribute exc exception data const type member obj"
)
"""Roles of what stands within another by its dotted name."""
_QUALIFIED = re.compile(r"(?P<whole>[a-z_]\w{1,40}(?:\.\w{2,40}){0,4})\.(?P<part>[^\W\d]\w{1,40})")
"""A dotted name, whose first part may be a module: `os.environ`."""
_IMPORTED = re.compile(r"\b(?:from|import)[ ](?P<name>[a-z_][\w.]{1,60})")
_MEMBER = re.compile(
    r"(?P<whole>(?:\w{1,40}\.){0,4}[A-Z]{1,40}[a-z]\w{1,40})\.(?P<part>[a-z_]\w{2,40})"
)
"""A member of a class, as far as the capitals show: `Directive.option_spec`."""
_NAME = r"[!~]?(?P<name>(?:--?)?[^\W\d][\w.:@/+-]{1,60})"
_MARKED = re.compile(
    rf"(?::(?:[a-z]{{1,6}}:)?(?P<role>[a-z]{{2,12}}):`[!~]?\.?{_NAME}|(?<![`:])(?P<ticks>``?)"
    rf"{_NAME.replace('name', 'ticked')}|(?<![\w\"])\"{_NAME.replace('name', 'quoted')})"
    r"(?:\(\))?[`\"]{1,2}(?![`\"\w])"
)
_DIRECTIVE = re.compile(
    r"^[ \t]{0,12}\.\. (?:[a-z]{1,4}:)?(?:auto)?(?P<role>[a-z]{4,10})::[ \t]{1,4}"
    r"(?P<name>(?:--?)?[^\W\d][\w./-]{1,80})",
    re.MULTILINE,
)
"""What defines code in reStructuredText: `.. function:: os.stat(path)`."""
_NOUN_AFTER = re.compile(r"\s(?P<noun>[a-z]{3,14})(?![\w-])(?:\s(?P<next>[a-z]+))?")
_BEFORE_NAME = re.compile(r"(?:(?P<first>[\w']{1,10})\s)?(?P<last>[^\W\d_]{1,12}['’\s]?)\s?$")
_BETWEEN = re.compile(r"(?:,|,?\s(?:and|or))\s")
_COMPOUND = _AFTER | word_list(
    "name names call calls object objects value values definition definitions instance instances"
    " argument arguments parameter parameters body signature declaration level system page pages"
    " documentation source code loader manager handler support path"
)
"""Nouns behind a noun that make another thing of it: "the `foo` module loader"."""
_FILE = re.compile(r"\w\.\w|/")
_UNKNOWN_TYPE = media_type_of("")
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


def code_names(document: Document) -> Structure:
    """`is_a` and `part_of` of the names in code marks; nothing of source code."""
    if is_code(document.media_type) or not any(mark in document.text for mark in ("`", '"', "::")):
        return Structure()
    found: dict[tuple[str, str, str], Statement] = {}
    for one in _statements(document.text):
        found.setdefault((entity_key(one.head), one.relation_type, entity_key(one.tail)), one)
        if len(found) == _MOST:
            break
    return Structure(statements=tuple(found.values()))


def _statements(text: str) -> Iterator[Statement]:
    marked = list(_marked(text))
    modules = frozenset(_modules(text, marked))
    for match in _DIRECTIVE.finditer(text):
        # A class in small letters is one of a style sheet.
        is_style = match["role"] == "class" and match["name"].islower() and "." not in match["name"]
        if (kind := _ROLES.get(match["role"])) and not is_style:
            one = _Marked(*match.span("name"), match["name"].rstrip("./"), match["role"])
            yield _is_a(one, kind)
            yield from _parts(one, modules)
    listed: list[_Marked] = []
    for one in marked:
        if listed and not _BETWEEN.fullmatch(text, listed[-1].end, one.start):
            listed.clear()
        listed = [*listed[-_MOST_LISTED:], one]
        if kind := _ROLES.get(one.role):
            yield _is_a(one, kind)
        if one.role in _WITH_PARTS or not one.role:
            yield from _parts(one, modules)
        if one.role in _WITH_PARTS and "." in one.name:
            continue
        if kind := _kind_before(text, one):
            yield _is_a(one, kind)
        for each, kind in _kinds_after(text, listed):
            yield _is_a(each, kind)


def _modules(text: str, marked: Iterable[_Marked]) -> Iterator[str]:
    """First parts of dotted names: what the text imports, marks alone, or has deep parts of."""
    for match in _IMPORTED.finditer(text):
        yield match["name"].partition(".")[0]
    for one in marked:
        first, _, rest = one.name.partition(".")
        if not rest or one.role in _WITH_PARTS or "." in rest:
            yield first


def _parts(one: _Marked, modules: Collection[str]) -> Iterator[Statement]:
    """What holds a name, and what holds that: `xml.dom.Node`, `xml.dom`, `xml`."""
    whole = one.name.rpartition(".")[0] if one.role else _whole_of(one.name, modules)
    while entity_key(whole):
        yield _statement(one, "part_of", whole, CODE)
        one = one._replace(name=whole)
        whole = _whole_of(whole, modules)


def _whole_of(name: str, modules: Collection[str]) -> str:
    """What a dotted name is a part of: a class, by its capitals, or a module; empty if unclear."""
    said = _MEMBER.fullmatch(name) or _QUALIFIED.fullmatch(name)
    if said is None or _is_file_ending(said["part"]) or not _HOSTS.isdisjoint(name.split(".")):
        return ""
    whole = said["whole"]
    first = whole.partition(".")[0]
    is_held = said.re is _MEMBER or (first in modules and first not in _INSTANCES)
    return whole if is_held else ""


def _is_file_ending(part: str) -> bool:
    return part in _ENDINGS or media_type_of(f".{part}") != _UNKNOWN_TYPE


def _marked(text: str) -> Iterator[_Marked]:
    for match in _MARKED.finditer(text):
        name = (match["name"] or match["ticked"] or match["quoted"]).rstrip(".:/-")
        if match["role"] == "file" and not _FILE.search(name):
            continue
        if entity_key(name) and name.casefold() not in PLACEHOLDERS:
            yield _Marked(match.start(), match.end(), name, match["role"] or "")


def _kind_before(text: str, one: _Marked) -> str:
    """What "the command `x`" says that it is; empty where nothing is said."""
    before = _BEFORE_NAME.search(text, max(0, one.start - 26), one.start)
    if before is None or before["last"].strip().casefold() not in _BEFORE:
        return ""
    article = (before["first"] or "").casefold().rpartition("'")
    is_said = article[2] in _ARTICLES or (article[1] and article[0] + "'" in _ARTICLES)
    return before["last"].strip() if is_said else ""


def _kinds_after(text: str, listed: list[_Marked]) -> Iterator[tuple[_Marked, str]]:
    """What "the `x` and `y` modules" says of each."""
    said = _NOUN_AFTER.match(text, listed[-1].end)
    if said is None or said["next"] in _COMPOUND or not _has_article(text, listed[0].start):
        return
    # Many of one name are its instances: "the `Node` elements".
    noun = said["noun"] if len(listed) == 1 else _PLURALS.get(said["noun"])
    if noun in _AFTER:
        for one in listed:
            yield one, noun


def _has_article(text: str, position: int) -> bool:
    before = _BEFORE_NAME.search(text, max(0, position - 26), position)
    return bool(before and before["last"].strip().casefold() in ("the", "this", "new"))


def _is_a(one: _Marked, kind: str) -> Statement:
    return _statement(one, IS_A, kind, CONCEPT)


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


# Which files and folders that a text names lie in which others: `/etc/apt/sources.list`.


LOCATED_IN = "located_in"
_MOST_PATHS = 1_000
"""Statements of a document."""
_PATH = re.compile(
    r"(?<![\w:/.~$<>@%*{}()\[\\-])(?:/|~/)?+[\w.+-]{1,60}+(?:/[\w.+-]{1,60}+){1,10}+/?+"
    r"(?![\w/<>@%*{}()$=-]|:\S)"
)
_RELATIVE = 2
"""Slashes that show a path from no root to be one; "and/or" has one."""


def paths(document: Document) -> Structure:
    """`located_in` the nearest folder above that the text names, too."""
    if is_code(document.media_type) or document.media_type == MAIL or "/" not in document.text:
        return Structure()
    found: dict[str, tuple[str, int]] = {}
    for match in _PATH.finditer(document.text):
        path = match.group().rstrip(".")
        if _is_path(path):
            found.setdefault(path.rstrip("/"), (path, match.start()))
    stated = []
    for bare, (path, start) in found.items():
        folder = _folder_among(bare, found)
        if folder:
            stated.append(_statement_paths(path, folder, start))
    return Structure(statements=tuple(stated[:_MOST_PATHS]))


def _is_path(path: str) -> bool:
    parts = path.casefold().strip("/").split("/")
    is_rooted = path[0] in "/~" or path.count("/") >= _RELATIVE
    return is_rooted and any(map(str.isalpha, path)) and PLACEHOLDERS.isdisjoint(parts)


def _folder_among(path: str, found: dict[str, tuple[str, int]]) -> str:
    """The nearest folder of a path that is itself named; empty where none is."""
    folder = path.rpartition("/")[0]
    while folder:
        if folder in found:
            return found[folder][0]
        folder = folder.rpartition("/")[0]
    return ""


def _statement_paths(path: str, folder: str, start: int) -> Statement:
    return Statement(
        head=path,
        head_type="code",
        relation_type=LOCATED_IN,
        tail=folder,
        tail_type="code",
        start=start,
        end=start + len(path),
        confidence=0.85,
    )


# What definition lists state: which terms a document defines, and what kind of thing each is.
#
# The forms: `Term` with `: definition` below (Markdown), `Term` with an indented text below
# (reStructuredText), an entry `**Term**: definition` of a list, code alone above its text or in
# the
# first cell of a table, and an entry of a list of options.


DEFINED_IN = "defined_in"
_RST = "text/x-rst"
_MOST_DEFINITIONS = 1_000
"""Definitions of a document."""
_DEFINITION = re.compile(
    r"^(?:(?P<term>[^\W_][^\n:;.!?|]{0,60})\n(?:\n?:[ \t]{1,8}|[ ]{2,8})"
    r"|[-*+][ \t]{1,4}\*\*(?P<bold>[^*\n]{1,60})\*\*(?:[ \t]?[:–—-])?[ \t]{1,4})"
    r"(?P<text>(?:An?|The)[ ][^\n]{8,})",
    re.MULTILINE,
)
_LABELLED = re.compile(
    r"^(?:(?:\[\d{1,4}\]\([^()\n]{0,60}\))?[-*+•]?[ \t]{0,4}"
    r"\*\*(?P<bold>[^*\n:]{2,60})(?:\*\*:|:\*\*)"
    r"|[-*+•][ \t]{1,4}``?(?P<code>[^`\n]{2,60})``?[ ]?[:–—-])"
    r"[ \t]{1,4}(?P<text>[^\W_][^\n]{8,})",
    re.MULTILINE,
)
_TERM = re.compile(
    r"(?<=\n\n)(?P<term>[^\W_][^\n:;.!?|]{0,60}?)(?: : [^\n]{1,60})?\n[ ]{1,8}"
    r"(?P<text>[^\W_][^\n]{8,})"
)
"""In reStructuredText, whatever follows below a line and further in defines it."""


_ALONE = re.compile(r"(?<=\n\n)`(?P<code>[^`\s]{2,60})`\n\n(?P<text>[^\W\d_a-z][^\n]{8,})")
"""What lists of definitions in HTML become when they are read."""
_ROW = re.compile(
    r"^[ \t]{0,8}\|[ \t]{0,8}`(?P<code>[^`\s|]{2,60})`[ \t]{0,40}\|[ \t]{0,8}"
    r"(?P<text>[^\W\d_a-z][^\n|]{12,})",
    re.MULTILINE,
)
_OPTION = re.compile(
    r"^[ \t]{0,8}(?:-\w(?:,|[ ]|,[ ]))?(?P<code>--[a-z][\w-]{1,40})"
    r"(?:[= ]?[<\[]?[\w=<>|.-]{1,30}\]?)?"
    r"(?:[ ]{2,40}|\n[ ]{4,20})(?P<text>[^\W\d_a-z][^\n]{8,})",
    re.MULTILINE,
)
"""An entry of a list of options: "--force  Overwrites what is there"."""
_LISTED = re.compile(
    r"^[ \t]{0,8}[-*•‣+][ \t]{1,4}(?P<item>[a-z][\w.+-]{2,40})"
    r"(?:[ ](?:[-–—=]|--)[ ]|:[ ](?=an?[ ]|the[ ]))(?P<text>[^\W_][^\n]{8,})",
    re.MULTILINE,
)
"""An entry without marks: "- lintian - checks packages", "- gbp: a suite for packages"."""


def definitions(document: Document) -> Structure:
    """`defined_in` the document, and `is_a` where the definition says what the term is."""
    is_source = document.media_type.startswith("text/x-") and document.media_type != _RST
    if is_source or not entity_key(document.title):
        return Structure()
    return Structure(statements=tuple(_statements_definitions(document))[:_MOST_DEFINITIONS])


def _statements_definitions(document: Document) -> Iterator[Statement]:
    patterns = (
        _DEFINITION,
        _LABELLED,
        _ALONE,
        _ROW,
        _OPTION,
        _LISTED,
        *((_TERM,) if document.media_type == _RST else ()),
    )
    for match in chain.from_iterable(p.finditer(document.text) for p in patterns):
        groups = match.groupdict()
        term = (
            next(filter(None, map(groups.get, ("term", "bold", "code", "item"))), "")
            .replace("_/", "/")
            .strip(" `*_:")
        )
        if not is_name(term) or len(term.split()) > 4 or term.casefold() in GENERIC:
            continue
        if snake_case(term) in FIELD_NAMES or (groups.get("item") and is_ordinary(term)):
            continue
        start, end = match.span()
        if entity_key(term) != entity_key(document.title):
            yield Statement(
                head=term,
                head_type=CODE_CODE if groups.get("code") or groups.get("item") else CONCEPT,
                relation_type=DEFINED_IN,
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
