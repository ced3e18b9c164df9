"""Who does what, by the lines of letters, minutes and notes; and which files lie where."""

from __future__ import annotations

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


def test_lists_define_tools_without_marks() -> None:
    text = (
        "- brasstune - tunes horns\n- brass-gbp: a suite for packages\n- warning - it is loud\n"
        "- brasstool: fix the mouthpiece\n"
    )
    defined = {head for head, relation, _ in stated(text) if relation == "defined_in"}

    assert defined == {"brasstune", "brass-gbp"}


def test_references_in_cells_lose_their_marks() -> None:
    table = "| Tool | Uses |\n| --- | --- |\n| Brass | [Horn][1] |\n"

    assert ("Brass", "has_uses", "Horn") in stated(table)
