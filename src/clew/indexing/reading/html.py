"""HTML as Markdown-like text: headings, lists, code and tables stay readable, the rest goes.

Not by markdownify (1.2.3): it fails on 500 nested elements, its time grows with the square of a
list's length, it keeps hidden elements and escapes plain text.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from bs4 import BeautifulSoup
from bs4.builder import HTMLTreeBuilder
from bs4.element import CData, NavigableString, PageElement, Tag

from clew.indexing.reading.common import (
    DEEPEST,
    RawFile,
    ReadResult,
    clean_text,
    decode,
    properties,
    table_lines,
)
from clew.text import one_line
from clew.types import Document

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


def html_document(text: str, source: str) -> Document:
    """A page as a document; its text may turn out empty."""
    if "<" not in text:
        return Document(source=source, text=text, media_type="text/html")
    # The declaration tells nothing here, and makes bs4 warn that this is no XML parser.
    soup = BeautifulSoup(_XML_DECLARATION.sub("<?", text), "lxml")
    nodes = list(soup.descendants)
    invisible = {id(node) for node in nodes if isinstance(node, Tag) and is_invisible(node)}
    dropped = invisible | boilerplate(nodes, source.rsplit("/", 1)[-1])
    text = clean_text(_Writer(_layouts(nodes), dropped).write(soup))
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
    known = properties({**values, "title": page_title(heading, list(filter(None, shown)))})
    return known.document(source, text, "text/html")


def _layouts(nodes: Sequence[PageElement]) -> set[int]:
    """Ids of the tables that arrange the page rather than data, as what they hold shows."""
    found: set[int] = set()
    tables: dict[int, int] = {}  # by element, the table that it is in
    for node in nodes:
        parent = node.parent
        assert parent is not None
        table = tables.get(id(parent))
        outside = parent.name in _ROWS
        if isinstance(node, Tag):
            is_outside = outside and node.name not in _WITHIN_ROWS and not is_invisible(node)
            arranges = is_outside or node.name == "table" or node.name in _HEADINGS
            if node.name == "table":
                tables[id(node)] = id(node)
            elif table is not None:
                tables[id(node)] = table
        else:
            arranges = outside and type(node) is NavigableString and bool(node.strip())
        if arranges and table is not None:
            found.add(table)
    return found


class _Writer:
    """Collects inline text into blocks, each with the mark of what it is."""

    def __init__(self, layouts: set[int], dropped: set[int]) -> None:
        self._layouts, self._dropped = layouts, dropped
        self._blocks: list[str] = []
        self._inline: list[str] = []
        self._lists: list[int | None] = []
        """For each open list its next number; None for one without numbers."""
        self._mark = ""
        self._quotes = 0
        self._preformatted = 0
        self._tight = False
        """Whether the last block was an item of a list."""

    def write(self, root: Tag) -> str:
        """The text of an element; a stack of its own allows any depth."""
        stack = [(root, iter(root.children))]
        while stack:
            tag, children = stack[-1]
            child = next(children, None)
            if child is None:
                stack.pop()
                self._close(tag)
            elif isinstance(child, Tag):
                if id(child) not in self._dropped:
                    is_data = child.name == "table" and id(child) not in self._layouts
                    stack.append((child, iter(()) if is_data else iter(child.children)))
                    self._open(child)
            elif type(child) in (NavigableString, CData):  # comments and the like are other kinds
                self._text(str(child))
        self._flush()
        return "".join(self._blocks).strip("\n") + "\n" if self._blocks else ""

    def _text(self, text: str) -> None:
        self._inline.append(text if self._preformatted else _SPACES.sub(" ", text))

    def _open(self, tag: Tag) -> None:
        name = tag.name
        if name in _BLOCKS:
            self._flush()
        if name in _HEADINGS:
            self._mark = _HEADINGS[name]
        elif name in ("ul", "ol", "li"):
            self._open_list(tag)
        elif name == "blockquote":
            self._quotes += 1
        elif name == "pre":
            self._preformatted += 1
        elif name == "table" and id(tag) not in self._layouts:
            self._add_table(tag)
        elif name == "br":
            self._inline.append("\n")
        elif name == "img":
            self._text(str(tag.get("alt") or ""))
        elif name == "code" and not self._preformatted:
            self._inline.append("`")

    def _open_list(self, tag: Tag) -> None:
        number = self._lists[-1] if self._lists else None
        if tag.name == "ul":
            self._lists.append(None)
        elif tag.name == "ol":
            start = str(tag.get("start") or "1")
            is_number = start.isascii() and start.isdigit() and len(start) < 10
            self._lists.append(int(start) if is_number else 1)
        else:
            self._mark = "- " if number is None else f"{number}. "
            if number is not None:
                self._lists[-1] = number + 1

    def _close(self, tag: Tag) -> None:
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

    def _add_table(self, table: Tag) -> None:
        rows = [
            [self._cell(cell) for cell in self._kept(row, "td", "th")]
            for row in self._kept(table, "tr")
        ]
        caption = table.find("caption")
        if caption and (text := one_line(caption.get_text())):
            self._add(text, tight=False)
        if rows := [row for row in rows if any(row)]:
            self._add("\n".join(table_lines(rows)), tight=False)

    def _kept(self, tag: Tag, *names: str) -> Iterator[Tag]:
        return (one for one in tag.find_all(names) if id(one) not in self._dropped)

    def _cell(self, cell: Tag) -> str:
        return one_line(_Writer(self._layouts, self._dropped).write(cell))

    def _flush(self) -> None:
        text = "".join(self._inline)
        self._inline.clear()
        if self._preformatted:
            text = text.strip("\n")
            if text.strip():
                self._add(f"```\n{text}\n```", tight=False)
            return
        text = "\n".join(filter(None, map(one_line, text.split("\n"))))
        if text.strip("`"):
            self._add(self._mark + text, tight=self._mark.endswith((". ", "- ")))
            self._mark = ""

    def _add(self, block: str, *, tight: bool) -> None:
        """A block, indented as its list is; items follow each other without a blank line."""
        depth = max(len(self._lists) - 1, 0) if tight else len(self._lists)
        margin = "> " * min(self._quotes, DEEPEST) + "  " * min(depth, DEEPEST)
        joint = "\n" if tight and self._tight else "\n\n"
        self._tight = tight
        lines = block.replace("\n", f"\n{margin}{'  ' if tight else ''}")
        self._blocks.append((joint if self._blocks else "") + margin + lines)


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

_LITTLE = 200
"""Characters outside of links that navigation may hold."""
_MORE = 600
"""The same for what is navigation, a footer or a dialog for certain."""
_NEARLY_EMPTY = 100
"""Characters of text; a page is not brought below by what it seems to hold beside its content."""
_LONGEST_NAMES = 300
_PLAIN_ID = re.compile(r"[a-z]{1,30}(?:[-_][a-z]{1,30})?")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


_Held = Counter[str]
"""What a block holds: characters of `text`, `linked` ones and `dropped` ones; `words` (texts with a
letter or a digit), `links`, `inner` ones within the page, `turns` (to the page before, the page
after and the like), `controls`, `headings`, and `contents` (elements of content alone)."""


def boilerplate(nodes: Sequence[PageElement], file_name: str = "") -> set[int]:
    """Ids (`id()`) of the elements that are no content; none where little else would be left.

    `nodes` are a page's, in order; `file_name` is its own, so that a link to it counts as one
    within the page. What stands last is looked at first: an element after all that it holds.
    """
    within: set[int] = set()  # the page's main part
    for node in nodes:
        parent = node.parent
        if isinstance(node, Tag) and parent:
            is_main = parent.name in ("main", "article") or parent.get("role") == "main"
            if is_main or id(parent) in within:
                within.add(id(node))
    found: set[int] = set()
    held: defaultdict[int, _Held] = defaultdict(Counter)
    for node in reversed(nodes):
        above = held[id(node.parent)]
        if isinstance(node, Tag):
            own = held.pop(id(node), None) or Counter()
            if is_invisible(node):
                above["controls"] += node.name in {"button", "input", "select", "textarea"}
                continue
            _count(node, own, file_name)
            if own["text"] and _is_boilerplate(node, own, is_inside=id(node) in within):
                own["dropped"] = own["text"]
                found.add(id(node))
            above.update(own)
        elif isinstance(node, NavigableString) and type(node) in (NavigableString, CData):
            above["text"] += len(node.strip())
            above["words"] += any(map(str.isalnum, node))
    page = held[id(nodes[0].parent)] if nodes else Counter()
    kept = page["text"] - page["dropped"]
    return set() if kept < min(_NEARLY_EMPTY, page["dropped"]) else found


def _count(tag: Tag, held: _Held, file_name: str) -> None:
    """Add what an element is itself to what it holds."""
    if tag.name == "a":
        held["linked"] = held["text"]
        if address := str(tag.get("href") or ""):
            turns = _TURNS.intersection(tag.get_attribute_list("rel"))
            held["links"] += 1
            held["inner"] += address.removeprefix(file_name).startswith("#")
            held["turns"] += bool(turns) or tag.get("accesskey") in ("h", "n", "p", "u")
    elif tag.name in {"article", "h1", "main"} or tag.get("role") == "main":
        held["contents"] += 1
    held["headings"] += tag.name in _HEADINGS


def _is_menu(held: _Held, most: int) -> bool:
    """Whether it is mostly links, or has no more than so many characters beside them."""
    return _is_linked(held) or held["text"] - held["linked"] <= most


def _is_linked(held: _Held) -> bool:
    return 2 * held["linked"] >= held["text"]


def is_invisible(tag: Tag) -> bool:
    """Whether a reader sees no text of it."""
    return tag.name in _INVISIBLE or tag.has_attr("hidden")


def _is_boilerplate(tag: Tag, held: _Held, *, is_inside: bool) -> bool:
    name = tag.name
    if name == "a" and held["inner"] and not held["words"]:  # the sign beside a heading
        return True
    if name == "nav" or tag.get("role") == "navigation":
        return _is_menu(held, _MORE)
    if held["contents"]:
        return False
    if tag.get("role") in _ROLES:
        return _is_menu(held, _MORE) and not (name == "header" and held["headings"])
    if name == "header" and not is_inside:
        return _is_menu(held, _LITTLE) and not held["headings"]
    if name == "aside" and not is_inside and _is_linked(held):
        return True
    if name in _PAGED and held["turns"] > 1 and held["text"] <= _LITTLE:
        return True
    words = _words(tag, by_id=not held["headings"]) if name in _NAMED else frozenset()
    if (name == "footer" or "footer" in words) and not is_inside:
        return _is_menu(held, _MORE)
    return _is_named(words, held)


def _is_named(words: frozenset[str], held: _Held) -> bool:
    """Whether names and contents of a block agree that it is none."""
    if words & _NAVIGATION and _is_menu(held, _LITTLE):
        return True
    if words & _CONTENTS and held["links"] > 1 and held["inner"] == held["links"]:
        return _is_linked(held)
    if words & _CONSENT and (held["controls"] or words & _NOTICE):
        return _is_menu(held, _MORE)
    return bool(words & _MAYBE_NAVIGATION) and held["links"] > 0 and _is_linked(held)


def _words(tag: Tag, *, by_id: bool) -> frozenset[str]:
    """Words of an element's class, and of its id where that may not be made of a heading."""
    names = " ".join(filter(None, tag.get_attribute_list("class")))
    identity = str(tag.get("id") or "")
    if by_id and _PLAIN_ID.fullmatch(identity):
        names = f"{names} {identity}"
    return frozenset(word.lower() for word in _WORD.findall(names[:_LONGEST_NAMES]))


# The title of a web page: its own, without the name that all pages of a site share.


_SEPARATORS = re.compile(r" (?:[|·»«–—-]|::) ")
"""The signs by which pages join their name with their site's."""


def page_title(title: str, headings: Sequence[str]) -> str:
    """What `<title>` and the first-level headings of a page say that it is called.

    A heading that the title repeats is the title without the site's name; where the only heading
    differs from the title, the title is the site's. A heading that ends the title is the site's.
    """
    parts = list(filter(None, map(str.strip, _SEPARATORS.split(title))))
    folded = [part.casefold() for part in parts]
    for heading in headings:
        if heading.casefold() in folded:
            at = folded.index(heading.casefold())
            return parts[0] if at == len(parts) - 1 and len(parts) > 1 else heading
    if not title or (len(headings) == 1 and headings[0].casefold() not in title.casefold()):
        return headings[0] if headings else title
    return title
