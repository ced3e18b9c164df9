"""What a document's fields state of it: front matter, field lists and properties.

Fields are what reading a document made its metadata. A field that is not in the vocabulary below
is for filters, and states no relation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

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
    if document.media_type == "message/rfc822":  # its header says who wrote it: see `people`
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
        if entity_key(link.name) not in {entity_key(stem), *_NO_NAMES}:
            yield Statement(
                head=title,
                relation_type="links_to",
                tail=link.name,
                start=link.start,
                end=link.end,
            )
    places = {tag.name: (tag.start, tag.end) for tag in reversed(list(inline_tags(document.text)))}
    for name in listed(document.metadata.get("tags")):
        start, end = places.get(name, (0, 0))
        yield Statement(
            head=title, relation_type=TAGGED, tail=name, tail_type="concept", start=start, end=end
        )
