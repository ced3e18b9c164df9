"""Who does what, by the lines of letters, minutes and notes; and which files lie where."""

from __future__ import annotations

import pytest

from clew.indexing.structure.readers import structure_of
from clew.types import Document
from tests.unit.test_extract import names
from tests.unit.test_structure_prose import stated

MINUTES = """Garden Circle

Present: Cllr. Tomas Berg (Chair), Dr. Ada Moss, Jean-Pierre Kalt
Apologies: Ruth Bligh, Samir Patel

TOP 1   Compost
RESOLVED: that the bins stay. It was agreed that Ada Moss will write to the Parks Department.
ACTION: Jean-Pierre Kalt to obtain three quotes.

AOB
None.

Item            Budget     Owner
Fencing         120,000    T. Berg
Watering         40,000    A. Moss
"""


def test_minutes_tell_who_was_there_who_was_not_and_who_acts() -> None:
    found = stated(MINUTES, media_type="text/plain", title="Circle")

    assert {h for h, r, _ in found if r == "attended"} == {
        "Tomas Berg",
        "Ada Moss",
        "Jean-Pierre Kalt",
    }
    assert {h for h, r, _ in found if r == "absent_from"} == {"Ruth Bligh", "Samir Patel"}
    assert {h for h, r, _ in found if r == "has_action_in"} == {"Ada Moss", "Jean-Pierre Kalt"}


def test_labels_and_columns_of_minutes_are_no_names() -> None:
    found = set(names(MINUTES, title="Circle"))

    assert {"Ruth Bligh", "Parks Department"} <= found
    assert not {"TOP 1", "TOP", "RESOLVED", "ACTION", "AOB", "Apologies"} & found
    assert not any("Watering" in name or "Fencing" in name for name in found)


def test_a_name_goes_on_in_the_next_line_of_prose_but_not_of_a_table() -> None:
    prose = "On the evening of that day the letter came from Sir Walter\nRaleigh in London."
    table = "Moorings and lights        1,200      4,500     Ada Moss\nPiers   3   4   Tom Reed"

    assert any("Walter Raleigh" in name for name in names(prose))
    assert not any("Moss Piers" in name for name in names(table))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "We accept.\n\nYours sincerely,\n\nPaul Okoro\nManaging Director\nNorth Ferries Ltd\n",
            {
                ("Paul Okoro", "is_a", "managing director"),
                ("Paul Okoro", "affiliated_with", "North Ferries Ltd"),
            },
        ),
        (
            "Participants\n\nMary Holt, Librarian\nDepartment of Maps\nUniversity of Arlen\n"
            "12 Quay Street\n\nAll were there.",
            {("Mary Holt", "affiliated_with", "University of Arlen")},
        ),
        (
            "Mary Holt came.\nShe saw the University of Arlen.\nThen Mary went.\n\n"
            "Paul Simple\nPlanted a tree\nOver there\n",
            set(),
        ),
    ],
)
def test_blocks_of_lines_tell_where_somebody_works(
    text: str, expected: set[tuple[str, str, str]]
) -> None:
    found = stated(text, media_type="text/plain", title="Letter")

    persons = {one for one in found if one[1] in ("affiliated_with", "is_a")}
    assert expected <= persons
    assert bool(persons) == bool(expected)


def test_labelled_lines_are_about_the_subject_of_a_note() -> None:
    text = (
        "# Ines Varga\n\n- **Role**: Head of Engineering\n- **Reports to**: Paul Okoro\n"
        "- **Location**: Bristol\n- **Status**: on leave until Monday\n\n"
        "## Berths\n\n- **Location**: Penmarsh\n"
    )
    found = stated(text, title="Ines Varga")

    assert ("Ines Varga", "reports_to", "Paul Okoro") in found
    assert ("Ines Varga", "located_in", "Bristol") in found
    assert not [one for one in found if one[2] == "Penmarsh"], "a section is about something else"
    assert not [one for one in found if one[1] == "defined_in"], "labels of fields define nothing"


def test_files_lie_in_the_folders_that_the_text_names() -> None:
    text = (
        "Settings are in `/etc/brass/`, mainly /etc/brass/horn.conf and /etc/brass/d/tuba.conf."
        " Logs go to /var/log/brass. See /etc/brass/keys-*, [4m/etc/brass/x.html[0m,"
        " /etc/brass/oil-$n and /etc/brass/reed.d: it is new. Use input/output and https://brass.test/etc/brass/x.html."
    )
    found = {one for one in stated(text, title="Brass") if one[1] == "located_in"}

    assert found == {
        ("/etc/brass/horn.conf", "located_in", "/etc/brass/"),
        ("/etc/brass/d/tuba.conf", "located_in", "/etc/brass/"),
        ("/etc/brass/reed.d", "located_in", "/etc/brass/"),
    }


def test_lists_define_tools_without_marks() -> None:
    text = (
        "- brasstune - tunes horns\n- brass-gbp: a suite for packages\n- warning - it is loud\n"
        "- brasstool: fix the mouthpiece\n"
    )
    defined = {head for head, relation, _ in stated(text) if relation == "defined_in"}

    assert defined == {"brasstune", "brass-gbp"}


def test_nobody_is_credited_over_the_end_of_a_sentence() -> None:
    found = stated("Faults are reported by OpenSSL. In that case, stop. Fixed by J. R. Moss.")

    assert {head for head, relation, _ in found if relation == "credited_in"} == {"J. R. Moss"}


def test_references_in_cells_lose_their_marks() -> None:
    table = "| Tool | Uses |\n| --- | --- |\n| Brass | [Horn][1] |\n"

    assert ("Brass", "has_uses", "Horn") in stated(table)


def test_thanks_for_something_go_to_somebody() -> None:
    found = stated("Particular thanks for this release go to Mary Holt and Tom Reed for help.")

    assert {head for head, relation, _ in found if relation == "credited_in"} == {
        "Mary Holt",
        "Tom Reed",
    }


def test_where_somebody_works_is_told_by_the_lines_themselves() -> None:
    block = "     Mary Holt, Librarian\n     University of Arlen\n     12 Quay Street"
    text = f"Fax: 12 34\n\n{block}\n\nEnd."
    document = Document(source="list", title="List", text=text, media_type="text/plain")
    said = [s for s in structure_of(document).statements if s.relation_type == "affiliated_with"]

    assert [text[s.start : s.end].startswith("Mary Holt") for s in said] == [True]
