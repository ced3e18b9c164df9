"""A small document costs no more than what it says, however often it says it."""

from __future__ import annotations

import io
import zipfile

from clew.indexing.reading.formats.common import RawFile
from clew.plugins.office.reading import read_office
from clew.settings import ReadSettings

CONTAINER = '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>'


def book(order: list[str], chapters: dict[str, str]) -> bytes:
    items = "".join(f'<item id="{name}" href="{name}.xhtml"/>' for name in chapters)
    refs = "".join(f'<itemref idref="{name}"/>' for name in order)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("META-INF/container.xml", CONTAINER)
        file.writestr(
            "a.opf",
            '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Rivers'
            f"</dc:title></metadata><manifest>{items}</manifest><spine>{refs}</spine></package>",
        )
        for name, text in chapters.items():
            file.writestr(f"{name}.xhtml", f"<html><body><p>{text}</p></body></html>")
    return held.getvalue()


def test_a_book_that_names_a_chapter_again_and_again_has_it_once() -> None:
    chapters = {"a": "The river rises.", "b": "The river falls."}
    data = book([*["a"] * 300, "b", "a"], chapters)
    for _ in range(2):  # what one book named is not left out of the next
        raw = RawFile(source="a.epub", data=data, settings=ReadSettings())
        (document,) = read_office(raw).documents
        assert [document.text.count(text) for text in chapters.values()] == [1, 1]
        assert document.text.index(chapters["a"]) < document.text.index(chapters["b"])
