"""Standards by their number: "RFC 2822", "ISO/IEC 9899:1999", "CVE-2021-44228", "PEP8"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.indexing.ner.spans import NameSpan

_BODIES = (
    "ANSI|ASTM|BCP|BIP|CVE|CWE|DIN|ECMA|EIP|ERC|ETSI|FIPS|GHSA|IEC|IEEE|ISO|ITU|JEP|JSR|NIST|PEP"
    "|RFC|W3C|XEP"
)
_STANDARD = re.compile(
    rf"(?<![\w/.-])(?P<body>(?:{_BODIES})(?:/(?:{_BODIES}))?)"
    r"(?P<joint>[ \u00a0-]| SP |-[A-Z] )?(?P<number>[A-Z]?\.?\d{1,6}(?:[.:-]\d{1,6}){0,3})(?!\w)"
)


def find_standards(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Each with a blank between letters and number where the text has none."""
    for match in _STANDARD.finditer(text, start, end):
        name = match.group() if match["joint"] else f"{match['body']} {match['number']}"
        yield NameSpan(*match.span(), name.replace("\u00a0", " "), "work")
