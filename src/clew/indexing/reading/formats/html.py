"""HTML as Markdown-like text: headings, lists, code and tables stay readable, the rest goes.

Not by markdownify (1.2.3): it fails on 500 nested elements, its time grows with the square of a
list's length, it keeps hidden elements and escapes plain text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
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
    properties,
)
from clew.indexing.reading.formats.encoding import decode
from clew.indexing.reading.formats.markdown_table import table_lines
from clew.indexing.reading.formats.web.boilerplate import boilerplate, is_invisible
from clew.indexing.reading.formats.web.page_title import page_title
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
    layout = _layout_tables(root)
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


def _layout_tables(root: Tag) -> set[int]:
    """Ids of the tables that arrange the page rather than data.

    They hold tables or headings, or something outside of their cells, which would be lost.
    Found in one walk, since looking into each table for itself is quadratic where they are nested.
    """
    found: set[int] = set()
    stack: list[tuple[Tag, int | None]] = [(root, None)]
    while stack:
        tag, table = stack.pop()
        for child in tag.children:
            if table is not None and _arranges(tag, child):
                found.add(table)
            if isinstance(child, Tag):
                stack.append((child, id(child) if child.name == "table" else table))
    return found


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
            self._add_table(tag)
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

    def _add_table(self, table: Tag) -> None:
        rows = [self._cells(row) for row in table.find_all("tr") if id(row) not in self._dropped]
        rows = [row for row in rows if any(row)]
        caption = table.find("caption")
        if caption and (text := one_line(caption.get_text())):
            self._add(text, tight=False)
        if rows:
            self._add("\n".join(table_lines(rows)), tight=False)

    def _cells(self, row: Tag) -> list[str]:
        cells = (cell for cell in row.find_all(["td", "th"]) if id(cell) not in self._dropped)
        return [one_line(_markdown(cell, self._dropped)) for cell in cells]


def _first_number(tag: Tag) -> int:
    start = str(tag.get("start") or "1")
    return int(start) if start.isascii() and start.isdigit() and len(start) < 10 else 1
