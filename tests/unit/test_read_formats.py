"""HTML, PDF and office files as readable text."""

from __future__ import annotations

import io
import logging
import re
import sys
import textwrap
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfWriter

from clew.errors import UnreadableError
from clew.indexing.reading.html import html_document
from clew.indexing.reading.pages import joined_lines, mended, without_running_lines
from clew.settings import ReadSettings
from tests.unit.files import SETTINGS, read, read_one, zipped

# --- read formats


# --- HTML ----------------------------------------------------------------------------------

PAGE = """<?xml version="1.0"?><!DOCTYPE html>
<html lang="en"><head><title> My
 Page</title><meta name="Author" content="Ann"><meta name="description" content="A page.">
<meta property="article:published_time" content="2021-05-01T10:00:00+02:00">
<style>p { color: red }</style></head>
<body><nav><a href="/">Home</a></nav>
<h1>Big <em>News</em></h1><p>Hello <b>wor</b>ld,<br>second   line. Call <code>foo()</code>.</p>
<ul><li>one<ul><li>inner</li></ul></li><li><p>two</p></li></ul><ol start="3"><li>x<li>y</ol>
<pre><code>def f():
    return 1
</code></pre>
<table><tr><th>Name<th>Year</tr><tr><td>Ann<br>B</td><td>20|20</td></tr></table>
<blockquote>said <p>so</p></blockquote><!-- a comment --><script>bad()</script>
<p hidden>hidden</p><table><tr><td><h2>Laid out</h2><p>in a table</td></tr></table>
tail <img alt="a picture"></body></html>"""


HTML_TEXT = (
    "# Big News\n\n"
    "Hello world,\nsecond line. Call `foo()`.\n\n"
    "- one\n  - inner\n- two\n3. x\n4. y\n\n"
    "```\ndef f():\n    return 1\n```\n\n"
    "| Name | Year |\n| --- | --- |\n| Ann B | 20\\|20 |\n\n"
    "> said\n\n> so\n\n"
    "## Laid out\n\nin a table\n\n"
    "tail a picture\n"
)


# --- PDF -----------------------------------------------------------------------------------


NOTED = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)


def pdf(*pages: str, title: str = "", password: str | None = None) -> bytes:
    writer = FPDF()
    writer.set_font("helvetica", size=12)
    writer.set_creation_date(NOTED)
    writer.set_title(title)
    writer.set_author("Ann")
    for page in pages:
        writer.add_page()
        writer.multi_cell(0, 8, page)
    if password is not None:
        writer.set_encryption(owner_password="owner", user_password=password or None)
    return bytes(writer.output())


def encrypted_with_aes() -> bytes:
    writer = PdfWriter(clone_from=io.BytesIO(pdf("Text.")))
    writer.encrypt("", owner_password="secret", algorithm="AES-256")
    content = io.BytesIO()
    writer.write(content)
    return content.getvalue()


MOORINGS = "the harbour master of Penmarsh keeps the list of moorings".split()
PARTED = """%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 600 200] /Contents 4 0 R
  /Resources << /Font << /F1 5 0 R >> >> >> endobj
4 0 obj << /Length {size} >> stream
{shown}
endstream endobj
5 0 obj << /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+Serif /Encoding /Identity-H
  /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /DW 500 /W [{first} [{widths}]] >>]
  /ToUnicode 6 0 R >> endobj
6 0 obj << /Length {map_size} >> stream
{map}
endstream endobj
trailer << /Root 1 0 R >>
startxref
0
%%EOF
"""


def parted(words: list[str], *, has_space: bool) -> bytes:
    """A page with the words, a gap of a quarter of an em between them and wide glyphs.

    Glyphs are numbered as they come, so that number 32 falls to some letter, as in what XeTeX
    writes; with a space it is the space, which the words still are not parted by.
    """
    first = 33 if has_space else 32
    number = {letter: i for i, letter in enumerate(sorted(set("".join(words))), first)}
    pairs = {**number, " ": 32} if has_space else number
    lines = "".join(f"<{glyph:04X}> <{ord(letter):04X}>\n" for letter, glyph in pairs.items())
    mapped = f"{len(pairs)} beginbfchar\n{lines}endbfchar"
    codes = ("".join(f"{number[letter]:04X}" for letter in word) for word in words)
    shown = f"BT /F1 10 Tf 20 100 Td [<{'> -250 <'.join(codes)}>] TJ ET"
    widths = "700 " * len(number)
    return PARTED.format(
        size=len(shown), shown=shown, first=first, widths=widths, map_size=len(mapped), map=mapped
    ).encode()


def test_a_damaged_page_does_not_lose_the_others(tmp_path: Path) -> None:
    content = pdf("Page one.", "Page two.").replace(b"/FlateDecode", b"/NoSuchThing", 1)
    result = read(tmp_path / "a.pdf", content)
    assert [document.text for document in result.documents] == ["Page two."]
    assert [(s.source[-13:], s.reason) for s in result.skipped] == [
        ("/a.pdf#page=1", "malformed page")
    ]


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_a_cut_pdf_neither_crashes_nor_prints(
    tmp_path: Path, kept: float, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    content = pdf("Page one.", "Page two.")
    # A little cut off the end can be mended; whether it is, is pypdf's affair.
    with caplog.at_level(logging.WARNING, logger="root"), suppress(UnreadableError):
        read(tmp_path / "a.pdf", content[: int(len(content) * kept)])
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


# --- DOCX ----------------------------------------------------------------------------------


BOX = "<w:txbxContent><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:txbxContent>"
ANCHORED = (
    '<w:r {} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
    f"<mc:AlternateContent><mc:Choice Requires='wps'>{BOX.format('in a box')}</mc:Choice>"
    f"<mc:Fallback>{BOX.format('in a box, for old versions')}</mc:Fallback>"
    "</mc:AlternateContent></w:r>"
)
CONTROL = (
    "<w:sdt {}><w:sdtContent><w:p><w:r><w:t>in a control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
)


def word() -> bytes:
    document = docx.Document()
    document.add_heading("The Report", 0)
    document.add_heading("Part one", 1)
    for text, style in (("Some text.", None), ("first", "List Bullet"), ("second", "List Bullet")):
        document.add_paragraph(text, style=style)
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ["Name", "Year", "Ann", "2020"], strict=True):
        cell.text = text
    tracked = document.add_paragraph("kept")
    tracked._p.append(_xml("<w:ins {}><w:r><w:t> inserted</w:t></w:r></w:ins>"))
    tracked._p.append(_xml("<w:del {}><w:r><w:delText> deleted</w:delText></w:r></w:del>"))
    tracked._p.addnext(_xml(CONTROL))
    document.add_paragraph("before")._p.append(_xml(ANCHORED))
    document.add_paragraph("after\tit\nall")
    document.core_properties.title = ""
    document.core_properties.author = "Ann"
    document.core_properties.created = NOTED
    document.core_properties.modified = datetime(2021, 1, 2, 3, 4, 5, tzinfo=UTC)
    return saved(document)


def _xml(template: str) -> object:
    return parse_xml(template.format(nsdecls("w")))


def saved(document: Any) -> bytes:  # noqa: ANN401 - of Word, slides or sheets
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


WORD_TEXT = (
    "# The Report\n\n# Part one\n\nSome text.\n\n- first\n- second\n\n"
    "| Name | Year |\n| --- | --- |\n| Ann | 2020 |\n\nkept inserted\n\nin a control\n\n"
    "before\n\nin a box\n\nafter\tit\nall"
)


def test_a_word_document_without_properties_has_none(tmp_path: Path) -> None:
    """As Google Docs exports them."""
    with zipfile.ZipFile(io.BytesIO(word())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    del members["docProps/core.xml"]
    related = members["_rels/.rels"]
    members["_rels/.rels"] = re.sub(rb"<Relationship [^>]*docProps/core.xml[^>]*>", b"", related)

    document = read_one(tmp_path / "a.docx", zipped(members))
    written = datetime.fromtimestamp((tmp_path / "a.docx").stat().st_mtime, UTC)
    assert (document.title, document.created_at) == ("The Report", None)
    assert document.updated_at == written
    assert not {"author", "keywords"} & set(document.metadata)


PAGES_IN_A_CIRCLE = (
    b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    b"2 0 obj\n<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>\nendobj\n"
    b"trailer\n<< /Root 1 0 R >>\n%%EOF\n"
)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.html", b"<html><script>render()</script></html>", "empty"),
        ("a.pdf", pdf("Text.", password="secret"), r"encrypted$"),
        ("a.pdf", pdf("", ""), r"no text \(scanned\?\)"),
        ("a.pdf", PAGES_IN_A_CIRCLE, r"malformed PDF|no text"),
        ("a.docx", word()[:400], "not a ZIP archive"),
        ("a.docx", b"text", "not a ZIP archive"),
        ("a.docx", zipped({"a": b"not a document"}), "malformed DOCX"),
        ("a.docx", OLE + bytes(100), "encrypted"),
        ("a.docx", saved(docx.Document()), "empty"),
        ("a.xls", b"text", "malformed"),
        ("a.msg", b"text", "malformed"),
        ("a.xls", OLE + bytes(600), "malformed"),
        ("a.pptx", zipped({"a": b"x"}), "malformed"),
        ("a.xlsx", zipped({"a": b"x"}), "malformed"),
        ("a.epub", zipped({"a": b"x"}), "malformed"),
        *(
            (f"small.{kind}", zipped({"bomb": bytes(2_000_000)}), "unpacks to more than 1 MB")
            for kind in ("docx", "pptx")
        ),
    ],
)
def test_what_cannot_be_read_says_why(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    settings = ReadSettings(max_megabytes=0.1) if name.startswith("small") else SETTINGS
    with pytest.raises(UnreadableError, match=reason):
        read(tmp_path / name, content, settings)


# --- other office formats ------------------------------------------------------------------


def slides(*titles: str) -> bytes:
    made = pptx.Presentation()
    for title in titles:
        made.slides.add_slide(made.slide_layouts[5]).shapes.title.text = title
    return saved(made)


def sheet(*rows: list[object]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    return saved(book)


# --- what a document says ------------------------------------------------------------------


def read_as(
    name: str, content: bytes | str, title: str, text: str, **more: object
) -> tuple[object, ...]:
    """A case: the file, and what its document says."""
    return name, content, {"title": title, "text": text, **more}


ANN = {"author": "Ann"}
PDF = "application/pdf"
MAY_2021 = datetime(2021, 5, 1, 8, tzinfo=UTC)
IN_KOI8 = "<meta charset='koi8-r'><p>Анна Каренина</p>".encode("koi8-r")
IN_NO_CODE = "<meta charset='no-such'><p>Mädchen und Jungen</p>".encode("cp1252")
DEEP = "<div>" * 3000 + "deep" + "</div>" * 3000 + "<p>after</p>"
PAGES = pdf("Page one.", "", "Page three.", title="The Title")
CASES: dict[str, tuple[object, ...]] = {
    "html": read_as(
        *("a.html", PAGE, "Big News", HTML_TEXT),
        created_at=MAY_2021,
        metadata={**ANN, "description": "A page.", "language": "en"},
    ),
    "heading": read_as("a.html", "<h1>Head</h1><p>x</p>", "Head", "# Head\n\nx\n"),
    "no tags": read_as("my_page.htm", "no tags at all", "my page", "no tags at all"),
    "koi8-r": read_as("a.html", IN_KOI8, "a", "Анна Каренина\n"),
    "unknown code": read_as("b.html", IN_NO_CODE, "b", "Mädchen und Jungen\n"),
    "deep": read_as("deep.html", DEEP, "deep", "deep\n\nafter\n"),
    "pdf": read_as(
        *("a.pdf", PAGES, "The Title", "Page one.\n\nPage three."),
        page_starts=(0, 9, 11),
        media_type=PDF,
        metadata=ANN,
        created_at=NOTED,
    ),
    "broken lines": read_as(
        "a.pdf", pdf("some infor-\nmation, pages 3-\n4"), "a", "some information, pages 3-4"
    ),
    # A title that says nothing is no title.
    "untitled": read_as("my_report.pdf", pdf("Text.", title="untitled"), "my report", "Text."),
    "title of Word": read_as(
        "my_report.pdf", pdf("Text.", title="Microsoft Word - "), "my report", "Text."
    ),
    # Without the ending it is known by its first bytes.
    "no ending": read_as("download", pdf("Text."), "download", "Text.", media_type=PDF),
    "no password": read_as("a.pdf", pdf("Text.", password=""), "a", "Text.", media_type=PDF),
    "AES": read_as("a.pdf", encrypted_with_aes(), "a", "Text.", media_type=PDF),
    # Words are parted whether the font has a space or not.
    **{
        f"parted, {has_space}": read_as(
            "a.pdf", parted(MOORINGS, has_space=has_space), "a", " ".join(MOORINGS)
        )
        for has_space in (False, True)
    },
    "docx": read_as(
        *("a.docx", word(), "The Report", WORD_TEXT),
        created_at=NOTED,
        updated_at=NOTED.replace(year=2021),
        metadata={**ANN, "description": "generated by python-docx"},
    ),
    "pptx": read_as(
        *("a.pptx", slides("First slide", "Second slide"), "a", "# First slide\n\n# Second slide"),
        page_starts=(0, 15),
    ),
    "xlsx": read_as(
        *("my_book.xlsx", sheet(["Name", "Year"], ["Ann", 2020]), "my book"),
        "## Sheet\n| Name | Year |\n| --- | --- |\n| Ann | 2020 |",
    ),
}


@pytest.mark.parametrize(("name", "content", "expected"), CASES.values(), ids=CASES)
def test_what_a_document_says(
    tmp_path: Path, name: str, content: bytes | str, expected: dict[str, object]
) -> None:
    document = read_one(tmp_path / name, content)
    assert {field: getattr(document, field) for field in expected} == expected


CONTAINER = '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>'
PACKAGE = (
    '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Rivers</dc:title>'
    '</metadata><manifest><item id="a" href="a.xhtml"/><item id="b" href="b.xhtml"/></manifest>'
    "<spine>{}</spine></package>"
)


def test_a_book_that_names_a_chapter_again_and_again_has_it_once(tmp_path: Path) -> None:
    order = "".join(f'<itemref idref="{name}"/>' for name in [*["a"] * 300, "b", "a"])
    parts = {"META-INF/container.xml": CONTAINER, "a.opf": PACKAGE.format(order)}
    chapters = {"a.xhtml": "<p>The river rises.</p>", "b.xhtml": "<p>The river falls.</p>"}
    for _ in range(2):  # what one book named is not left out of the next
        text = read_one(tmp_path / "a.epub", zipped({**parts, **chapters})).text
        assert re.findall(r"rises|falls", text) == ["rises", "falls"]


def test_without_markitdown_the_reason_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "markitdown", None)
    with pytest.raises(UnreadableError, match=r"needs pip install 'clew\[office\]'"):
        read(tmp_path / "a.pptx", zipped({"a": b"x"}))


# --- What of a web page is content.


PROSE = (
    "The keeper of the light wrote down every ship that passed the reef in the year of the storm. "
)
CONTENT = f"<h1>Logbook</h1><p>{PROSE * 3}</p>"


def text_of(body: str, source: str = "logbook.html") -> str:
    return html_document(f"<html><title>T</title><body>{body}</body></html>", source).text


WITHOUT = text_of(CONTENT)


@pytest.mark.parametrize(
    "boilerplate",
    [
        "<nav><ul><li><a href=a.html>First</a><li>Second</ul></nav>",
        "<div role=navigation><h3>Navigation</h3><a href=i.html>index</a> | 3.11 »</div>",
        "<div role=search><form><input name=q> Find</form></div>",
        "<header><a href=/>Home</a> <a href=/about>About us</a></header>",
        "<footer>Created with a generator, 2024.</footer>",
        "<aside><a href=b.html>Another page</a> <a href=c.html>One more</a></aside>",
        # Names that generators give: Publican, DocBook, Sphinx, GTK-Doc, Doxygen, MkDocs, Javadoc.
        "<ul class='docnav top'><li><a accesskey=p href=a.html>Zurück</a><li>Handbuch</ul>",
        "<div class=navheader><table><tr><td>Guide<td><a href=b.html>Next</a></table></div>",
        "<div class=sphinxsidebar><h4>Contents</h4><a href=a.html>x</a></div>",
        "<div class=footer><hr>Generated by a program</div>",
        "<table class=navigation><tr><td>Top | Description</table>",
        "<div id=nav-path class=navpath><a href=d.html>src</a></div>",
        "<div class='navbar fixed-top'><a href=.>Home</a><a href=b/>Guide</a></div>",
        "<div class=topNav><a href=x.html>Package</a> Class</div>",
        "<div class=breadcrumbs><a href=.>Home</a> » Logbook</div>",
        "<p><a rel=prev href=a.html>Vorige</a> Buch <a rel=next href=b.html>Nächste</a></p>",
        "<div class=cookie-consent>We use cookies for many good reasons. <button>OK</button></div>",
        "<div class=toc><a href='#x'>One</a> <a href='logbook.html#y'>Two</a></div>",
        "<a class=skip-link href='#main'>Skip to content</a>",
    ],
)
def test_what_leads_elsewhere_is_no_content(boilerplate: str) -> None:
    assert text_of(boilerplate + CONTENT) == WITHOUT
    assert text_of(CONTENT + boilerplate) == WITHOUT


@pytest.mark.parametrize(
    "content",
    [
        # A box of Publican; prose is content whatever its name, and so are lists of links.
        f"<div class=sidebar><p>VOCABULARY <a href=a.html>Release</a> {PROSE}</p></div>",
        f"<div class=menu>{PROSE * 4}</div>",
        "<h2>See also</h2><ul><li><a href=a.html>Ships</a><li><a href=b.html>Storms</a></ul>",
        "<div class=toc><a href='a.html#x'>Another page</a> <a href=b.html>One more</a></div>",
        # Ids made of headings and of names in code.
        "<section id=navigation><h2>Navigation</h2><p>By the stars.</p></section>",
        "<div class=section id=footer><h2>Footer</h2><p>Of a page.</p></div>",
        "<div class=viewcode-block id=CookieJar.menu><pre>def menu(): ...</pre></div>",
        f"<article><header><h2>Title</h2></header>{PROSE}<footer>By Ann.</footer></article>",
        f"<header><h1>Headline</h1><p>{PROSE}</p></header>",
        f"<footer>{PROSE * 9}</footer>",
        "<p>A note<a href='#fn'>[1]</a>, and more.</p>",
    ],
)
def test_content_stays_whatever_its_name(content: str) -> None:
    both = text_of(CONTENT + content)
    words = html_document(f"<p>{content}</p>", "x").text.split()
    assert both.startswith(WITHOUT.rstrip())
    assert set(words) <= set(both.split())
    assert len(both) > len(WITHOUT) + 10


MENU = "".join(f"<li><a href={i}.html>Chapter {i}</a>" for i in range(40))


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        # Signs beside headings are none of their words.
        (f"<h2>Ships<a class=headerlink href='#ships'>¶</a></h2>{CONTENT}", ["## Ships\n"]),
        # A page that would be left nearly empty keeps everything.
        (f"<nav><ul>{MENU}</ul></nav><p>Not found.</p>", ["Chapter 39", "Not found."]),
        # Navigation within tables of data goes, too.
        (
            f"{CONTENT}<table><tr><th>Ship<th>Year<tr><td>Vell<nav>jump</nav><td>1820</table>",
            ["| Vell | 1820 |"],
        ),
    ],
)
def test_what_a_page_shows(body: str, shown: list[str]) -> None:
    assert all(text in text_of(body) for text in shown)


TAGS = st.sampled_from(["div", "nav", "p", "ul", "li", "table", "td", "footer", "aside", "a", "h2"])
BLOCKS = st.tuples(
    TAGS, st.sampled_from(["", " class=menu", " id=footer", " role=search", " href=x"])
)


@given(st.lists(BLOCKS, max_size=40), st.integers(0, 40))
def test_a_long_paragraph_is_never_lost(blocks: list[tuple[str, str]], place: int) -> None:
    """Wherever it stands, whatever is open around it."""
    opened = [f"<{name}{attributes}>x" for name, attributes in blocks if name != "a"]
    opened.insert(place, f"<p>{PROSE * 8}</p>")
    assert PROSE.strip() in text_of("".join(opened))


# --- Plain text that was set for a printer: its words whole, its pages without their heads.


TEXT = """\
     In the morning you gather your gear.

     The next morn-
     ing, you gather what may be your last meal out-
     side, and a well-
     known old-
     style torch that is old-style.
"""


def test_a_cut_word_is_whole_where_it_stands_so_elsewhere() -> None:
    text = mended(TEXT)
    assert "next morning,\n     you gather" in text
    assert "well-\n     known" in text, "nothing tells whether it is a compound"
    assert "old-style\n     torch" in text
    assert "out-\n     side," in text


def test_where_a_program_cut_words_all_are_whole_but_compounds() -> None:
    words = ["experi-ence", "preced-ing", "geno-cide", "fur-ther", "alter-nate", "neces-sary"]
    words += ["opposi-tion", "ex-plosions", "syn-onym", "multi-ple", "old-style"]
    text = "     An old-style text.\n" + "".join(
        f"     Then came {word.replace('-', '-' + chr(10) + '     ')} again.\n" for word in words
    )
    found = mended(text)
    for word in words[:-1]:
        assert f"came {word.replace('-', '')}\nagain." in found
    assert "came old-style\nagain." in found
    wide = mended(text + "     The  keeper of  the light.\n     oil      3  pounds\n")
    assert "The keeper of the light.\noil      3  pounds\n" in wide
    assert found.replace("-", "").split() == mended(found).replace("-", "").split()


def test_a_paragraph_that_ends_with_a_cut_word_still_ends() -> None:
    text = "In the morning.\n\nAnd so each morn-\ning.\n\nThen noon, that morn-\ning\nwas gone."
    assert mended(text).split("\n\n")[1] == "And so each morning."
    assert mended(text).endswith("that morning\nwas gone.")


@pytest.mark.parametrize("text", ["", "a-\nb", "- one\n- two-\n- three", "x = y -\nz", "\f\f\f"])
def test_what_is_not_typeset_stays(text: str) -> None:
    assert mended(text).replace("\f", "") == text.replace("\f", "")


def test_heads_and_feet_of_pages_go_and_sentences_go_on() -> None:
    body = ["The request begins here and", "goes on over the page.", "A third page ends it."]
    pages = [
        f"RFC 9999          Protocol of Bees          June 1999\n\n\n   {line}\n\n\n"
        f"Keeper                 Standards Track                 [Page {number}]\n"
        for number, line in enumerate(body, 1)
    ]
    text = mended("\f".join(pages))
    assert "[Page" not in text
    assert "Protocol of Bees" not in text
    assert re.sub(r"\s+", " ", text) == " ".join(body)
    assert "begins here and\ngoes on" in re.sub(r"\n +", "\n", text)


# --- Paragraphs of PDF pages, and what repeats at their edges.


LAYOUT_PROSE = (
    "The river rises in the hills above the town and flows past Berlin to the sea. Nobody has"
    " measured it since. It is said that Maria Keller walked along the whole of it in a summer."
)


WORDS = LAYOUT_PROSE.split()
WRAPPED = "\n".join(textwrap.wrap(LAYOUT_PROSE, 60))


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        *(("\n".join(textwrap.wrap(LAYOUT_PROSE, width)), LAYOUT_PROSE) for width in (40, 60, 75)),
        # lines of few words
        (
            "\n".join(" ".join(WORDS[i : i + 2]) for i in range(0, len(WORDS), 2)),
            LAYOUT_PROSE,
        ),
        # headings, items and paragraphs
        (
            f"Introduction\n{WRAPPED}\n- one\n- two\n\n{WRAPPED}",
            f"Introduction\n\n{LAYOUT_PROSE}\n- one\n- two\n\n{LAYOUT_PROSE}",
        ),
        ("some infor-\nmation here", "some information here"),
        ("pages 3-\n4 of it", "pages 3-4 of it"),
    ],
)
def test_lines_that_are_broken_by_width_are_joined(page: str, expected: str) -> None:
    assert joined_lines(page) == expected


RIVERS = ["Elbe", "Oder", "Ems", "Main", "Isar", "Inn", "Lech"]
BODIES = [f"The {name} is a river.\nIt is long.\nSo they say of {name}." for name in RIVERS]
FEW = ["Annals of Rivers\nOne.\n1", "Annals of Rivers\nTwo.\n2"]
DIFFERENT = [f"{name} heads the page\nText.\n{name}" for name in "abcdefg"]


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (
            [f"Annals of Rivers\n{b}\nChapter 2, page {n}\n{n}" for n, b in enumerate(BODIES, 1)],
            BODIES,
        ),
        (FEW, FEW),
        (DIFFERENT, DIFFERENT),
    ],
)
def test_running_heads_feet_and_page_numbers_go(pages: list[str], expected: list[str]) -> None:
    assert without_running_lines(pages) == expected


@given(st.lists(st.text(alphabet="ab-A.1 \n|", max_size=60), max_size=5))
def test_joining_loses_no_word(pages: list[str]) -> None:
    for page in pages:
        visible = "".join(page.split()).replace("-", "")
        assert "".join(joined_lines(page).split()).replace("-", "") == visible
