"""Where names end, and what capitals of the layout are no names."""

from __future__ import annotations

import pytest

from clew.indexing.ner.entity_types import is_person_shaped
from clew.text import sentences
from tests.unit.test_extract import names, types


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "We met Maria Keller of Acme Corp. John Smith left.",
            {"Maria Keller of Acme Corp.", "John Smith"},
        ),
        ("Joseph Szabo\nJoseph Szabo was born in Ohio in the United States.", {"Joseph Szabo"}),
        ("It shows Joseph Szabo Joseph Szabo at home.", {"Joseph Szabo"}),
        ("Action Items\nRita Moreno calls the bank.", {"Rita Moreno"}),
        (
            "The letter was sent on the same evening by Ludwig van\nBeethoven to his brother.",
            {"Ludwig van Beethoven"},
        ),
    ],
)
def test_no_name_runs_over_the_end_of_a_line_or_a_company(text: str, expected: set[str]) -> None:
    found = set(names(text))

    assert {n for n in expected if " of " not in n} <= found
    assert not any("\n" in n or "Corp. John" in n or "Szabo Joseph" in n for n in found)
    assert "Items Rita" not in " ".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "## Key Findings\n\nAll of it went well.",
        "Key Findings\n============\n\nAll of it went well.",
        "Next Steps\n\nAll of it went well.",
        "- Investigate why it fails.\n- Compile and test it.\n- Reintegrate.",
        "1. Investigate why it fails.\n2. Compile it.",
        "Conflicts: none\nDepends: nothing",
        "See Appendix A, Figure 3 and Section 7.1 for more.",
        "It is read from https://wiki.example.org/AutomaticDebugPackages first.",
        "It was signed on Fri 02 Dec, at 10:03 AM PST.",
        "Try this:\n\n```cypher\nMATCH all RETURN\n```\n\nand that.",
        "He spoke to me on November 19 and on Thursday, November 20th.",
        "Published 4 June by them. Updated 5 May. Signed July 7, here.",
    ],
)
def test_layout_makes_no_names(text: str) -> None:
    assert names(text) == []


def test_the_words_of_paths_and_constants_are_no_names_of_their_own() -> None:
    assert names("It is read from /usr/Shared/Docs.") == ["/usr/Shared/Docs"]
    assert names("Set ORIG_HEAD first.") == ["ORIG_HEAD"]


def test_a_word_of_a_heading_is_a_name_where_the_text_shows_it() -> None:
    assert "Kafka" in names("# Installing Kafka\n\nIt runs well with Kafka.")
    assert "Data Classes" in names("# Data Classes\n\nThey wrote about Data Classes in it.")


def test_the_first_part_of_an_adjective_is_the_name() -> None:
    assert names("No English-speaking editor came.") == ["English"]


def test_instructions_do_not_begin_names() -> None:
    assert names("Install Debian on it.") == ["Debian"]
    assert names("Using Kubernetes is easy.") == ["Kubernetes"]


@pytest.mark.parametrize(
    ("text", "name", "entity_type"),
    [
        ("It came from Wietse Venema <wietse@example.org> today.", "Wietse Venema", "person"),
        ("It was maintained by Benoit Guillonnet then.", "Benoit Guillonnet", "person"),
        ("We heard that Jarkko Moilanen said no.", "Jarkko Moilanen", "person"),
        ("It is based in ES6 modules.", "ES6", "name"),
        ("The code is located in Git repositories.", "Git", "name"),
        ("They fought at the Battle of Hastings then.", "Battle of Hastings", "event"),
        ("She went to the Brussels Film Festival.", "Brussels Film Festival", "event"),
        ("Use the **Frobnicator** for it.", "Frobnicator", "name"),
    ],
)
def test_types_follow_what_is_said_of_a_name(text: str, name: str, entity_type: str) -> None:
    assert types(text)[name] == entity_type


@pytest.mark.parametrize(
    "label", ["License", "PEP", "Signed-off-by", "Change-ID", "OpenBSD-Commit-ID", "Makefile.am"]
)
def test_a_field_does_not_speak(label: str) -> None:
    found = types(f"{label}: 8 it is.", f"{label}: the same again.")

    assert found.get(label) != "person"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("ST NetHack", False),
        ("Mike PostScript", False),
        ("Paul McCartney", True),
        ("Danny DeVito", True),
        ("Anna MacDonald-Li", True),
    ],
)
def test_a_surname_is_not_spelt_as_products_are(name: str, is_one: bool) -> None:
    assert is_person_shaped(name) is is_one


@pytest.mark.parametrize(
    "text", ["- **Get Help**: ask here.", 'case "$ADT_REBOOT_MARK" in', "*All* of it."]
)
def test_what_is_stressed_or_code_is_no_title(text: str) -> None:
    assert "work" not in types(text).values()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dear Lucja, here it is.", ["Lucja"]),
        ("Sehr geehrte Frau Müller, hier ist es.", ["Müller"]),
        ("She is CEO of Quux Labs.", ["Quux Labs"]),
        ("25 Did the Zorblax revolution fail?", ["Zorblax"]),
        ("1. Call the Zorblax first.", ["Zorblax"]),
        ("`Come on!' said Zorblax.", ["Zorblax"]),
        ("I do NOT like it, do not ask. We THINK I may.", []),
        ("They met at ZorbCon June 2019 there.", ["ZorbCon", "June 2019", "2019"]),
        ("The Zorblax Research Network's (ZRN) rules.", ["Zorblax Research Network", "ZRN"]),
        ("See the styles of minimal.css_ first.", ["minimal.css"]),
        ("The subject has Quux#nnn added.", ["Quux"]),
        ("For more see `Zorblax Purpose and Guidelines`_.", ["Zorblax Purpose and Guidelines"]),
        ("- It was reported some time ago by the friends and users of Ann\n  Lee.", ["Ann Lee"]),
        ("maintainers of Zorblax's Qtk, and more.", ["Zorblax", "Qtk"]),
        ("It was Moore's Law again.", ["Moore's Law", "Moore"]),
        ("B. Use Zorblax.", ["Zorblax"]),
        ("- Added CRC64 to it.", ["CRC64"]),
        ("It runs in Python 3.1.", ["Python 3.1", "Python"]),
        ("I am using Knoppix/LMDE today.", ["Knoppix", "LMDE"]),
        ("It goes by TCP/IP there.", ["TCP/IP"]),
        ("All under the Apache-2.0 license.", ["Apache-2.0"]),
        ("It was Ann Lee of the Zorblax Society.", ["Ann Lee", "Zorblax Society"]),
        ("It was the Zorblax Storm of January 2000.", ["Zorblax Storm", "January 2000", "2000"]),
    ],
)
def test_what_stands_beside_a_name_is_no_part_of_it(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_lines_of_an_address_are_no_single_name() -> None:
    text = "Ann Lee\n    Quux Systems Engineering\n    National Library of Zorblax\n    600 Pike"
    assert not any("Engineering National" in name for name in names(text))


def test_a_shouted_word_is_an_acronym_only_where_the_text_has_no_such_word() -> None:
    assert names("They fight AIDS there.") == ["AIDS"]
    assert names("This aids nobody. It AIDS them.") == []


def test_a_name_may_be_cut_off_behind_of() -> None:
    found = names("The 1998 Eastern Tornado Outbreak of June 2, 1998, was a significant one.")

    assert any("Eastern Tornado Outbreak" in name for name in found)


def test_first_names_with_a_hyphen_and_titles_of_councillors_tell_persons() -> None:
    found = types(
        "We met Jean-Pierre Garonne. Cllr. Hans-Jürgen Oduya chaired. Then Hans-Jürgen left,"
        " Councillor Oduya's motion was carried, and Cllr. Bligh was against it."
    )

    assert found["Jean-Pierre Garonne"] == "person"
    assert found["Hans-Jürgen Oduya"] == "person"
    assert found["Hans-Jürgen"] == "person", "who it stands for is known in the document"
    assert "Bligh" in found
    assert not {"Cllr", "Councillor", "Councillor Oduya", "Cllr. Bligh"} & found.keys()


def test_a_title_with_a_full_stop_ends_no_sentence() -> None:
    text = "The motion was carried, Cllr. Bligh voting against it."

    assert [text[start:end] for start, end in sentences(text)] == [text]


@pytest.mark.parametrize("name", ["Marine Management Organisation", "Tidal Civilisation"])
def test_british_spelling_is_no_run_of_words(name: str) -> None:
    assert name in names(f"In that year a letter to the {name} said so.")
