"""The title of a web page: its own, without the name that all pages of a site share."""

from __future__ import annotations

from collections.abc import Sequence

_SEPARATORS = (" | ", " - ", " – ", " — ", " · ", " :: ", " » ", " « ")


def page_title(title: str, headings: Sequence[str]) -> str:
    """What `<title>` and the first-level headings of a page say that it is called.

    A heading that the title repeats is the title without the site's name; where the only heading
    differs from the title, the title is the site's. A heading that ends the title is the site's.
    """
    parts = _parts(title)
    folded = [part.casefold() for part in parts]
    for heading in headings:
        if heading.casefold() in folded:
            at = folded.index(heading.casefold())
            return parts[0] if at == len(parts) - 1 and len(parts) > 1 else heading
    if not title or (len(headings) == 1 and headings[0].casefold() not in title.casefold()):
        return headings[0] if headings else title
    return title


def _parts(title: str) -> list[str]:
    """The title between the signs by which pages join their name with their site's."""
    for separator in _SEPARATORS:
        title = title.replace(separator, "\0")
    return [part.strip() for part in title.split("\0") if part.strip()]
