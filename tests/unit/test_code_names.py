"""Names that their own joints show: code in prose, standards, versions, nicknames."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from clew.indexing.ner.cased_ner import is_compound
from clew.indexing.ner.code_names import (
    find_code_names,
    find_standards,
    find_ticked,
    technical_words,
)
from clew.testing.fakes import HashEmbedder
from tests.unit.test_extract import names, types


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write it to /opt/ferry/timetable.conf first.", ["/opt/ferry/timetable.conf"]),
        ("Mine is in ~/.ferryrc and main.rs.", ["~/.ferryrc", "main.rs"]),
        ("Call harbour.open_gate or closeGate.", ["harbour.open_gate", "closeGate"]),
        (
            "Set MAX_FERRIES, pass --dry-run, then call sail().",
            ["MAX_FERRIES", "--dry-run", "sail"],
        ),
        ("It is a module's __main__ and libtide.so.1.", ["__main__", "libtide.so.1"]),
        ("Ferries and/or boats, he/she, 1/2, 3/4/2019, e.g. this.", []),
        ("It ended.The next one, at tides.example.org, came.", []),
        ("Write to ann@tides.org or see https://tides.org/a_b.html.", []),
        ("See ../docs/tides.html and wiki/Tides#In_Harbour, of_rivers,_and_lakes#Top.", []),
        ("open_gate: 3\ncloseGate: 4", []),
        ("A ref_ to _all of it_, 24/7 and v1.2.3.", []),
    ],
)
def test_code_in_prose_is_known_by_its_joints(text: str, expected: list[str]) -> None:
    assert [span.name for span in find_code_names(text, 0, len(text))] == expected


def test_a_dotted_name_in_quotation_marks_is_code() -> None:
    text = 'Some (such as "components.Filter") stay.Others go to "example.com".'
    assert [span.name for span in find_code_names(text, 0, len(text))] == ["components.Filter"]


def test_a_framework_is_no_file() -> None:
    (found,) = find_code_names("We use Tide.js here.", 0, 20)

    assert (found.name, found.entity_type) == ("Tide.js", "product")


def test_roles_tell_what_is_between_ticks() -> None:
    text = (
        "By :user:`tidewatcher`, see :rfc:`2822`, :meth:`~ferry.Gate.open()`,"
        " :ref:`Statically made <made>`, ``.close()`` and `/etc/tides`."
    )

    assert [(s.name, s.entity_type) for s in find_ticked(text, 0, len(text))] == [
        ("tidewatcher", "person"),
        ("RFC 2822", "work"),
        ("ferry.Gate.open", "code"),
        (".close", "code"),
        ("/etc/tides", "code"),
    ]


def test_standards_are_works_by_their_number() -> None:
    text = "See RFC 9110, ISO/IEC 14882:2020, CVE-2031-00017 and PEP621, not DC 20057."

    assert [span.name for span in find_standards(text, 0, len(text))] == [
        "RFC 9110",
        "ISO/IEC 14882:2020",
        "CVE-2031-00017",
        "PEP 621",
    ]


def test_a_version_belongs_to_its_product() -> None:
    assert types("It was tested with Tidewater 3.1 again.") == {
        "Tidewater 3.1": "product",
        "Tidewater": "product",
    }
    assert "Section 3.1" not in names("It says so in Section 3.1 of it.")
    assert not any("3.5" in name for name in names("They lost to Ostmark 3.5 million."))


def test_a_compound_is_made_of_two_words() -> None:
    assert is_compound("toolchain")
    assert not is_compound("debhelper")


def test_a_word_of_paths_and_options_is_the_name_of_a_tool() -> None:
    text = (
        "First look at /etc/tidectl.conf and at the setting below it. Whoever needs that may run"
        " tidectl by hand, since tidectl-server is not there yet. The toolchain is old."
    )

    assert technical_words(text) == {"tidectl", "tidectl-server"}
    assert types(text)["tidectl"] == "product"


def test_texts_in_other_languages_have_no_such_words() -> None:
    text = "Zuerst nehmen wir /usr/paket.conf. Jedes paket wird dann geholt, oder eben nicht."

    assert technical_words(text) == frozenset()


def test_who_writes_in_a_chat_is_a_person_wherever_it_names_them() -> None:
    text = (
        "<tide_watcher> shall we start?\n<lowwater> yes\n<tide_watcher> good\n"
        "We ask whether lowwater will come. Then tide_watcher left."
    )

    assert types(text) == {"tide_watcher": "person", "lowwater": "person"}


@pytest.mark.parametrize(
    "text",
    [
        "It was done with more than 2000 tests.",
        "They will bill you USD 1999 for it.",
        "Write to Box 1885 at once.",
        "They had 1600 rules then.",
    ],
)
def test_a_number_is_no_year(text: str) -> None:
    assert "date" not in types(text).values()


def test_products_between_slashes_are_names() -> None:
    assert set(names("I use Tidewater/Ostmark/Lowwater now.")) == {
        "Tidewater",
        "Ostmark",
        "Lowwater",
    }
    assert names("It runs on GNU/Linux now.") == ["GNU/Linux"]


def test_what_is_shouted_is_no_title() -> None:
    assert names('He cried "WE WILL NOT GO HOME" then.') == []


def test_a_day_is_no_name() -> None:
    assert names("It came on the 11th September then.") == []


def test_instructions_about_constants_do_not_begin_names() -> None:
    assert names("Use TRACE for it.") == ["TRACE"]


@pytest.mark.parametrize("word", ["Section", "Sezione", "Kapitel", "Capítulo"])
def test_a_numbered_part_of_a_text_has_no_version(word: str) -> None:
    assert names(f"It says so in {word} 7.8 of it.") == []


def test_plain_words_of_code_are_not_its_names_in_prose(tmp_path: Path) -> None:
    """What "HTML" and "State" mean in a text is not the class of some program."""
    (tmp_path / "web.py").write_text(
        "class Html:\n    class State:\n        pass\n\n\nclass Client:\n    pass\n\n\n"
        "def parse_page():\n    pass\n"
    )
    (tmp_path / "a.md").write_text(
        "# Notes\n\nWe print HTML in the State of Ohio. A Client calls `parse_page` of HTML.\n"
    )
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as store:
        store.index([tmp_path / "web.py", tmp_path / "a.md"])
        of_notes = store.search("HTML State Ohio Client parse_page", where=["type=md"]).hits[0]
    named = {name.partition("web.")[2] or name for name in of_notes.entities}
    assert {"Client", "parse_page", "HTML"} <= named
    assert not named & {"Html", "Html.State"}
