"""Words of a PDF whose font has no space, so that only the gaps between them part them."""

from __future__ import annotations

from pathlib import Path

from pypdf import PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NumberObject, StreamObject

from clew.indexing.reading.reader import read_file
from clew.settings import Settings


def write_pdf(path: Path, words: list[str], *, has_space: bool) -> None:
    """A page with the words, a gap of a quarter of an em between them and wide glyphs.

    Glyphs are numbered as they come, so that number 32 falls to some letter, as in what XeTeX
    writes; with a space it is the space, which the words still are not parted by.
    """
    letters = sorted({letter for word in words for letter in word})
    number = {letter: i for i, letter in enumerate(letters, 33 - (not has_space))}
    pairs = [*number.items(), *([(" ", 32)] if has_space else [])]
    lines = "\n".join(f"<{glyph:04X}> <{ord(letter):04X}>" for letter, glyph in pairs)
    writer = PdfWriter()
    page = writer.add_blank_page(600, 200)
    unicode_map = StreamObject()
    unicode_map.set_data(f"{len(pairs)} beginbfchar\n{lines}\nendbfchar".encode())
    widths = [NumberObject(700 if glyph > 32 or not has_space else 250) for _, glyph in pairs]
    first = NumberObject(32 if not has_space else 33)
    given = widths if not has_space else widths[:-1]
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/CIDFontType0"),
            NameObject("/DW"): NumberObject(500),
            NameObject("/W"): ArrayObject([first, ArrayObject(given)]),
        }
    )
    whole = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type0"),
            NameObject("/BaseFont"): NameObject("/ABCDEF+Serif"),
            NameObject("/Encoding"): NameObject("/Identity-H"),
            NameObject("/DescendantFonts"): ArrayObject([writer._add_object(font)]),
            NameObject("/ToUnicode"): writer._add_object(unicode_map),
        }
    )
    shown = " -250 ".join(
        "<" + "".join(f"{number[letter]:04X}" for letter in word) + ">" for word in words
    )
    content = StreamObject()
    content.set_data(f"BT /F1 10 Tf 20 100 Td [{shown}] TJ ET".encode())
    page[NameObject("/Contents")] = writer._add_object(content)
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): writer._add_object(whole)})}
    )
    writer.write(path)


def text_of(path: Path) -> str:
    return next(iter(read_file(path, Settings().read).documents)).text


def test_words_are_parted_where_the_font_has_no_space(tmp_path: Path) -> None:
    words = "the harbour master of Penmarsh keeps the list of moorings".split()
    write_pdf(tmp_path / "a.pdf", words, has_space=False)

    assert text_of(tmp_path / "a.pdf") == " ".join(words)


def test_a_space_that_is_one_keeps_its_width(tmp_path: Path) -> None:
    words = "every berth of the pier".split()
    write_pdf(tmp_path / "a.pdf", words, has_space=True)

    assert text_of(tmp_path / "a.pdf") == " ".join(words)
