"""Calendars, contacts and tasks as files: what is read, and what bad files cost."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from clew.errors import LimitError, UnreadableError
from clew.indexing.reading.formats.calendar import markdown_tasks, read_calendar, read_todo_txt
from clew.indexing.reading.formats.common import RawFile, ReadResult
from clew.indexing.reading.formats.contacts import read_contacts
from clew.plugins.personal.structure import personal_structure
from clew.settings import LimitSettings, ReadSettings
from clew.times.recurrence import series_of

CARD_3 = """BEGIN:VCARD
VERSION:3.0
N:Lopez;Maria;;Dr.;
item1.EMAIL;TYPE=HOME:Maria@Home.example
EMAIL;TYPE=WORK:maria@acme.example
ORG:Acme\\, Inc.;Sales
BDAY:1984-11-02
NICKNAME:Mari,Em
NOTE:calls before noon\\; never on
  Fridays
END:VCARD
"""
CARD_4 = """BEGIN:VCARD
VERSION:4.0
FN:Deniz Kaya
EMAIL:mailto:deniz@acme.example
TEL;VALUE=uri:tel:+49-421-5550102
BDAY:--0203
END:VCARD
"""


def raw(text: str | bytes, name: str, **limits: int) -> RawFile:
    data = text if isinstance(text, bytes) else text.replace("\n", "\r\n").encode()
    settings = LimitSettings.model_validate(limits)
    return RawFile(source=name, data=data, settings=ReadSettings(), limits=settings)


def calendar(*lines: str) -> ReadResult:
    found = read_calendar(raw("\n".join(["BEGIN:VCALENDAR", *lines, "END:VCALENDAR", ""]), "a.ics"))
    assert found is not None
    return found


def test_contacts_of_both_versions_keep_their_fields() -> None:
    maria, deniz = read_contacts(raw(CARD_3 + CARD_4, "a.vcf")).documents

    assert maria.title == "Dr. Maria Lopez"
    assert maria.metadata["emails"] == ["maria@home.example", "maria@acme.example"]
    assert maria.metadata["organisation"] == "Acme, Inc."
    assert maria.metadata["nicknames"] == ["Mari", "Em"]
    assert maria.text.endswith("calls before noon; never on Fridays")
    assert deniz.metadata["phones"] == ["+49-421-5550102"]
    assert deniz.metadata["birthday"] == "--02-03"
    assert deniz.metadata["known_as"] == "Deniz"


def test_cards_of_version_2_1_are_read() -> None:
    text = (
        "BEGIN:VCARD\nVERSION:2.1\n"
        "N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg;;;\n"
        "FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=B6rg =\nM=C3=BCller\n"
        "EMAIL;INTERNET;PREF:joerg@x.example\nTEL;HOME;VOICE:+49 1 2\n"
        "NOTE;QUOTED-PRINTABLE:one=0D=0Atwo\nORG;CHARSET=none;QUOTED-PRINTABLE:Acme;Sales\n"
        "END:VCARD\n"
    )

    found = read_contacts(raw(text, "old.vcf"))

    (card,) = found.documents
    assert (card.title, found.skipped) == ("Jörg Müller", ())
    assert card.metadata["emails"] == ["joerg@x.example"]
    assert card.metadata["phones"] == ["+49 1 2"]
    assert card.metadata["organisation"] == "Acme"
    assert card.text.endswith("\n\none\ntwo")


def test_a_given_name_that_two_contacts_have_stands_for_neither() -> None:
    other = CARD_4.replace("Kaya", "Aydin").replace("deniz@", "aydin@")

    found = read_contacts(raw(CARD_4 + other, "a.vcf")).documents

    assert len(found) == 2
    assert all("known_as" not in one.metadata for one in found)


def test_a_contact_states_where_somebody_works_and_who_is_meant() -> None:
    (maria,) = read_contacts(raw(CARD_3, "a.vcf")).documents

    structure = personal_structure(maria)

    (works,) = structure.statements
    assert (works.head, works.relation_type, works.tail) == (
        "Dr. Maria Lopez",
        "works_at",
        "Acme, Inc.",
    )
    assert maria.text[works.start : works.end] == "Acme, Inc."
    assert {one.alias for one in structure.aliases} >= {"Mari", "maria@acme.example"}


@pytest.mark.parametrize(
    ("block", "line", "reason"),
    [
        ("BEGIN:VEVENT\nSUMMARY:A\nEND:VEVENT", 2, "says no start"),
        (
            "BEGIN:VEVENT\nDTSTART:20241399\nSUMMARY;LANGUAGE=en:Tea: hot\nEND:VEVENT",
            2,
            "VEVENT 'Tea: hot' is left out: line 3, 'DTSTART:20241399' (DTSTART cannot be read",
        ),
        ("BEGIN:VEVENT\nSUMMARY:A\nDTSTART:20240101T090000Z", 2, "has no END"),
    ],
)
def test_a_bad_event_is_named_by_its_line_and_the_others_kept(
    block: str, line: int, reason: str
) -> None:
    good = "BEGIN:VEVENT\nSUMMARY:Good\nDTSTART:20240101T090000Z\nEND:VEVENT"

    found = calendar(*block.split("\n"), *good.split("\n"))

    assert [one.title for one in found.documents] == ["Good"]
    (skipped,) = found.skipped
    assert skipped.reason.startswith(f"line {line}: VEVENT")
    assert reason in skipped.reason


def test_bytes_that_are_no_text_cost_their_contact_alone() -> None:
    damaged = CARD_4.replace("Deniz Kaya", "Zo\xeb").encode("latin-1")
    others = "".join(CARD_3.replace("Maria", f"Änne-Zoë {n}") for n in range(9))

    found = read_contacts(raw(others.encode() + damaged, "a.vcf"))

    assert len(found.documents) == 9
    (skipped,) = found.skipped
    line = 9 * CARD_3.count("\n") + 1
    named = f"line {line}: VCARD 'Zo\ufffd' is left out: has bytes that are no text"
    assert skipped.reason.startswith(named)


def test_a_file_of_another_kind_is_no_calendar() -> None:
    with pytest.raises(UnreadableError, match="line 1: no iCalendar"):
        read_calendar(raw("Dear diary", "a.ics"))


def test_too_many_events_are_refused() -> None:
    event = "BEGIN:VEVENT\nUID:{0}\nSUMMARY:A\nDTSTART:20240101T090000Z\nEND:VEVENT\n"
    text = "BEGIN:VCALENDAR\n" + "".join(event.format(n) for n in range(30)) + "END:VCALENDAR\n"
    with pytest.raises(LimitError, match="limit 20"):
        read_calendar(raw(text, "a.ics", elements=20))


def test_who_declines_does_not_come_and_a_later_version_counts() -> None:
    (event,) = calendar(
        "BEGIN:VEVENT", "UID:1", "SUMMARY:Talk", "DTSTART:20240101T090000Z", "END:VEVENT",
        "BEGIN:VEVENT", "UID:1", "SUMMARY:Long talk", "DTSTART:20240101T090000Z",
        "ATTENDEE;CN=Ada Morn;PARTSTAT=DECLINED:mailto:ada@x.example",
        "ATTENDEE;CN=Bo Lind:MAILTO:bo@x.example", "END:VEVENT",
    ).documents  # fmt: skip

    assert event.title == "Long talk"
    assert event.metadata["attendees"] == ["Bo Lind", "bo@x.example"]
    relations = [(one.head, one.relation_type) for one in personal_structure(event).statements]
    assert relations == [("Bo Lind", "attended")]


def test_a_zone_that_the_file_defines_itself_is_known_by_its_rules() -> None:
    (event,) = calendar(
        "BEGIN:VTIMEZONE", "TZID:Our office", "BEGIN:STANDARD", "DTSTART:19701025T030000",
        "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10", "TZOFFSETFROM:+0200", "TZOFFSETTO:+0100",
        "END:STANDARD", "BEGIN:DAYLIGHT", "DTSTART:19700329T020000",
        "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0200",
        "END:DAYLIGHT", "END:VTIMEZONE",
        "BEGIN:VEVENT", "SUMMARY:A", "DTSTART;TZID=Our office:20240701T090000", "END:VEVENT",
    ).documents  # fmt: skip

    assert event.metadata["start"] == "2024-07-01T07:00:00+00:00"


def zone_of(name: str, winter: str, summer: str) -> list[str]:
    """A zone as Outlook writes one."""
    return [
        "BEGIN:VTIMEZONE", f"TZID:{name}", "BEGIN:STANDARD", "DTSTART:16010101T030000",
        "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10", f"TZOFFSETFROM:{summer}",
        f"TZOFFSETTO:{winter}", "END:STANDARD", "BEGIN:DAYLIGHT", "DTSTART:16010101T020000",
        "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3", f"TZOFFSETFROM:{winter}",
        f"TZOFFSETTO:{summer}", "END:DAYLIGHT", "END:VTIMEZONE",
    ]  # fmt: skip


def test_zones_of_one_name_in_two_files_are_two() -> None:
    event = ["BEGIN:VEVENT", "SUMMARY:A", "DTSTART;TZID=Custom:20240701T090000", "END:VEVENT"]

    (here,) = calendar(*zone_of("Custom", "+0100", "+0200"), *event).documents
    (there,) = calendar(*zone_of("Custom", "-0500", "-0400"), *event).documents

    assert here.metadata["start"] == "2024-07-01T07:00:00+00:00"
    assert there.metadata["start"] == "2024-07-01T13:00:00+00:00"


def test_a_series_in_a_zone_of_the_file_keeps_its_time_of_day() -> None:
    (event,) = calendar(
        *zone_of("Custom", "+0100", "+0200"),
        "BEGIN:VEVENT", "SUMMARY:A", "DTSTART;TZID=Custom:20240701T090000",
        "RRULE:FREQ=MONTHLY;COUNT=6", "END:VEVENT",
    ).documents  # fmt: skip

    series = series_of(event.metadata, ZoneInfo("UTC"))
    starts = [start for start, _ in series.between(
        datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
    )]  # fmt: skip
    assert [start.hour for start in starts] == [9] * 6
    assert [start.astimezone(UTC).hour for start in starts] == [7, 7, 7, 7, 8, 8]


def test_lines_of_todo_txt() -> None:
    text = (
        "(A) 2024-05-20 Order leaflets +skiff2 @maria due:2024-05-27\n"
        "x 2024-04-02 2024-03-20 Renew the passport +travel\n"
        "Renew the passport\n\nxylophone lesson due:never\n"
    )

    order, renewed, again, lesson = read_todo_txt(raw(text, "todo.txt")).documents

    assert order.title == "Order leaflets"
    fields = {name: value for name, value in order.metadata.items() if name != "line"}
    assert fields == {
        "entity_type": "task",
        "status": "open",
        "due": "2024-05-27",
        "priority": "A",
        "project": "skiff2",
        "contexts": ["maria"],
    }
    assert (renewed.metadata["status"], again.metadata["status"]) == ("done", "open")
    assert renewed.source != again.source
    assert "due" not in lesson.metadata


def test_items_of_a_task_list() -> None:
    found = list(markdown_tasks("# A\n- [ ] Call Bo @bo\n1. [x] Done 📅 2024-05-01\n- [link] no\n"))

    assert [(one.title, one.status, one.due) for one in found] == [
        ("Call Bo", "open", ""),
        ("Done", "done", "2024-05-01"),
    ]
    assert found[0].people == ("bo",)


def test_a_property_that_cannot_be_read_is_named_and_costs_nothing_else() -> None:
    found = calendar(
        *("BEGIN:VTODO", "UID:1", "SUMMARY:Paint the boat", "PRIORITY:high", "DUE:20240501"),
        *("END:VTODO", "BEGIN:VEVENT", "UID:2", "SUMMARY:Launch", "DESCRIPTION:On the", "  pier."),
        *("GEO:here", "DTSTART:20240502T100000Z", "END:VEVENT"),
        *("BEGIN:VEVENT", "UID:3", "DTSTART:tomorrow", "END:VEVENT"),
    )

    task, event = found.documents
    assert (task.title, task.metadata["due"]) == ("Paint the boat", "2024-05-01")
    assert event.metadata["start"] == "2024-05-02T10:00:00+00:00"
    assert "On the pier." in event.text
    reasons = [one.reason for one in found.skipped]
    assert reasons[0].startswith("line 5: 'PRIORITY:high' is left out")
    assert reasons[1].startswith("line 13: 'GEO:here' is left out")
    assert reasons[2].startswith("line 16: VEVENT is left out: line 18, 'DTSTART:tomorrow'")
