"""What the sections of a document are about, by their headings, and to which others they refer.

Hyperlinks refer by the text of a heading, those of reStructuredText by nothing else.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from clew.indexing.ner.name_lexicon import (
    CALENDAR,
    CONNECTORS,
    IMPERATIVES,
    SECTION_WORDS,
    STARTERS,
    is_ordinary,
)
from clew.indexing.splitting.code_blocks import is_code
from clew.indexing.splitting.outline import headings
from clew.text import STOP_WORDS, entity_key
from clew.types import Statement, Structure
from clew.word_lists import word_list

if TYPE_CHECKING:
    from clew.types import Document

DESCRIBED_IN = "described_in"
_MOST = 1_000
"""Headings of a document."""
REFERS_TO = "refers_to"
_MOST_REFERENCES = 1_000
"""References of a document."""
_REFERENCE = re.compile(
    r"(?<![\w`:])(?:`(?P<phrase>[^`<>\n]{2,80})`|(?P<word>[^\W_][\w-]{1,60}))_(?!_|\w)"
)
_LINK = re.compile(
    r"(?<!!)\[(?:(?P<word>[^\W_][\w-]{1,60})|(?P<phrase>[^\[\]\n]{2,80}))\]"
    r"\([^()#\s]{0,200}#[^()\s]{1,200}\)"
)
_MOST_WORDS = 5
_NUMBER = re.compile(r"\A(?:(?:\d{1,3}|[A-Z])(?:\.\d{1,3}){0,5}[.:)]?|[IVX]{1,5}[.:)])\s+")
_SERIES = re.compile(r"[A-Z]{2,6}[ -]\d{1,6}(?=:)")
"""What "PEP 572: Assignment expressions" is about."""
_CODE = re.compile(r"\w[._]\w|[a-z][A-Z]|[A-Z]{2}|\d")
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


def described(document: Document) -> Structure:
    """`described_in` the document, of each heading that names something."""
    title = entity_key(document.title)
    if not title or is_code(document.media_type):
        return Structure()
    found: dict[str, Statement] = {}
    for heading in headings(document.text, document.media_type)[:_MOST]:
        name = subject_of(heading.title)
        key = entity_key(name)
        if key and key not in found and key != title:
            found[key] = Statement(
                head=name,
                relation_type=DESCRIBED_IN,
                tail=document.title,
                start=heading.start,
                end=heading.end,
                confidence=0.85,
            )
    return Structure(statements=tuple(found.values()))


def section_references(document: Document) -> Structure:
    """`refers_to`, from the subject of a section to that of another that it links to."""
    pattern = _REFERENCE if document.media_type == "text/x-rst" else _LINK
    if is_code(document.media_type) or (pattern is _LINK and "](" not in document.text):
        return Structure()
    found = headings(document.text, document.media_type)
    subjects = [subject_of(one.title, is_linked=True) for one in found]
    titles = {entity_key(one.title): s for one, s in zip(found, subjects, strict=True) if s}
    starts = [one.start for one in found]
    stated: dict[tuple[str, str], Statement] = {}
    for match in pattern.finditer(document.text):
        place = bisect_right(starts, match.start()) - 1
        target = titles.get(entity_key(match["phrase"] or match["word"]))
        if place < 0 or target is None or len(stated) == _MOST_REFERENCES:
            continue
        head = subjects[place]
        if entity_key(head) and entity_key(head) != entity_key(target):
            stated.setdefault(
                (head, target),
                Statement(
                    head=head,
                    relation_type=REFERS_TO,
                    tail=target,
                    start=match.start(),
                    end=match.end(),
                ),
            )
    return Structure(statements=tuple(stated.values()))


def subject_of(heading: str, *, is_linked: bool = False) -> str:
    """What a heading names; empty where it is a sentence, a question, or says only what comes.

    What a text links to by its words names something in small letters, too.
    """
    text = _NUMBER.sub("", " ".join(heading.split()), count=1).strip(" .:*_\"'`“”")
    numbered = _SERIES.match(text)
    if numbered:
        return numbered.group()
    words = text.split()
    if not 0 < len(words) <= _MOST_WORDS or not text[-1].isalnum() or not text[0].isalnum():
        return ""
    first, last = words[0].casefold(), words[-1].casefold()
    if last in GENERIC or first in GENERIC | IMPERATIVES | CALENDAR or first.endswith("ing"):
        return ""
    if len(words) == 1 and not is_linked:
        return text if _names_alone(text) else ""
    if first in STARTERS or first in STOP_WORDS or {",", ";", "?", "!", ":"} & set(text):
        return ""
    capital = is_linked or all(w[0].isupper() or w[0].isdigit() or w in CONNECTORS for w in words)
    return text if capital and not all(w[0].isdigit() for w in words) else ""


def _names_alone(word: str) -> bool:
    """Whether one word is a name: an identifier, or no word of the language."""
    if any(c.isdigit() for c in word) and not any(c.isalpha() for c in word):
        return False
    return bool(_CODE.search(word)) or not is_ordinary(word)
