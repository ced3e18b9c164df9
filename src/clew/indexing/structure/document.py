"""What a document's fields state of it: front matter, field lists and properties.

Fields are what reading a document made its metadata. A field that is not in the vocabulary below
is for filters, and states no relation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from clew.indexing.markdown import MEDIA_TYPE, inline_tags, links, listed, title_from_name
from clew.indexing.ner.entity_types import (
    CALENDAR,
    CONNECTORS,
    IMPERATIVES,
    SECTION_WORDS,
    STARTERS,
    is_ordinary,
)
from clew.indexing.splitting.outline import headings
from clew.indexing.structure.enter import structure
from clew.text import STOP_WORDS, entity_key
from clew.types import AliasEvidence, Statement
from clew.word_lists import read_patterns, word_list

if TYPE_CHECKING:
    from clew.types import Document


_RE = read_patterns("clew.indexing.structure", "patterns.toml")["document"]


LONGEST_NAME = 80
"""Characters of a value that is taken for a name."""
_MOST = 1_000
"""Statements of a kind."""
_MOST_VALUES = 50
"""Values of a field."""
_MOST_WORDS = 8


class Field(NamedTuple):
    """What a field states."""

    relation_type: str
    tail_type: str = "name"


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
    name: Field(relation_type, tail_type)
    for relation_type, (tail_type, names) in _FIELDS.items()
    for name in names.split()
}
"""By the field's name in snake_case."""
_SERIES = ("pep", "rfc", "bip", "eip", "xep", "jep", "dep")
"""Fields that number a document of a series, whose other fields give bare numbers."""


@structure(most=_MOST)
def fields(document: Document) -> Iterator[Statement]:
    """What the metadata says of what the document is about."""
    if document.media_type == "message/rfc822":  # its header says who wrote it: see `people`
        return
    series = next((s for s in _SERIES if str(document.metadata.get(s, "")).isdecimal()), "")
    for name, given in document.metadata.items():
        field = FIELDS.get(snake_case(name))
        for value in _values(given, field.tail_type) if field else ():
            tail = f"{series.upper()} {value}" if series and value.isdecimal() else value
            if field and is_name(tail):
                start, end = _place(document.text, name, tail)
                yield Statement(
                    head=document.title,
                    relation_type=field.relation_type,
                    tail=tail,
                    tail_type=field.tail_type,
                    start=start,
                    end=end,
                )


def _place(text: str, name: str, value: str) -> tuple[int, int]:
    """Where the text has the field's line; empty where the field is not in the text."""
    start = text.find(value)
    line = text[text.rfind("\n", 0, start) + 1 : start] if start >= 0 else ""
    return (start, start + len(value)) if name.casefold() in line.casefold() else (0, 0)


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


# Labelled lines at the top of a note that are about what the note is about.
#
# - **Reports to**: Paul Okoro
# Location: Bristol


_LABELS = {
    "reports_to": ("person", "reports_to manager line_manager supervisor"),
    "located_in": ("place", "location city based_in venue headquarters country region"),
    "affiliated_with": ("organisation", "employer company affiliation works_for works_at"),
    "chaired_by": ("person", "chair chairman chairperson chaired_by facilitator moderator"),
    "minuted_by": ("person", "minutes minutes_by minute_taker note_taker scribe secretary clerk"),
    "led_by": ("person", "lead leader led_by head project_lead project_manager director"),
    "made_by": ("name", "manufacturer maker vendor supplier brand"),
    "founded_by": ("person", "founder founders founded_by"),
    "married": ("person", "spouse husband wife"),
    "child_of": ("person", "parents mother father"),
    "has_client": ("name", "client customer"),
}
LABELS = FIELDS | {
    name: Field(relation_type, tail_type)
    for relation_type, (tail_type, names) in _LABELS.items()
    for name in names.split()
}
"""By the label in snake_case."""
FIELD_NAMES = frozenset(LABELS) | frozenset(
    "role job occupation position title date time when where born died email phone address website"
    " url contact team department budget deadline priority start end duration version language"
    " notes note attendees present apologies agenda goal goals summary type kind name".split()
)
"""Labels of fields: what a list defines is none of them."""
_TOP = 1_500
"""Characters of a document within which fields are about all of it."""


@structure(most=_MOST)
def labels(document: Document) -> Iterator[Statement]:
    """What labelled lines before the second heading say of the document's subject."""
    if document.media_type in ("message/rfc822", "text/x-rst"):
        return
    top = document.text[:_TOP]
    second = _RE["second_heading"].search(top, 1)
    for match in _RE["line"].finditer(top, 0, second.start() if second else len(top)):
        field = LABELS.get(snake_case(match["label"]))
        value = _RE["marks"].sub("", match["value"]).strip().rstrip(".")
        names = [name.strip() for name in _RE["split_labels"].split(value)]
        if field and field.tail_type != "concept" and all(map(names_something, names)):
            for name in names:
                yield Statement(
                    head=document.title,
                    relation_type=field.relation_type,
                    tail=name,
                    tail_type=field.tail_type,
                    start=match.start("label"),
                    end=match.end(),
                    confidence=0.85,
                )


# What notes in Markdown state: links to other documents, tags, and further names of their own.


TAGGED = "tagged"
_SUFFIXES = (".md", ".markdown", ".mdx")
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
        name for field in ("aliases", "alias") for name in listed(document.metadata.get(field))
    ]
    evidence = dict.fromkeys(given, f"front matter of {title} names it")
    if document.source.endswith(_SUFFIXES) and stem.casefold() not in _NO_NAMES:
        evidence.setdefault(stem, f"file name of {title}")
    for name, said in evidence.items():
        yield AliasEvidence(alias=name, name=title, method="exact", score=1.0, evidence=said)
    for link in links(document.text):
        if entity_key(link.target) not in {entity_key(stem), *_NO_NAMES}:
            yield Statement(
                head=title,
                relation_type="links_to",
                tail=link.target,
                start=link.start,
                end=link.end,
            )
    places = {tag.name: (tag.start, tag.end) for tag in reversed(list(inline_tags(document.text)))}
    for name in listed(document.metadata.get("tags")):
        start, end = places.get(name, (0, 0))
        yield Statement(
            head=title, relation_type=TAGGED, tail=name, tail_type="concept", start=start, end=end
        )


# What tables state: a row is about its first cell, and a column says what the others are to it.
#
# Read from tables in Markdown, which is what HTML, Word and spreadsheets become when they are
# read.
# A table of two columns that are called field and value is about the document.


_FIELD_NAMES = frozenset("field key property attribute name item".split())
_VALUE_NAMES = frozenset("value".split())
_NO_RELATION = frozenset(
    "description descriptions note notes comment comments remark remarks example examples meaning"
    " explanation details usage default date time year size number no id link url value"
    " next prev previous home up back".split()
)
"""Columns that do not hold names."""


_Row = tuple[list[str], int, int]
"""Cells, and the range of the line."""


@structure(titled=False, prose=False, most=2 * _MOST)
def tables(document: Document) -> Iterator[Statement]:
    """What the cells of the document's tables are to the first cells of their rows."""
    for (names, _, _), *rows in _tables(document.text):
        header = [snake_case(name) for name in names]
        is_of_fields = len(header) == 2 and header[0] in _FIELD_NAMES and header[1] in _VALUE_NAMES
        for cells, start, end in rows:
            if len(cells) != len(header):
                continue
            stated = [
                (cells[0], _column(name), cell)
                for name, cell in zip(header[1:], cells[1:], strict=True)
                if names_something(cells[0]) and names_something(cell)
            ]
            if is_of_fields:  # the table is about the document
                stated = [(document.title, FIELDS.get(snake_case(cells[0])), cells[1])]
            for head, field, tail in stated:
                if field and is_name(tail):
                    yield Statement(
                        head=head,
                        relation_type=field.relation_type,
                        tail=tail,
                        tail_type=field.tail_type,
                        start=start,
                        end=end,
                        confidence=0.85,
                    )


def _tables(text: str) -> Iterator[list[_Row]]:
    """The rows of each table, its header first and without the line below that."""
    for block in _RE["block"].finditer(text):
        rows: list[_Row] = []
        separators = []
        for line in _RE["line_tables"].finditer(text, *block.span()):
            if _RE["separator"].fullmatch(line.group()):
                separators.append(len(rows))
                continue
            cells = (
                _RE["marks_tables"].sub(r"\g<text>", c)
                for c in _RE["cell"].split(line[0].strip().strip("|"))
            )
            rows.append(([c.replace("\\|", "|").strip() for c in cells], *line.span()))
        if separators[-1:] == [1]:
            yield rows


def _column(name: str) -> Field | None:
    words = name.split("_")
    if not name or len(words) > 3 or name[0].isdigit() or not _NO_RELATION.isdisjoint(words):
        return None
    return FIELDS.get(name, Field(f"has_{name}"))


def names_something(cell: str) -> bool:
    """Whether a cell names something: a few words that begin with a capital."""
    first = _RE["name"].search(cell)
    return bool(first and first.group().isupper()) and len(cell.split()) <= 6 and is_name(cell)
