"""What documents of real kinds say of themselves: title, date, what says it, authors."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.indexing.reading.formats.html import page_title
from clew.indexing.reading.reader import (
    document_from_text,
    first_line_title,
    read_file,
    title_from_path,
)
from clew.settings import ReadSettings
from clew.times import find_date, opening_date, path_date
from clew.types import Document

SETTINGS = ReadSettings()


def read(path: Path, text: str) -> Document:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    (document,) = read_file(path, SETTINGS).documents
    return document


def dated(document: Document) -> tuple[str, str]:
    return (document.date.iso if document.date else "", document.date_source)


STANDARD = """PEP: 8
Title: Style Guide for Code
Author: Guido van Rossum <guido@example.org>,
        Barry Warsaw <barry@example.org>
Status: Active
Created: 05-Jul-2001
Post-History: 05-Jul-2001, 01-Aug-2013


Introduction
============

Text: of the standard.
"""


def test_the_header_of_a_standard_becomes_title_date_and_fields(tmp_path: Path) -> None:
    document = read(tmp_path / "pep-0008.rst", STANDARD)
    assert document.title == "Style Guide for Code"
    assert dated(document) == ("2001-07-05", "metadata")
    assert document.metadata["author"] == ["Guido van Rossum", "Barry Warsaw"]
    assert document.metadata["status"] == "Active"
    assert "text" not in document.metadata
    assert document.text == STANDARD


def test_plain_text_may_begin_with_fields(tmp_path: Path) -> None:
    document = read(tmp_path / "a.txt", "Title: On Rivers\nAuthor: Ann\nDate: May 2020\n\nText.\n")
    assert (document.title, document.metadata["author"]) == ("On Rivers", "Ann")
    assert dated(document) == ("2020-05", "metadata")


def test_a_dialogue_has_no_fields(tmp_path: Path) -> None:
    document = read(tmp_path / "talk.txt", "Ann: Hello, Bob.\nBob: Hello, Ann.\n\nThey left.\n")
    assert (document.title, document.metadata) == ("talk", {})


def test_fields_of_a_field_list_may_be_empty_and_go_on(tmp_path: Path) -> None:
    text = "Title\n=====\n\n:Author: Ann\n:Empty:\n:Abstract: One\n   two.\n:Date: 2020\n\nText.\n"
    document = read(tmp_path / "a.rst", text)
    assert document.metadata["abstract"] == "One two."
    assert dated(document) == ("2020", "metadata")
    assert document.date_precision == "year"


def test_minutes_are_dated_by_their_heading(tmp_path: Path) -> None:
    document = read(tmp_path / "notes.md", "# March 2, 2019 Meeting Notes\n\nAttendees: Ann\n")
    assert document.title == "March 2, 2019 Meeting Notes"
    assert dated(document) == ("2019-03-02", "title")


def test_bold_fields_below_a_heading_say_the_date(tmp_path: Path) -> None:
    text = "# Weekly\n\n**Date:** 2 March 2019\n**Attendees:** Ann, Bob\n\nText.\n"
    document = read(tmp_path / "notes.md", text)
    assert dated(document) == ("2019-03-02", "metadata")
    assert document.metadata["attendees"] == "Ann, Bob"


def test_trust_goes_from_metadata_to_title_to_path(tmp_path: Path) -> None:
    path = tmp_path / "2017-01-01.md"
    heading = "# Notes of 2 March 2018\n\nText.\n"
    assert dated(read(path, f"---\ndate: 2019-05-06\n---\n{heading}")) == ("2019-05-06", "metadata")
    assert dated(read(path, f"---\ntitle: Notes\n---\n{heading}")) == ("2018-03-02", "title")
    assert dated(read(path, "# Notes\n\nText.\n")) == ("2017-01-01", "path")
    assert dated(read(tmp_path / "plain.md", "# Notes\n\nText.\n")) == ("", "")


def test_the_time_of_a_file_is_no_date_of_its_document(tmp_path: Path) -> None:
    document = read(tmp_path / "notes.md", "Text.\n")
    assert document.date is None
    assert document.updated_at is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Text.", ("", "")),
        ("Sent 25/04/2019.", ("2019-04-03", "metadata")),
        ("Sent 04/25/2019.", ("2019-03-04", "metadata")),
        ("Sent 25/04/2019 and 04/25/2019.", ("", "")),
    ],
)
def test_an_ambiguous_date_counts_where_the_document_resolves_it(
    tmp_path: Path, text: str, expected: tuple[str, str]
) -> None:
    assert dated(read(tmp_path / "a.md", f"---\ndate: 03/04/2019\n---\n{text}\n")) == expected


@pytest.mark.parametrize(
    ("path", "date"),
    [
        ("2019-03-02.md", "2019-03-02"),
        ("2019-03/march-2.md", "2019-03-02"),
        ("2019/march/notes.md", "2019-03"),
        ("2019/03/02.md", "2019-03-02"),
        ("posts/2019/03/02/hello.md", "2019-03-02"),
        ("2019-03/02-standup.md", "2019-03-02"),
        ("20190302_notes.txt", "2019-03-02"),
        ("IMG_20190302_101112.jpg", "2019-03-02"),
        ("meeting March 2 2019.docx", "2019-03-02"),
        ("minutes/2019-03.md", "2019-03"),
        ("2019/report.md", "2019"),
        ("2019-03-02/readme.md", "2019-03-02"),
        ("rfc2119.txt", ""),
        ("rfc-2026.txt", ""),
        ("1984.txt", ""),
        ("foo-2019.3.1.tar", ""),
        ("2019-02-31.md", ""),
        ("03-04-2019.md", ""),
        ("2019/a/b/c/d.md", ""),
        ("", ""),
    ],
)
def test_the_path_says_the_date(path: str, date: str) -> None:
    found = path_date(path)
    assert (found.iso if found else "") == date


@pytest.mark.parametrize(
    ("title", "date"),
    [
        ("Minutes 2-Mar-2019", "2019-03-02"),
        ("Report, March 2019", "2019-03"),
        ("Meeting 2019/03/02", "2019-03-02"),
        ("The May 2019 issue: 5 May 2019", "2019-05-05"),
        ("25/04/2019 notes", "2019-04-25"),
        ("03/04/2019 notes", ""),
        ("From 2 March 2019 to 5 March 2019", ""),
        ("2008 Summer Olympics", ""),
        ("2001: A Space Odyssey", ""),
    ],
)
def test_a_title_states_a_date(title: str, date: str) -> None:
    found = find_date(title)
    assert (found.iso if found else "") == date


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("MIT License\n\nCopyright (c) 2020 Ann\n", "MIT License"),
        ("                    Apache License\n          Version 2.0\n\nTERMS\n", "Apache License"),
        (
            "Network Working Group          S. Bradner\nRequest for Comments: 1    Harvard\n\n\n"
            "        Key words for Requirement Levels\n\nStatus\n",
            "Key words for Requirement Levels",
        ),
        ("On Rivers\n---------\n\nText.\n", "On Rivers"),
        ("A sentence that ends here.\n\nMore.\n", ""),
        ("Two lines of\nprose begin it\n\nMore.\n", ""),
        ("Only one line", ""),
        ("Dear Ann,\n\nText.\n", ""),
        ("- item\n\nText.\n", ""),
        ("", ""),
    ],
)
def test_a_first_line_may_be_the_title(text: str, title: str) -> None:
    assert first_line_title(text) == title


@pytest.mark.parametrize(
    ("title", "headings", "expected"),
    [
        ("Installing — Clew 1.0 documentation", ["Installing"], "Installing"),
        ("Clew handbook", ["Installing"], "Installing"),
        ("Installing | Clew", ["Clew"], "Installing"),
        ("Installing Clew on Linux", ["Installing"], "Installing Clew on Linux"),
        ("Clew handbook", ["One", "Two"], "Clew handbook"),
        ("", ["Installing"], "Installing"),
        ("Only", [], "Only"),
        ("", [], ""),
    ],
)
def test_a_page_is_not_called_by_its_sites_name(
    title: str, headings: list[str], expected: str
) -> None:
    assert page_title(title, headings) == expected


def test_files_of_one_name_are_told_apart_by_their_folders() -> None:
    assert title_from_path("/src/openssl/LICENSE") == "LICENSE (openssl)"
    assert title_from_path("/src/openssl/my_notes.txt") == "my notes"
    assert title_from_path("README") == "README"


def test_a_text_in_hand_is_dated_by_its_title_and_its_name() -> None:
    assert dated(document_from_text("Text.", title="Notes of 2 March 2019")) == (
        "2019-03-02",
        "title",
    )
    assert dated(document_from_text("Text.", source="journal/2019-03-02")) == ("2019-03-02", "path")
    assert dated(document_from_text("Text.")) == ("", "")


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("Charter\n\n   Version 2.1 ratified on May 3rd, 2011.\n\nNotes.\n", "2011-05-03"),
        ("Proceedings\n\n        4-6 March 1997\n\nOslo\n", "1997-03"),
        ("Report\n\n(March 2003)\n\nText.\n", "2003-03"),
        ("Guide\n\n*Last updated: 2021-07-08*\n\nText.\n", "2021-07-08"),
        ("Guide\nRevised 02/03/2004\n\nText.\n", "2004"),  # nobody knows which is the month
        ("Guide\nRevised 23/03/2004\n\nText.\n", "2004-03-23"),
        ("Guide\n\nPublished: 5 May 2010 | Updated: 6 June 2012\n\nText.\n", "2010-05-05"),
        ("Guide\n\nUpdated: 6 June 2012 | Published: 5 May 2010\n\nText.\n", "2010-05-05"),
        ("Minutes\n\nMeeting started by ann at 2020-02-03 19:00:00 UTC.\n\nText.\n", "2020-02-03"),
        ("Notes\n\nTuesday, 4 May 2021\n\nText.\n", "2021-05-04"),
        ("# Notes\nPublished 4 May 2021. " + "The rest of the line. " * 5, "2021-05-04"),
        ("Notiz\n\n4. März 2021\n\nText.\n", "2021-03-04"),
        ("# Protokoll\n\nDatum: 20. November 2023\n\nText.\n", "2023-11-20"),
        ("# Bericht\nStand: Juli 2020\n\nText.\n", "2020-07"),
        ("# Le cidre\n\nRédigé le 14 juillet 2020\n\nTexte.\n", "2020-07-14"),
        ("# Carta\n\nFecha: 3 de marzo de 2018\n\nTexto.\n", "2018-03-03"),
        ("Minutes of the meeting held on 14 March 2024\n\nOn 3 May 2020 we began.\n", "2024-03-14"),
        ("MINUTES of the Vell Rowing Club, 14 March 2024\nPresent: Ann\n", "2024-03-14"),
        ("Protokoll der Sitzung vom 14. März 2024\n\nAnwesend: Uwe\n", "2024-03-14"),
        ("Minutes of 14 March 2024, read on 2 April 2024\n\nPresent: Ann\n", ""),
        ("The minutes of 14 March 2024 were lost in the fire, as far as we know.\n", ""),
        # what a text is about, what came before or after it, quantities, entries of a list
        ("Guide\n\nVersion 2.0 of Python was released on October 16, 2000. This is new.\n", ""),
        ("Guide\n\nSuperseded by Version 1.1 ratified on June 21st, 2003.\n", ""),
        ("Guide\n\nA long sentence about the language, in which a new version was\nreleased on 3"
         " May 2001 and\nReleased on 4 May 2002, that is later\n", ""),
        ("Guide\n\nData 2020 are shown in the table.\n", ""),
        ("History\n\n3 May 2001\n\nBegun.\n\n4 May 2001\n\nDone.\n", ""),
        ("Guide\n\n2000\n\nText.\n", ""),
        ("Copyright 2001 by Ann.\n\nIn May 2020 we met.\n", ""),
        ("Guide\n\n" + "A line of text.\n\n" * 20 + "May 2020\n", ""),
    ],
)  # fmt: skip
def test_the_first_lines_may_state_the_date_of_the_text(text: str, date: str) -> None:
    found = opening_date(text)
    assert (found.iso if found else "") == date


def test_the_first_lines_are_the_last_to_be_believed(tmp_path: Path) -> None:
    text = "Charter\n\nRatified on 3 May 2011.\n\nText.\n"
    assert dated(read(tmp_path / "charter.txt", text)) == ("2011-05-03", "text")
    assert dated(read(tmp_path / "2012-01-02.txt", text)) == ("2012-01-02", "path")
    assert dated(read(tmp_path / "charter.py", text)) == ("", "")
    assert dated(document_from_text(text)) == ("2011-05-03", "text")
