"""Relations that the structure of a document states, beside what its sentences say.

Each kind of structure is a function of a whole `Document` (text, metadata, media type), so that a
document read back from the store gives the same. `structure_of` gathers them; `add_structure`
enters what they state into an `Extraction`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import NamedTuple, TypeAlias

from clew.hookspecs import kind_of, listed
from clew.indexing.ner.entity_types import (
    CALENDAR,
    CODE,
    CONNECTORS,
    IMPERATIVES,
    SECTION_WORDS,
    STARTERS,
    is_ordinary,
    is_person_shaped,
)
from clew.indexing.outline import (
    MEDIA_TYPE,
    headings,
    inline_tags,
    links,
    listed_names,
    title_from_name,
)
from clew.indexing.reading.common import TYPE, UNKNOWN, media_type_of
from clew.indexing.relations.patterns import CONCEPT, IS_A, concept_of
from clew.languages import read_patterns, read_word_lists, word_list
from clew.text import STOP_WORDS, entity_key
from clew.types import (
    TERM,
    AliasEvidence,
    Chunk,
    ChunkExtraction,
    Document,
    ExtractedRelation,
    Extraction,
    Mention,
    Statement,
    Structure,
)

Stated: TypeAlias = "Statement | AliasEvidence"


def structure(
    *, of: str = "", titled: bool = True, prose: bool = True, most: int
) -> Callable[[Callable[[Document], Iterable[Stated]]], Callable[[Document], Structure]]:
    """Make a reader of structure of a function that gives what it sees, which may say things twice.

    It is asked for documents of the media type `of` alone, if one is given; not for those without
    a title (`titled`) and those that are no prose, such as source code (`prose`). The first `most`
    different things count, and nothing is stated of itself.
    """

    def reader(read: Callable[[Document], Iterable[Stated]]) -> Callable[[Document], Structure]:
        @wraps(read)
        def read_structure(document: Document) -> Structure:
            kind = document.media_type
            is_for = of in ("", kind) and not (prose and kind_of(kind))
            is_for = is_for and (not titled or bool(entity_key(document.title)))
            statements: dict[tuple[str, ...], Statement] = {}
            aliases: dict[AliasEvidence, None] = {}
            for one in read(document) if is_for else ():
                if isinstance(one, AliasEvidence):
                    aliases[one] = None
                    continue
                head, tail = entity_key(one.head), entity_key(one.tail)
                if head and tail and head != tail:
                    statements.setdefault((head, one.relation_type, tail), one)
                if len(statements) == most:
                    break
            return Structure(statements=tuple(statements.values()), aliases=tuple(aliases))

        return read_structure

    return reader


def add_structure(
    extraction: Extraction, structure: Structure, chunks: Sequence[Chunk]
) -> Extraction:
    """The extraction with the statements as relations of the sentences in which they stand.

    Both names of a statement become mentions of that sentence unless they are already. A statement
    outside of all chunks counts for the chunk before it, or else the first. An alias is mentioned
    once, beside the first mention of the name that it stands for, so that the store knows it; one
    of what the document is about in the first sentence, where no text names that. A declared
    entity is mentioned where it is declared, and has the declared type wherever it is mentioned.
    """
    if not chunks or not (structure.statements or structure.aliases or structure.entities):
        return extraction
    # A title that is no name is none where a field has it.
    types = {entity_key(name): TERM for name, kind in extraction.about if kind == TERM}
    types |= {entity_key(one.name): one.entity_type for one in structure.entities}
    entered = [_Entered(*both, types) for both in zip(extraction.chunks, chunks, strict=True)]
    starts = [chunk.start for chunk in chunks]
    for one in structure.entities:
        if entity_key(one.name):
            at = entered[max(0, bisect_right(starts, one.start) - 1)]
            at.mention(one.name, one.entity_type, one.start, one.end)
    for said in structure.statements:
        if entity_key(said.head) and entity_key(said.tail):
            entered[max(0, bisect_right(starts, said.start) - 1)].state(said)
    missing: dict[str, dict[str, str]] = defaultdict(dict)
    for alias in structure.aliases:
        missing[entity_key(alias.name)][entity_key(alias.alias)] = alias.alias
    for chunk in entered:
        chunk.name_beside(missing)
    for title, kind in extraction.about:
        for name in missing.pop(entity_key(title), {}).values():
            entered[0].add(Mention(name=name, entity_type=kind, sentence=0, start=0, end=0))
    return replace(
        extraction,
        chunks=tuple(chunk.extraction() for chunk in entered),
        about=tuple((n, types.get(entity_key(n), kind)) for n, kind in extraction.about),
        aliases=tuple(dict.fromkeys((*extraction.aliases, *structure.aliases))),
    )


class _Entered:
    """What one chunk holds, on its way."""

    def __init__(self, found: ChunkExtraction, chunk: Chunk, types: Mapping[str, str]) -> None:
        """`types` are those of declared entities, by key, and of titles that are no names."""
        self._found, self._chunk, self._types = found, chunk, types
        self._sentences = found.sentences or ((0, len(chunk.text)),)
        self._mentions = [
            replace(m, entity_type=types.get(entity_key(m.name), m.entity_type)) if types else m
            for m in found.mentions
        ]
        self._known = {(m.sentence, entity_key(m.name)) for m in found.mentions}
        self._statements: list[tuple[int, Statement]] = []

    def mention(self, name: str, entity_type: str, start: int, end: int) -> int:
        """Mention a name in the sentence that states it, and say which that is."""
        place = min(max(start - self._chunk.start, 0), max(len(self._chunk.text) - 1, 0))
        firsts = [first for first, _ in self._sentences]
        ordinal = max(0, bisect_right(firsts, place) - 1)
        if (ordinal, entity_key(name)) not in self._known:
            left, right = _place(self._chunk, self._sentences[ordinal], name, start, end)
            kind = (
                self._types.get(entity_key(name), "name") if entity_type == "name" else entity_type
            )
            self.add(Mention(name=name, entity_type=kind, sentence=ordinal, start=left, end=right))
        return ordinal

    def add(self, mention: Mention) -> None:
        """Take in a mention as it is."""
        self._known.add((mention.sentence, entity_key(mention.name)))
        self._mentions.append(mention)

    def state(self, one: Statement) -> None:
        """Mention what a statement names, and relate it."""
        ordinal = self.mention(one.head, one.head_type, one.start, one.end)
        if one.relation_type != IS_A:  # what a thing is names nothing
            self.mention(one.tail, one.tail_type, one.start, one.end)
        self._statements.append((ordinal, one))

    def name_beside(self, missing: dict[str, dict[str, str]]) -> None:
        """Mention the aliases of what is named, which are then no longer missing."""
        for mention in tuple(self._mentions):
            for name in missing.pop(entity_key(mention.name), {}).values():
                at = self._chunk.text.find(name, *self._sentences[mention.sentence])
                place = (at, at + len(name)) if at >= 0 else (mention.start, mention.end)
                self.add(replace(mention, name=name, start=place[0], end=place[1], count=1))

    def extraction(self) -> ChunkExtraction:
        """With the types that statements tell of names."""
        if self._mentions == list(self._found.mentions) and not self._statements:
            return self._found
        said = [one for _, one in self._statements]
        ends = [*((s.head, s.head_type) for s in said), *((s.tail, s.tail_type) for s in said)]
        told = {entity_key(name): kind for name, kind in ends if kind != "name"}
        relations = {(r.head, r.relation_type, r.tail): r for r in self._found.relations}
        for ordinal, one in self._statements:
            relation = ExtractedRelation(
                head=one.head,
                tail=one.tail,
                relation_type=one.relation_type,
                sentence=ordinal if one.start < one.end else None,
                confidence=one.confidence,
                valid_from=one.valid_from,
                valid_until=one.valid_until,
                tail_type=CONCEPT if one.tail_type == CONCEPT else "name",
            )
            relations.setdefault((one.head, one.relation_type, one.tail), relation)
        return ChunkExtraction(
            sentences=self._sentences,
            mentions=tuple(
                replace(m, entity_type=told.get(entity_key(m.name), "name"))
                if m.entity_type == "name"
                else m
                for m in self._mentions
            ),
            relations=tuple(relations.values()) if said else self._found.relations,
        )


def _place(
    chunk: Chunk, sentence: tuple[int, int], name: str, start: int, end: int
) -> tuple[int, int]:
    """Where a name stands in a sentence, in the chunk's text; else the range that states it."""
    at = chunk.text.find(name, *sentence)
    if at >= 0:
        return at, at + len(name)
    if "\n" in chunk.text[slice(*sentence)]:  # the name may go over the end of a line
        wrapped = re.compile(r"\s{1,20}".join(map(re.escape, name.split())))
        if found := wrapped.search(chunk.text, *sentence):
            return found.span()
    first = min(max(start - chunk.start, sentence[0]), sentence[1])
    return first, min(max(end - chunk.start, first), sentence[1])


_RE = read_patterns("clew.indexing", "structure.toml")["structure"]


LONGEST_NAME = 80
"""Characters of a value that is taken for a name."""
_MOST = 1_000
"""Statements of a kind."""
_MOST_VALUES = 50
"""Values of a field."""
_MOST_WORDS = 8


_FIELDS = {
    "authored_by": ("person", "author authors creator creators writer by"),
    "edited_by": ("person", "editor editors"),
    "translated_by": ("person", "translator translators"),
    "maintained_by": ("person", "maintainer maintainers"),
    "owned_by": ("name", "owner owners"),
    "reviewed_by": ("person", "reviewer reviewers"),
    "sponsored_by": ("name", "sponsor sponsors"),
    "published_by": ("organisation", "publisher organisation organization"),
    "has_status": ("concept", "status state"),
    "has_category": ("concept", "category categories"),
    "licensed_under": ("name", "license licence"),
    "depends_on": ("name", "requires require depends dependencies depends_on"),
    "replaces": ("name", "replaces supersedes obsoletes"),
    "replaced_by": ("name", "replaced_by superseded_by obsoleted_by"),
    "updates": ("name", "updates"),
    "updated_by": ("name", "updated_by"),
    "implements": ("name", "implements"),
    "extends": ("name", "extends"),
    "part_of": ("name", "part_of series project"),
    "relates_to": ("name", "see_also related"),
}
FIELDS = {
    name: (relation_type, tail_type)
    for relation_type, (tail_type, names) in _FIELDS.items()
    for name in names.split()
}
"""Relation type and type of its tail, by the field's name in snake_case."""
FIELD_NAMES = frozenset(FIELDS) | word_list(
    "role job occupation position title date time when where born died email phone address website"
    " url contact team department budget deadline priority start end duration version language"
    " notes note attendees present apologies agenda goal goals summary type kind name"
    " reports_to location city country employer company manager chair minutes lead founder client"
    " customer"
)
"""Labels of fields: what a list defines is none of them."""
_SERIES = ("pep", "rfc", "bip", "eip", "xep", "jep", "dep")
"""Fields that number a document of a series, whose other fields give bare numbers."""


@structure(most=_MOST)
def fields(document: Document) -> Iterator[Statement]:
    """What the metadata says of what the document is about."""
    # A header says who wrote it: see `people`; who is described was written or published by nobody.
    if document.media_type == "message/rfc822" or document.metadata.get(TYPE) == "person":
        return
    series = next((s for s in _SERIES if str(document.metadata.get(s, "")).isdecimal()), "")
    for name, given in document.metadata.items():
        relation_type, tail_type = FIELDS.get(snake_case(name), ("", ""))
        for value in _values(given, tail_type) if relation_type else ():
            tail = f"{series.upper()} {value}" if series and value.isdecimal() else value
            if is_name(tail):
                # Where the text has the field's line, if it has it.
                text, start = document.text, document.text.find(tail)
                line = text[text.rfind("\n", 0, start) + 1 : start] if start >= 0 else ""
                is_there = name.casefold() in line.casefold()
                yield Statement(
                    head=document.title,
                    relation_type=relation_type,
                    tail=tail,
                    tail_type=tail_type,
                    start=start if is_there else 0,
                    end=start + len(tail) if is_there else 0,
                )


def _values(given: object, tail_type: str) -> list[str]:
    """The names in a value: a list, or a text of several with commas between them."""
    values = given if isinstance(given, list) else [given]
    texts = [_RE["address"].sub("", str(v)).strip() for v in values[:_MOST_VALUES] if v is not None]
    if tail_type == "concept" or isinstance(given, list):
        return texts
    return [part for text in texts for part in _RE["split"].split(text[:1000])][:_MOST_VALUES]


def snake_case(name: str) -> str:
    """The name in snake_case: "Superseded-By" → superseded_by."""
    return "_".join(word for word in _RE["not_word"].split(name.casefold()) if word)


def is_name(text: str) -> bool:
    """Whether a value can name something: short, with letters, no address, number or yes and no."""
    if not (0 < len(text) <= LONGEST_NAME and len(text.split()) <= _MOST_WORDS):
        return False
    return bool(entity_key(text)) and _RE["no_name"].match(text) is None


# What the sections of a document are about, by their headings.


_MOST_WORDS_HEADINGS = 5
GENERIC = SECTION_WORDS | word_list(
    "introduction overview summary abstract conclusion conclusions background motivation rationale"
    " references bibliography index contents glossary acknowledgements acknowledgments preface"
    " foreword notes note features feature changes change improvements issues issue fixes bugs"
    " bug examples example usage installation questions answers faq history credits license"
    " licence copyright authors author contributors status schedule roadmap discussion topics"
    " findings results details information options syntax description purpose goals goal"
    " requirements links resources steps tips problems problem table list page part topic items"
    " basics tasks agenda attendees present actions action things stuff data section sections"
    " title creator date rights publisher subject language source format identifier"
    " remarks comments appendix definitions terms other misc miscellaneous more updates news"
    " warning warnings caution hint important tip deprecations removals additions optimizations"
    " limitations alternatives design nota fecha autor autores título hinweis achtung datum autoren"
    " titel remarque attention auteur auteurs titre data autore autori titolo avviso aviso"
)
"""Last words of headings that name no subject."""


@structure(most=_MOST)
def described(document: Document) -> Iterator[Statement]:
    """`described_in` the document, of each heading that names something."""
    for heading in headings(document.text, document.media_type)[:_MOST]:
        yield Statement(
            head=subject_of(heading.title),
            relation_type="described_in",
            tail=document.title,
            start=heading.start,
            end=heading.end,
            confidence=0.85,
        )


def subject_of(heading: str) -> str:
    """What a heading names; empty where it is a sentence, a question, or says only what comes."""
    text = _RE["number"].sub("", " ".join(heading.split()), count=1).strip(" .:*_\"'`“”")
    if numbered := _RE["series_headings"].match(text):
        return numbered.group()
    words = text.split()
    ends_in_marks = not (text[:1].isalnum() and text[-1:].isalnum())
    if ends_in_marks or len(words) > _MOST_WORDS_HEADINGS or words[-1].casefold() in GENERIC:
        return ""
    first = words[0].casefold()
    if first in GENERIC | IMPERATIVES | CALENDAR or first.endswith("ing"):
        return ""
    if len(words) == 1:  # an identifier, or no word of the language
        is_number = any(map(str.isdigit, text)) and not any(map(str.isalpha, text))
        return text if not is_number and (_RE["code"].search(text) or not is_ordinary(text)) else ""
    if first in STARTERS or first in STOP_WORDS or {",", ";", "?", "!", ":"} & set(text):
        return ""
    capital = all(w[0].isupper() or w[0].isdigit() or w in CONNECTORS for w in words)
    return text if capital and not all(w[0].isdigit() for w in words) else ""


# What notes in Markdown state: links to other documents, tags, and further names of their own.


TAGGED = "tagged"
_NO_NAMES = frozenset({"index", "readme"})
"""Names of files that say nothing of what is in them."""


@structure(most=2 * _MOST)
def markdown_links(document: Document) -> Iterator[Statement | AliasEvidence]:
    """`links_to` and `tagged`, from what the document is about; its other names as aliases.

    A link states the name of a file, which is the title of what is in it unless that states one;
    therefore a document that does has its file's name for an alias.
    """
    if document.media_type != MEDIA_TYPE:
        return
    title, stem = document.title, title_from_name(document.source)
    given = [
        name
        for field in ("aliases", "alias")
        for name in listed_names(document.metadata.get(field))
    ]
    evidence = dict.fromkeys(given, f"front matter of {title} names it")
    if document.source.endswith((".md", ".markdown", ".mdx")) and stem.casefold() not in _NO_NAMES:
        evidence.setdefault(stem, f"file name of {title}")
    for name, said in evidence.items():
        yield AliasEvidence(alias=name, name=title, method="exact", score=1.0, evidence=said)
    for link in links(document.text):
        if entity_key(link.name) not in {entity_key(stem), *_NO_NAMES}:
            yield Statement(
                head=title,
                relation_type="links_to",
                tail=link.name,
                start=link.start,
                end=link.end,
            )
    places = {tag.name: (tag.start, tag.end) for tag in reversed(list(inline_tags(document.text)))}
    for name in listed_names(document.metadata.get("tags")):
        start, end = places.get(name, (0, 0))
        yield Statement(
            head=title, relation_type=TAGGED, tail=name, tail_type="concept", start=start, end=end
        )


_MOST_LISTED = 300
"""Lines of a list of people."""
_LONGEST_HANDLE = 3
"""Words of a line of such a list that is no name of a person: it is passed over."""


@structure(most=1_000)
def credited(document: Document) -> Iterator[Statement]:
    """`credited_in` the document, of each person in full, once."""
    for name, (start, end) in _people(document.text):
        yield Statement(
            head=name,
            head_type="person",
            relation_type="credited_in",
            tail=document.title,
            start=start,
            end=end,
        )


def _people(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    for in_list in _RE["with_address"].finditer(text):
        yield " ".join(in_list["name"].split()), in_list.span("name")
    for heading in _RE["contributors"].finditer(text):
        at = heading.end()
        for _ in range(_MOST_LISTED):
            item = _RE["item"].match(text, at)
            name = " ".join(_RE["aside"].sub(" ", item["name"]).split()) if item else ""
            # One word may be somebody's handle: "jxlil", "Kadino".
            is_handle = _RE["handle"].fullmatch(name) and not is_ordinary(name)
            if item and (is_person_shaped(name) or is_handle):
                yield name, item.span("name")
            elif item is None or len(name.split()) > _LONGEST_HANDLE:
                break
            at = item.end()


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


_LONGEST_LIST_OF_CODE = 8
_LISTS = read_word_lists("clew.indexing", "kinds.toml")
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


@structure(titled=False, most=3_000)
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
    in_a_row: list[_Marked] = []
    for one in marked:
        if in_a_row and not _RE["between"].fullmatch(text, in_a_row[-1].end, one.start):
            in_a_row.clear()
        in_a_row = [*in_a_row[-_LONGEST_LIST_OF_CODE:], one]
        if kind := _ROLES.get(one.role):
            yield _statement(one, IS_A, kind, CONCEPT)
        if one.role in _WITH_PARTS or not one.role:
            yield from _parts(one, modules)
        if one.role in _WITH_PARTS and "." in one.name:
            continue
        if kind := _kind_before(text, one):
            yield _statement(one, IS_A, kind, CONCEPT)
        for each, kind in _kinds_after(text, in_a_row):
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


def _kinds_after(text: str, in_a_row: list[_Marked]) -> Iterator[tuple[_Marked, str]]:
    """What "the `x` and `y` modules" says of each."""
    said = _RE["noun_after"].match(text, in_a_row[-1].end)
    start = in_a_row[0].start
    before = _RE["before_name"].search(text, max(0, start - 26), start)
    article = before["last"].strip().casefold() if before else ""
    if said is None or said["next"] in _COMPOUND or article not in ("the", "this", "new"):
        return
    # Many of one name are its instances: "the `Node` elements".
    noun = said["noun"] if len(in_a_row) == 1 else _PLURALS.get(said["noun"])
    if noun in _AFTER:
        for one in in_a_row:
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


READERS: tuple[Callable[[Document], Structure], ...] = (
    fields,
    definitions,
    citations,
    credited,
    described,
    code_names,
    markdown_links,
)
"""Each gives what it sees in a document, nothing for documents that are none of its kind."""


def structure_of(
    document: Document, further: Sequence[Callable[[Document], Structure]] = ()
) -> Structure:
    """What all kinds of structure state, those of `further` readers and of plugins among them."""
    found = [read(document) for read in (*further, *listed("structures"), *READERS)]
    return Structure(
        entities=tuple(e for one in found for e in one.entities),
        statements=tuple(s for one in found for s in one.statements),
        aliases=tuple(a for one in found for a in one.aliases),
    )
