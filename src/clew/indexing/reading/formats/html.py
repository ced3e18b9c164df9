"""HTML as Markdown-like text: headings, lists, code and tables stay readable, the rest goes.

Not by markdownify (1.2.3): it fails on 500 nested elements, its time grows with the square of a
list's length, it keeps hidden elements and escapes plain text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bs4 import BeautifulSoup
from bs4.builder import HTMLTreeBuilder
from bs4.element import CData, NavigableString, PageElement, Tag

from clew.indexing.reading.formats.common import (
    DEEPEST,
    Properties,
    RawFile,
    ReadResult,
    clean_text,
    decode,
    properties,
    table_lines,
)
from clew.text import one_line
from clew.types import Document

_Event = tuple[Literal["open", "close", "text"], Tag | str]

_BLOCKS = HTMLTreeBuilder.DEFAULT_BLOCK_ELEMENTS | {
    "body",
    "caption",
    "details",
    "summary",
    "td",
    "th",
    "tr",
}
_ROWS = frozenset({"table", "tbody", "tfoot", "thead", "tr"})
_WITHIN_ROWS = _ROWS | {"caption", "col", "colgroup", "td", "th"}
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_META_NAMES = {
    "author": "author",
    "article:author": "author",
    "dc.creator": "author",
    "description": "description",
    "og:description": "description",
    "keywords": "keywords",
    "date": "created_at",
    "dc.date": "created_at",
    "dcterms.created": "created_at",
    "article:published_time": "created_at",
    "last-modified": "updated_at",
    "dcterms.modified": "updated_at",
    "article:modified_time": "updated_at",
    "og:updated_time": "updated_at",
}
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*+=\s*+[\"']?\s*+([A-Za-z0-9_.:-]+)", re.I)
_XML_DECLARATION = re.compile(r"<\?xml", re.I)
_ANCHOR_SIGNS = " ¶#\uf0c1"
"""What a link to a heading shows behind it."""
_SPACES = re.compile(r"[ \t\n\r\f]+")


def read_html(raw: RawFile) -> ReadResult:
    """The page's text; its title, author, description and times become properties."""
    declared = _DECLARED.search(raw.data[:4096])
    text = decode(raw, declared.group(1).decode("ascii") if declared else None)
    return ReadResult(documents=(html_document(text, raw.source),))


def html_document(markup: str, source: str) -> Document:
    """A page as a document; its text may turn out empty."""
    # The declaration tells nothing here, and makes bs4 warn that this is no XML parser.
    soup = BeautifulSoup(_XML_DECLARATION.sub("<?", markup), "lxml") if "<" in markup else None
    known = _page_properties(soup) if soup else Properties()
    file_name = source.rsplit("/", 1)[-1]
    text = clean_text(_markdown(soup, boilerplate(soup, file_name))) if soup else markup
    return known.document(source, text, "text/html")


def _page_properties(soup: BeautifulSoup) -> Properties:
    values: dict[str, Any] = {}
    for meta in soup.find_all("meta"):
        given = str(meta.get("name") or meta.get("property") or "").lower()
        content = one_line(str(meta.get("content") or ""))
        if content and given in _META_NAMES:
            values.setdefault(_META_NAMES[given], content)
    language = soup.html.get("lang") if soup.html else None
    if language:
        values["language"] = str(language)
    heading = (soup.title and one_line(soup.title.get_text())) or ""
    shown = [
        one_line(found.get_text()).rstrip(_ANCHOR_SIGNS) for found in soup.find_all("h1", limit=2)
    ]
    return properties({**values, "title": page_title(heading, list(filter(None, shown)))})


def _markdown(root: Tag, dropped: Collection[int]) -> str:
    # Ids of the tables that arrange the page rather than data.
    layout: set[int] = set()
    stack: list[tuple[Tag, int | None]] = [(root, None)]
    while stack:
        tag, table = stack.pop()
        for child in tag.children:
            if table is not None and _arranges(tag, child):
                layout.add(table)
            if isinstance(child, Tag):
                stack.append((child, id(child) if child.name == "table" else table))
    writer = _Writer(layout, dropped)
    for kind, item in _events(root, layout, dropped):
        if kind == "text":
            writer.text(str(item))
        elif kind == "open":
            writer.open(item)  # type: ignore[arg-type]
        else:
            writer.close(item)  # type: ignore[arg-type]
    return writer.finish()


def _events(root: Tag, layout: Collection[int], dropped: Collection[int]) -> Iterator[_Event]:
    """The page in order, without what is dropped; a stack of its own allows any depth."""
    stack: list[tuple[Tag, Iterator[PageElement]]] = [(root, iter(root.children))]
    while stack:
        tag, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            yield "close", tag
        elif isinstance(child, Tag):
            if is_invisible(child) or id(child) in dropped:
                continue
            yield "open", child
            is_data = child.name == "table" and id(child) not in layout
            stack.append((child, iter(() if is_data else child.children)))
        elif type(child) in (NavigableString, CData):  # comments and the like are kinds of strings
            yield "text", str(child)


def _arranges(parent: Tag, child: PageElement) -> bool:
    """Whether what a table holds shows that it holds no data."""
    outside = parent.name in _ROWS
    if isinstance(child, Tag):
        if child.name == "table" or child.name in _HEADINGS:
            return True
        return outside and child.name not in _WITHIN_ROWS and not is_invisible(child)
    return outside and type(child) is NavigableString and bool(child.strip())


class _Writer:
    """Collects inline text into blocks, each with the mark of what it is."""

    def __init__(self, layout: Collection[int], dropped: Collection[int]) -> None:
        self._layout = layout
        self._dropped = dropped
        self._blocks: list[str] = []
        self._inline: list[str] = []
        self._lists: list[int | None] = []
        """For each open list its next number; None for one without numbers."""
        self._mark = ""
        self._quotes = 0
        self._preformatted = 0
        self._tight = False
        """Whether the last block was an item of a list."""

    def text(self, text: str) -> None:
        self._inline.append(text if self._preformatted else _SPACES.sub(" ", text))

    def open(self, tag: Tag) -> None:
        name = tag.name
        if name in _BLOCKS:
            self._flush()
        if name in _HEADINGS:
            self._mark = _HEADINGS[name]
        elif name in ("ul", "ol"):
            self._lists.append(_first_number(tag) if name == "ol" else None)
        elif name == "li":
            self._mark = self._item_mark()
        elif name == "blockquote":
            self._quotes += 1
        elif name == "pre":
            self._preformatted += 1
        elif name == "table" and id(tag) not in self._layout:
            rows = [self._cells(row) for row in tag.find_all("tr") if id(row) not in self._dropped]
            rows = [row for row in rows if any(row)]
            caption = tag.find("caption")
            if caption and (text := one_line(caption.get_text())):
                self._add(text, tight=False)
            if rows:
                self._add("\n".join(table_lines(rows)), tight=False)
        else:
            self._open_inline(tag)

    def close(self, tag: Tag) -> None:
        name = tag.name
        if name in _BLOCKS:
            self._flush()
        if name in _HEADINGS or name == "li":
            self._mark = ""
        elif name in ("ul", "ol"):
            self._lists.pop()
        elif name == "blockquote":
            self._quotes -= 1
        elif name == "pre":
            self._preformatted -= 1
        elif name == "code" and not self._preformatted:
            self._inline.append("`")

    def finish(self) -> str:
        self._flush()
        return "".join(self._blocks).strip("\n") + "\n" if self._blocks else ""

    def _open_inline(self, tag: Tag) -> None:
        if tag.name == "br":
            self._inline.append("\n")
        elif tag.name == "img" and tag.get("alt"):
            self.text(str(tag["alt"]))
        elif tag.name == "code" and not self._preformatted:
            self._inline.append("`")

    def _item_mark(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

    def _flush(self) -> None:
        text = "".join(self._inline)
        self._inline.clear()
        if self._preformatted:
            text = text.strip("\n")
            if text.strip():
                self._add(f"```\n{text}\n```", tight=False)
            return
        text = "\n".join(line for line in map(one_line, text.split("\n")) if line)
        if text and text.strip("`"):
            self._add(self._mark + text, tight=self._mark.endswith((". ", "- ")))
            self._mark = ""

    def _add(self, block: str, *, tight: bool) -> None:
        """A block, indented as its list is; items follow each other without a blank line."""
        depth = max(len(self._lists) - 1, 0) if tight else len(self._lists)
        margin = "> " * min(self._quotes, DEEPEST) + "  " * min(depth, DEEPEST)
        joint = "\n" if tight and self._tight else "\n\n"
        self._tight = tight
        lines = block.split("\n")
        hanging = margin + ("  " if tight else "")
        body = "\n".join([margin + lines[0], *(hanging + line for line in lines[1:])])
        self._blocks.append((joint if self._blocks else "") + body)

    def _cells(self, row: Tag) -> list[str]:
        cells = (cell for cell in row.find_all(["td", "th"]) if id(cell) not in self._dropped)
        return [one_line(_markdown(cell, self._dropped)) for cell in cells]


def _first_number(tag: Tag) -> int:
    start = str(tag.get("start") or "1")
    return int(start) if start.isascii() and start.isdigit() and len(start) < 10 else 1


# What of a web page is no content: navigation, banners, footers, dialogs, marks of anchors.
#
# Recognised by elements, ARIA roles, the names that generators give, and how much of a block is
# link
# text. A block that says much outside of links stays, whatever its name.
#
# Not by a library: on pages of ten generators trafilatura, resiliparse, readability and justext
# lose
# 19, 6, 27 and 64 % of the content's lines, or their headings and tables (`docs/formats.md`).


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
            if child.name == "a" and (address := child.get("href")):
                totals.links += 1
                own = str(address).removeprefix(file_name) if file_name else str(address)
                totals.inner_links += own.startswith("#")
                turns = _TURNS.intersection(child.get_attribute_list("rel")) or child.get(
                    "accesskey"
                ) in (
                    "h",
                    "n",
                    "p",
                    "u",
                )
                totals.turns += bool(turns)
            elif child.name in _CONTENT or child.get("role") == "main":
                totals.contents += 1
            if len(child.name) == 2 and child.name[0] == "h" and child.name[1].isdigit():
                totals.headings += 1
        elif isinstance(child, NavigableString) and type(child) in (NavigableString, CData):
            totals.text += len(child.strip())
            totals.words += any(character.isalnum() for character in child)
    kept = totals.text - totals.dropped
    return frozenset() if kept < min(_NEARLY_EMPTY, totals.dropped) else frozenset(found)


def is_invisible(tag: Tag) -> bool:
    """Whether a reader sees no text of it."""
    return tag.name in _INVISIBLE or tag.has_attr("hidden")


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


# The title of a web page: its own, without the name that all pages of a site share.


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
