"""Fonts whose glyph 32 is no space: where words end is told by the gaps between them.

Subsets that XeTeX and dvipdfmx embed number their glyphs as they come, and have none for the
space. pypdf takes glyph 32 for it, so that a wide glyph there makes it run words together.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pypdf.generic import ArrayObject, NumberObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypdf import PageObject

SPACE_WIDTH = 250.0
"""Thousandths of an em that a space has in a font that does not say."""
_SPACE = 0x20
_HEX = re.compile(rb"<([0-9A-Fa-f]{1,16})>")


def forget_false_spaces(page: PageObject, seen: set[int]) -> None:
    """Take the width from glyphs 32 that are no space; fonts `seen` are looked at once."""
    for font in _fonts(page):
        if id(font) in seen:
            continue
        seen.add(id(font))
        if "/ToUnicode" in font and _is_other(font["/ToUnicode"].get_object().get_data()):
            for one in font["/DescendantFonts"].get_object():
                widths = one.get_object().get("/W")
                if widths is not None:
                    widths.get_object().extend(
                        (NumberObject(_SPACE), ArrayObject([NumberObject(0)]))
                    )


def _fonts(page: PageObject) -> Iterator[Any]:
    """The fonts of a page whose glyphs are numbered by the font itself."""
    resources = page.get("/Resources")
    fonts = resources.get_object().get("/Font") if resources else None
    for font in (fonts.get_object() if fonts else {}).values():
        if font.get_object().get("/Encoding") == "/Identity-H":
            yield font.get_object()


def _is_other(unicode_map: bytes) -> bool:
    """Whether glyph 32 means a character other than the space, and no glyph means the space."""
    is_other = False
    for part in unicode_map.split(b"beginbf")[1:]:
        step = 3 if part.startswith(b"range") else 2
        numbers = [int(digits, 16) for digits in _HEX.findall(part.partition(b"endbf")[0])]
        for entry in zip(*(numbers[i::step] for i in range(step)), strict=False):
            first, last, meaning = entry[0], entry[-2], entry[-1]
            if meaning <= _SPACE <= meaning + last - first:
                return False
            is_other |= first <= _SPACE <= last
    return is_other
