"""What of a web page is no content: navigation, banners, footers, dialogs, marks of anchors.

Recognised by elements, ARIA roles, the names that generators give, and how much of a block is link
text. A block that says much outside of links stays, whatever its name.

Not by a library: on pages of ten generators trafilatura, resiliparse, readability and justext lose
19, 6, 27 and 64 % of the content's lines, or their headings and tables (`docs/formats.md`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bs4.element import CData, NavigableString, PageElement, Tag

_INVISIBLE = frozenset(
    """audio button canvas dialog head iframe input noscript object script select style svg template
    textarea video""".split()
)
"""Elements without text for a reader."""
_CONTROLS = frozenset({"button", "input", "select", "textarea"})
_ROLES = frozenset(
    """alertdialog banner contentinfo dialog menu menubar navigation search toolbar""".split()
)
# Words of class names and ids. Those of the first set name nothing else.
_NAVIGATION = frozenset(
    """breadcrumb breadcrumbs crumbs docnav mainmenu menu menubar modal nav navbar navfooter
    navheader navigation navpath navrow pager pagination prevnext related searchbox searchmenu
    skip skiplink skipnav sphinxsidebar submenu subnav tagline titlearea topnav""".split()
)
_MAYBE_NAVIGATION = frozenset("banner search share sidebar sidenav social".split())
_CONSENT = frozenset("consent cookie cookies gdpr".split())
_NOTICE = frozenset("banner bar notice overlay popup".split())
_CONTENTS = frozenset("localtoc summary tableofcontents toc".split())
_TURNS = frozenset("contents first home index last next prev previous start up".split())
_NAMED = frozenset("a div dl footer form header ol p section span table td ul".split())
_PAGED = frozenset("div p table td tr ul".split())
_CONTENT = frozenset({"article", "h1", "main"})

_LITTLE = 200
"""Characters outside of links that navigation may hold."""
_MORE = 600
"""The same for what is navigation, a footer or a dialog for certain."""
_NEARLY_EMPTY = 100
"""Characters of text; a page is not brought below by what it seems to hold beside its content."""
_LONGEST_NAMES = 300
_PLAIN_ID = re.compile(r"[a-z]{1,30}(?:[-_][a-z]{1,30})?")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


@dataclass(slots=True)
class _Totals:
    """What has been seen since the page's beginning, or within a block; text in characters."""

    text: int = 0
    linked: int = 0
    dropped: int = 0
    links: int = 0
    inner_links: int = 0
    """Links within the page."""
    turns: int = 0
    """Links to the page before, the page after and the like."""
    controls: int = 0
    words: int = 0
    """Texts that hold a letter or a digit."""
    headings: int = 0
    contents: int = 0
    """Elements that only what is content holds."""

    def copy(self) -> _Totals:
        return _Totals(*(getattr(self, name) for name in self.__slots__))

    def since(self, earlier: _Totals) -> _Totals:
        return _Totals(*(getattr(self, n) - getattr(earlier, n) for n in self.__slots__))

    @property
    def plain(self) -> int:
        """Characters outside of links."""
        return self.text - self.linked

    def is_menu(self, most: int) -> bool:
        """Whether it is mostly links, or has no more than so many characters beside them."""
        return self.linked >= self.plain or self.plain <= most


@dataclass(slots=True)
class _Open:
    tag: Tag
    children: Iterator[PageElement]
    before: _Totals


def boilerplate(root: Tag, file_name: str = "") -> frozenset[int]:
    """Ids (`id()`) of the elements that are no content; none where little else would be left.

    `file_name` is the page's own, so that a link to it counts as one within the page. One walk,
    with a stack of its own: any depth, linear time.
    """
    found: set[int] = set()
    totals, inside = _Totals(), 0
    stack = [_Open(root, iter(root.children), _Totals())]
    while stack:
        top = stack[-1]
        child = next(top.children, None)
        if child is None:
            stack.pop()
            inside -= _is_main(top.tag)
            if _leave(top, totals, is_inside=inside > 0):
                found.add(id(top.tag))
        elif isinstance(child, Tag):
            if is_invisible(child):
                totals.controls += child.name in _CONTROLS
                continue
            stack.append(_Open(child, iter(child.children), totals.copy()))
            inside += _is_main(child)
            _enter(child, totals, file_name)
        elif isinstance(child, NavigableString) and type(child) in (NavigableString, CData):
            totals.text += len(child.strip())
            totals.words += any(character.isalnum() for character in child)
    kept = totals.text - totals.dropped
    return frozenset() if kept < min(_NEARLY_EMPTY, totals.dropped) else frozenset(found)


def is_invisible(tag: Tag) -> bool:
    """Whether a reader sees no text of it."""
    return tag.name in _INVISIBLE or tag.has_attr("hidden")


def _enter(tag: Tag, totals: _Totals, file_name: str) -> None:
    if tag.name == "a" and (address := tag.get("href")):
        totals.links += 1
        own = str(address).removeprefix(file_name) if file_name else str(address)
        totals.inner_links += own.startswith("#")
        turns = _TURNS.intersection(tag.get_attribute_list("rel")) or tag.get("accesskey") in (
            "h",
            "n",
            "p",
            "u",
        )
        totals.turns += bool(turns)
    elif tag.name in _CONTENT or tag.get("role") == "main":
        totals.contents += 1
    if len(tag.name) == 2 and tag.name[0] == "h" and tag.name[1].isdigit():
        totals.headings += 1


def _leave(block: _Open, totals: _Totals, *, is_inside: bool) -> bool:
    """Whether an element that ends is no content; adds what it held to what is dropped."""
    tag, held = block.tag, totals.since(block.before)
    if tag.name == "a":
        totals.linked = block.before.linked + held.text
        held.linked = held.text
    if not held.text or not _is_boilerplate(tag, held, is_inside=is_inside):
        return False
    totals.dropped = block.before.dropped + held.text
    return True


def _is_boilerplate(tag: Tag, held: _Totals, *, is_inside: bool) -> bool:
    name = tag.name
    if name == "a" and held.inner_links and not held.words:  # the sign beside a heading
        return True
    if name == "nav" or tag.get("role") == "navigation":
        return held.is_menu(_MORE)
    if held.contents:
        return False
    if tag.get("role") in _ROLES:
        return held.is_menu(_MORE) and not (name == "header" and held.headings)
    if name == "header" and not is_inside:
        return held.is_menu(_LITTLE) and not held.headings
    if name == "aside" and not is_inside and held.linked >= held.plain:
        return True
    if name in _PAGED and held.turns > 1 and held.text <= _LITTLE:
        return True
    words = _words(tag, by_id=not held.headings) if name in _NAMED else frozenset()
    if (name == "footer" or "footer" in words) and not is_inside:
        return held.is_menu(_MORE)
    return _is_named(words, held)


def _is_named(words: frozenset[str], held: _Totals) -> bool:
    """Whether names and contents of a block agree that it is none."""
    if words & _NAVIGATION and held.is_menu(_LITTLE):
        return True
    if words & _CONTENTS and held.links > 1 and held.inner_links == held.links:
        return held.linked >= held.plain
    if words & _CONSENT and (held.controls or words & _NOTICE):
        return held.is_menu(_MORE)
    return bool(words & _MAYBE_NAVIGATION) and held.links > 0 and held.linked >= held.plain


def _words(tag: Tag, *, by_id: bool) -> frozenset[str]:
    """Words of an element's class, and of its id where that may not be made of a heading."""
    names = " ".join(filter(None, tag.get_attribute_list("class")))
    identity = str(tag.get("id") or "")
    if by_id and _PLAIN_ID.fullmatch(identity):
        names = f"{names} {identity}"
    return frozenset(word.lower() for word in _WORD.findall(names[:_LONGEST_NAMES]))


def _is_main(tag: Tag) -> bool:
    return tag.name in ("main", "article") or tag.get("role") == "main"
