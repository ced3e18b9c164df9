"""Documents of numbered series that a document cites: "RFC 2616", "PEP 8", "ISO 8601"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.splitting.code import is_code
from clew.text import entity_key
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document


CITES = "cites"
_MOST = 500
"""Citations of a document."""
_CITATION = re.compile(
    r"(?:(?<![\w/.-])(?P<series>RFC|PEP|BCP|BIP|EIP|XEP|JEP|ISO(?:/IEC)?|IEEE|ECMA|CVE)"
    r"(?:[ \u00a0]|-(?=\d)|(?=\d))|:(?P<role>pep|rfc):`)"
    r"(?P<number>\d{1,6}(?:[.-]\d{1,7})?)(?![\w%])"
)


def citations(document: Document) -> Structure:
    """`cites`, once a document cited, from what the document is about."""
    own = entity_key(document.title)
    found: dict[str, Statement] = {}
    if not own:
        return Structure()
    own_number = {
        f"{name} {value}".casefold() for name, value in document.metadata.items() if value
    }
    for match in _CITATION.finditer(document.text):
        if len(found) == _MOST:
            break
        series = match["series"] or match["role"].upper()
        name = f"{series}{'-' if series == 'CVE' else ' '}{match['number']}"
        if name.casefold() in own_number or f"{entity_key(name)} " in f"{own} ":
            continue
        if name not in found:
            found[name] = Statement(
                head=document.title,
                relation_type=CITES,
                tail=name,
                tail_type="work",
                start=match.start(),
                end=match.end(),
            )
    return Structure(statements=tuple(found.values()))


# The works that a text cites, and who wrote them: "[Bakunin, **Statism and Anarchy**, p. 5]".


_MOST_WORKS = 1_000
"""Works of a document."""
_PERSON = (
    r"[^\W\d_a-z][\w'’.-]{1,30}"
    r"(?:\s(?:(?:de|van|von|der|del|la)\s){0,2}[^\W\d_a-z][\w'’.-]{0,30}){0,3}"
)
_TITLE = r"[*_\"“]{1,3}(?P<title>[^\W\d_a-z][^*_\"“”\[\]]{3,100})[*_\"”]{1,3}"
_CITED = re.compile(
    rf"(?P<author>{_PERSON})(?: and (?P<second>{_PERSON}))? ?,\s{_TITLE}"
    r"[ ]?(?:\([^()\n]{0,60}\) ?)?,\s(?:[^\[\]\n]{0,30}\s)?(?:pp?\.|vol\.|no\.|\d{4}\b)"
)
_BY = re.compile(
    rf"{_TITLE} ?,? by (?P<author>[^\W\d_a-z][\w'’.-]{{1,30}}"
    r"(?: [^\W\d_a-z][\w'’.-]{0,30}){1,3})"
)
_ALONE = re.compile(rf"\[[ ]?{_TITLE}[ ]?,\s(?:pp?\.|[Vv]ol\.|no\.)")
_NO_TITLE = re.compile(r"(?:[Oo]p\.?[ >]{0,3}[Cc]it|[Ii]bid|[Ll]oc\.? ?[Cc]it|[Tt]he author)")


def cited_works(document: Document) -> Structure:
    """`authored_by` of each work that is named with its author, `cites` of the document."""
    if is_code(document.media_type):
        return Structure()
    found: dict[tuple[str, str], Statement] = {}
    cited = list(islice(_CITED.finditer(document.text), _MOST_WORKS))
    for match in (*cited, *islice(_BY.finditer(document.text), _MOST_WORKS)):
        one = _statement(match)
        if one:
            found.setdefault((entity_key(one.head), entity_key(one.tail)), one)
    return Structure(statements=(*found.values(), *_cited(document, cited)))


def _cited(document: Document, with_author: Iterable[re.Match[str]]) -> Iterator[Statement]:
    """`cites` of the document, of each work whose page it names."""
    cited: dict[str, Statement] = {}
    for match in chain(with_author, _ALONE.finditer(document.text)):
        work = _title(match)
        key = entity_key(work)
        if key and entity_key(document.title) not in ("", key) and len(cited) < _MOST_WORKS:
            cited.setdefault(
                key,
                Statement(
                    head=document.title,
                    relation_type=CITES,
                    tail=work,
                    tail_type="work",
                    start=match.start(),
                    end=match.end(),
                    confidence=0.85,
                ),
            )
    yield from cited.values()


def _title(match: re.Match[str]) -> str:
    """The title of a work; empty where it stands for one named before, or goes over a paragraph."""
    title = " ".join(match["title"].replace("\n>", "\n").split()).rstrip(" ,.")
    return "" if "\n\n" in match["title"] or _NO_TITLE.match(title) else title


def _statement(match: re.Match[str]) -> Statement | None:
    title, author = _title(match), " ".join(match["author"].split()).rstrip(".")
    is_person = is_person_shaped(author) or " " not in author
    if not (title and is_person) or entity_key(title) == entity_key(author):
        return None
    return Statement(
        head=title,
        head_type="work",
        relation_type="authored_by",
        tail=author,
        tail_type="person",
        start=match.start(),
        end=match.end(),
        confidence=0.85,
    )
