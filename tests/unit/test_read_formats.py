from __future__ import annotations

import io
import logging
import sys
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from fpdf import FPDF
from pypdf import PdfWriter

from clew.errors import UnreadableError
from clew.indexing.reading.formats.common import ReadResult
from clew.indexing.reading.reader import read_file
from clew.settings import ReadSettings
from clew.types import Document

SETTINGS = ReadSettings()


def read(path: Path, content: bytes | str, settings: ReadSettings = SETTINGS) -> ReadResult:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_file(path, settings)


def read_one(path: Path, content: bytes | str) -> Document:
    (document,) = read(path, content).documents
    return document


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


def test_html_is_readable_text(tmp_path: Path) -> None:
    document = read_one(tmp_path / "a.html", PAGE)
    assert document.text == (
        "# Big News\n\n"
        "Hello world,\nsecond line. Call `foo()`.\n\n"
        "- one\n  - inner\n- two\n3. x\n4. y\n\n"
        "```\ndef f():\n    return 1\n```\n\n"
        "| Name | Year |\n| --- | --- |\n| Ann B | 20\\|20 |\n\n"
        "> said\n\n> so\n\n"
        "## Laid out\n\nin a table\n\n"
        "tail a picture\n"
    )
    assert document.title == "Big News"
    assert document.created_at == datetime(2021, 5, 1, 8, tzinfo=UTC)
    assert document.metadata == {"author": "Ann", "description": "A page.", "language": "en"}


def test_html_without_a_title_takes_its_heading_or_its_name(tmp_path: Path) -> None:
    assert read_one(tmp_path / "a.html", "<h1>Head</h1><p>x").title == "Head"
    assert read_one(tmp_path / "my_page.htm", "no tags at all").title == "my page"


def test_html_in_the_encoding_that_it_declares(tmp_path: Path) -> None:
    page = "<meta charset='koi8-r'><p>Анна Каренина</p>"
    assert read_one(tmp_path / "a.html", page.encode("koi8-r")).text == "Анна Каренина\n"
    unknown = "<meta charset='no-such'><p>Mädchen und Jungen</p>"
    assert read_one(tmp_path / "b.html", unknown.encode("cp1252")).text == "Mädchen und Jungen\n"


def test_html_of_any_depth(tmp_path: Path) -> None:
    page = "<div>" * 3000 + "deep" + "</div>" * 3000 + "<p>after</p>"
    assert read_one(tmp_path / "a.html", page).text == "deep\n\nafter\n"


def test_html_of_scripts_alone_is_empty(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="empty"):
        read(tmp_path / "a.html", "<html><script>render()</script></html>")


# --- PDF -----------------------------------------------------------------------------------


def pdf(*pages: str, title: str = "", password: str | None = None) -> bytes:
    writer = FPDF()
    writer.set_font("helvetica", size=12)
    writer.set_creation_date(datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC))
    if title:
        writer.set_title(title)
        writer.set_author("Ann")
    for page in pages:
        writer.add_page()
        if page:
            writer.multi_cell(0, 8, page)
    if password is not None:
        writer.set_encryption(owner_password="owner", user_password=password or None)
    return bytes(writer.output())


def test_pdf_pages_are_kept(tmp_path: Path) -> None:
    document = read_one(tmp_path / "a.pdf", pdf("Page one.", "", "Page three.", title="The Title"))
    assert document.text == "Page one.\n\nPage three."
    first, second, third = document.page_starts
    assert document.text[first:second] == "Page one."
    assert document.text[third:] == "Page three."
    assert (document.title, document.media_type) == ("The Title", "application/pdf")
    assert document.metadata == {"author": "Ann"}
    assert document.created_at == datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_words_divided_at_the_end_of_a_line_are_whole(tmp_path: Path) -> None:
    text = read_one(tmp_path / "a.pdf", pdf("some infor-\nmation, pages 3-\n4")).text
    assert text == "some information, pages 3-4"


@pytest.mark.parametrize("title", ["untitled", "Microsoft Word - "])
def test_a_title_that_says_nothing_is_no_title(tmp_path: Path, title: str) -> None:
    assert read_one(tmp_path / "my_report.pdf", pdf("text", title=title)).title == "my report"


def test_pdf_without_the_ending_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    document = read_one(tmp_path / "download", pdf("Text."))
    assert (document.text, document.media_type) == ("Text.", "application/pdf")


def test_encrypted_pdf(tmp_path: Path) -> None:
    assert read_one(tmp_path / "a.pdf", pdf("Text.", password="")).text == "Text."
    with pytest.raises(UnreadableError, match=r"encrypted$"):
        read(tmp_path / "b.pdf", pdf("Text.", password="secret"))


def test_a_pdf_encrypted_with_aes_that_anybody_may_read(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=io.BytesIO(pdf("Text.")))
    writer.encrypt("", owner_password="secret", algorithm="AES-256")
    content = io.BytesIO()
    writer.write(content)
    assert read_one(tmp_path / "a.pdf", content.getvalue()).text == "Text."


def test_pdf_without_text_is_taken_for_a_scan(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"no text \(scanned\?\)"):
        read(tmp_path / "a.pdf", pdf("", ""))


def test_a_damaged_page_does_not_lose_the_others(tmp_path: Path) -> None:
    content = pdf("Page one.", "Page two.")
    streams = content.split(b"/Filter /FlateDecode")
    content = (
        b"/Filter /NoSuchThing".join(streams[:2])
        + b"/Filter /FlateDecode"
        + (b"/Filter /FlateDecode".join(streams[2:]))
    )
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
    path = tmp_path / "a.pdf"
    path.write_bytes(content[: int(len(content) * kept)])
    # A little cut off the end can be mended; whether it is, is pypdf's affair.
    with caplog.at_level(logging.WARNING, logger="root"), suppress(UnreadableError):
        read_file(path, SETTINGS)
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_page_trees_in_a_circle_are_survived(tmp_path: Path) -> None:
    content = (
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
        b"2 0 obj\n<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>\nendobj\n"
        b"trailer\n<< /Root 1 0 R >>\n%%EOF\n"
    )
    with pytest.raises(UnreadableError, match=r"malformed PDF|no text"):
        read(tmp_path / "a.pdf", content)


# --- DOCX ----------------------------------------------------------------------------------


def word() -> bytes:
    document = docx.Document()
    document.add_heading("The Report", 0)
    document.add_heading("Part one", 1)
    document.add_paragraph("Some text.")
    document.add_paragraph("first", style="List Bullet")
    document.add_paragraph("second", style="List Bullet")
    table = document.add_table(2, 2)
    for cell, text in zip(
        [*table.rows[0].cells, *table.rows[1].cells], ["Name", "Year", "Ann", "2020"], strict=True
    ):
        cell.text = text
    tracked = document.add_paragraph("kept")
    tracked._p.append(_xml("<w:ins {}><w:r><w:t> inserted</w:t></w:r></w:ins>"))
    tracked._p.append(_xml("<w:del {}><w:r><w:delText> deleted</w:delText></w:r></w:del>"))
    paragraph = "<w:p><w:r><w:t>in a control</w:t></w:r></w:p>"
    control = f"<w:sdt {{}}><w:sdtContent>{paragraph}</w:sdtContent></w:sdt>"
    tracked._p.addnext(_xml(control))
    document.core_properties.title = ""
    document.core_properties.author = "Ann"
    document.core_properties.created = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    document.core_properties.modified = datetime(2021, 1, 2, 3, 4, 5, tzinfo=UTC)
    return _saved(document)


def _xml(template: str) -> object:
    return parse_xml(template.format(nsdecls("w")))


def _saved(document: docx.document.Document) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def test_word_documents(tmp_path: Path) -> None:
    document = read_one(tmp_path / "a.docx", word())
    assert document.text == (
        "# The Report\n\n# Part one\n\nSome text.\n\n- first\n- second\n\n"
        "| Name | Year |\n| --- | --- |\n| Ann | 2020 |\n\nkept inserted\n\nin a control"
    )
    assert document.title == "The Report"
    assert document.created_at == datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert document.updated_at == datetime(2021, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert document.metadata["author"] == "Ann"


def test_a_word_document_without_properties_has_none(tmp_path: Path) -> None:
    """As Google Docs exports them."""
    with zipfile.ZipFile(io.BytesIO(word())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    del members["docProps/core.xml"]
    related = members["_rels/.rels"]
    start = related.rindex(b"<Relationship ", 0, related.index(b"docProps/core.xml"))
    end = related.index(b">", start) + 1
    members["_rels/.rels"] = related[:start] + related[end:]

    path = tmp_path / "a.docx"
    document = read_one(path, _zipped(**members))
    assert (document.title, document.created_at) == ("The Report", None)
    assert document.updated_at == datetime.fromtimestamp(path.stat().st_mtime, UTC)
    assert not {"author", "keywords"} & set(document.metadata)


def _zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


BOX = "<w:txbxContent><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:txbxContent>"
ANCHORED = (
    '<w:r {} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
    f"<mc:AlternateContent><mc:Choice Requires='wps'>{BOX.format('in a box')}</mc:Choice>"
    f"<mc:Fallback>{BOX.format('in a box, for old versions')}</mc:Fallback>"
    "</mc:AlternateContent></w:r>"
)


def test_text_boxes_follow_their_paragraph(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("before")._p.append(_xml(ANCHORED))
    document.add_paragraph("after\tit\nall")
    text = read_one(tmp_path / "a.docx", _saved(document)).text
    assert text == "before\n\nin a box\n\nafter\tit\nall"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (word()[:400], "not a ZIP archive"),
        (b"text", "not a ZIP archive"),
        (_zipped(a=b"not a document"), "malformed DOCX"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "encrypted"),
        (_saved(docx.Document()), "empty"),
    ],
)
def test_word_documents_that_cannot_be_read(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read(tmp_path / "a.docx", content)


@pytest.mark.parametrize("name", ["a.docx", "a.pptx"])
def test_archives_that_unpack_to_too_much_are_refused(tmp_path: Path, name: str) -> None:
    bomb = _zipped(bomb=bytes(2_000_000))
    assert len(bomb) < 10_000
    with pytest.raises(UnreadableError, match="unpacks to more than 1 MB"):
        read(tmp_path / name, bomb, ReadSettings(max_megabytes=0.1))


# --- other office formats ------------------------------------------------------------------


def test_slides_are_pages(tmp_path: Path) -> None:
    pptx = pytest.importorskip("pptx")
    pytest.importorskip("markitdown")
    slides = pptx.Presentation()
    for title in ("First slide", "Second slide"):
        slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = title
    slides.save(tmp_path / "a.pptx")
    (document,) = read_file(tmp_path / "a.pptx", SETTINGS).documents
    assert document.text == "# First slide\n\n# Second slide"
    assert [document.text[start:].split("\n")[0] for start in document.page_starts] == [
        "# First slide",
        "# Second slide",
    ]


def test_spreadsheets(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("markitdown")
    book = openpyxl.Workbook()
    book.active.append(["Name", "Year"])
    book.active.append(["Ann", 2020])
    book.save(tmp_path / "my_book.xlsx")
    (document,) = read_file(tmp_path / "my_book.xlsx", SETTINGS).documents
    assert "| Ann | 2020 |" in document.text
    assert document.title == "my book"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.xls", b"text"),
        ("a.msg", b"text"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)),
        ("a.pptx", _zipped(a=b"x")),
        ("a.xlsx", _zipped(a=b"x")),
        ("a.epub", _zipped(a=b"x")),
    ],
)
def test_office_files_that_are_none(tmp_path: Path, name: str, content: bytes) -> None:
    pytest.importorskip("markitdown")
    with pytest.raises(UnreadableError, match="malformed"):
        read(tmp_path / name, content)


def test_without_markitdown_the_reason_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "markitdown", None)
    with pytest.raises(UnreadableError, match=r"needs pip install 'clew\[office\]'"):
        read(tmp_path / "a.pptx", _zipped(a=b"x"))


def test_a_table_without_rows_is_known_by_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("name,year of birth\n")
    (document,) = read_file(file, ReadSettings()).documents
    assert document.text == "name, year of birth"
    assert document.metadata["columns"] == ["name", "year of birth"]
