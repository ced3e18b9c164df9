"""Documents of numbered series that a document cites: "RFC 2616", "PEP 8", "ISO 8601"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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
