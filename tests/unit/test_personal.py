"""Calendars, contacts and tasks."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from zoneinfo import ZoneInfo

import pytest
import recurring_ical_events
from icalendar import Calendar

from clew.errors import LimitError, UnreadableError
from clew.indexing.reading.common import RawFile, ReadResult
from clew.plugins.personal.calendar import markdown_tasks, read_calendar, read_todo_txt
from clew.plugins.personal.contacts import read_contacts
from clew.plugins.personal.pack import personal_structure
from clew.plugins.personal.recurrence import series_of
from clew.settings import LimitSettings, ReadSettings

# --- Calendars, contacts and tasks as files: what is read, and what bad files cost.


HOME = ZoneInfo("Europe/Berlin")
SINCE, UNTIL = datetime(2024, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
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
TITLE:Printer
ROLE:Printer
item1.X-ABRELATEDNAMES;type=pref:Elif Kaya
item1.X-ABLabel:_$!<Sister>!$_
RELATED;TYPE=colleague:urn:uuid:7
END:VCARD
BEGIN:VCARD
VERSION:4.0
UID:7
FN:Ruth Amsel
END:VCARD
"""


def raw(text: str | bytes, name: str, **limits: int) -> RawFile:
    data = text if isinstance(text, bytes) else text.replace("\n", "\r\n").encode()
    settings = LimitSettings.model_validate(limits)
    return RawFile(
        source=name, data=data, settings=ReadSettings(time_zone=HOME.key), limits=settings
    )


def calendar(*lines: str) -> ReadResult:
    found = read_calendar(raw("\n".join(["BEGIN:VCALENDAR", *lines, "END:VCALENDAR", ""]), "a.ics"))
    assert found is not None
    return found


def test_contacts_of_both_versions_keep_their_fields() -> None:
    maria, deniz, _ = read_contacts(raw(CARD_3 + CARD_4, "a.vcf")).documents

    assert maria.title == "Dr. Maria Lopez"
    assert (
        maria.metadata.items()
        >= {
            "emails": ["maria@home.example", "maria@acme.example"],
            "organisation": "Acme, Inc.",
            "nicknames": ["Mari", "Em"],
        }.items()
    )
    assert maria.text.endswith("calls before noon; never on Fridays")
    assert (
        deniz.metadata.items()
        >= {
            "phones": ["+49-421-5550102"],
            "birthday": "--02-03",
            "known_as": "Deniz",
        }.items()
    )
    (works,) = personal_structure(maria).statements
    assert maria.text[works.start : works.end] == works.tail == "Acme, Inc."
    assert (works.head, works.relation_type) == ("Dr. Maria Lopez", "works_at")
    assert {one.alias for one in personal_structure(maria).aliases} >= {
        *("Mari", "maria@acme.example", "Maria Lopez"),
    }
    assert [(s.head, s.relation_type, s.tail) for s in personal_structure(deniz).statements] == [
        ("Deniz Kaya", "has_role", "Printer"),
        ("Elif Kaya", "sister_of", "Deniz Kaya"),
        ("Ruth Amsel", "colleague_of", "Deniz Kaya"),
    ]


def test_cards_of_version_2_1_are_read() -> None:
    text = (
        "BEGIN:VCARD\nVERSION:2.1\n"
        "N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg\n"
        "FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=B6rg =\nM=C3=BCller\n"
        "EMAIL;INTERNET;PREF:joerg@x.example\nTEL;HOME;VOICE:+49 1 2\n"
        "NOTE;QUOTED-PRINTABLE:one=0D=0Atwo\nORG;CHARSET=none;QUOTED-PRINTABLE:Acme;Sales\n"
        "END:VCARD\n"
    )
    found = read_contacts(raw(text, "old.vcf"))

    (card,) = found.documents
    assert (card.title, found.skipped) == ("Jörg Müller", ())
    assert (
        card.metadata.items()
        >= {
            "emails": ["joerg@x.example"],
            "phones": ["+49 1 2"],
            "organisation": "Acme",
        }.items()
    )
    assert card.text.endswith("\n\none\ntwo")


def test_a_given_name_that_two_contacts_have_stands_for_neither() -> None:
    other = CARD_4.replace("Kaya", "Aydin").replace("deniz@", "aydin@")
    assert [
        "known_as" in one.metadata for one in read_contacts(raw(CARD_4 + other, "a.vcf")).documents
    ] == [False, True, False]


MOVED = "BEGIN:VEVENT\nSUMMARY:Bad\nDTSTART:20240101T090000Z\n{}\nEND:VEVENT"


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
        # a series that cannot be
        *(
            (MOVED.format(bad), 2, reason)
            for bad, reason in (
                ("RRULE:FREQ=SECONDLY", "recurs secondly without an end"),
                ("RRULE:FREQ=MINUTELY;COUNT=20000", "recurs minutely without an end"),
                ("RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=3", "never happens"),
                ("RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31", "never happens"),
                ("DTEND:20240101", "starts with a time and ends with a day"),
            )
        ),
    ],
)
def test_a_bad_event_is_named_by_its_line_and_the_others_kept(
    block: str, line: int, reason: str
) -> None:
    good = "BEGIN:VEVENT\nUID:2\nSUMMARY:Good\nDTSTART:20240101T090000Z\nEND:VEVENT"
    found = calendar(*block.split("\n"), *good.split("\n"))

    assert [one.title for one in found.documents] == ["Good"]
    (skipped,) = found.skipped
    assert skipped.reason.startswith(f"line {line}: VEVENT")
    assert reason in skipped.reason


def test_bytes_that_are_no_text_cost_their_contact_alone() -> None:
    damaged = CARD_4.replace("Deniz Kaya", "Zo\xeb").encode("latin-1")
    others = "".join(CARD_3.replace("Maria", f"Änne-Zoë {n}") for n in range(9))
    found = read_contacts(raw(others.encode() + damaged, "a.vcf"))

    (skipped,) = found.skipped
    line = 9 * CARD_3.count("\n") + 1
    named = f"line {line}: VCARD 'Zo\ufffd' is left out: has bytes that are no text"
    assert len(found.documents) == 10
    assert skipped.reason.startswith(named)


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("Dear diary", UnreadableError, "line 1: no iCalendar"),
        (
            "\n".join(["BEGIN:VCALENDAR", *[MOVED.format("X-A:b")] * 30, "END:VCALENDAR"]),
            LimitError,
            "limit 20",
        ),
    ],
    ids=["another kind", "too many"],
)
def test_what_is_no_calendar_or_too_long_is_refused(
    text: str, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        read_calendar(raw(text, "a.ics", elements=20))


def test_who_declines_does_not_come_and_a_later_version_counts() -> None:
    (event,) = calendar(
        "BEGIN:VEVENT", "UID:1", "SUMMARY:Talk", "DTSTART:20240101T090000Z", "END:VEVENT",
        "BEGIN:VEVENT", "UID:1", "SUMMARY:Long talk", "DTSTART:20240101T090000Z",
        "ATTENDEE;CN=Ada Morn;PARTSTAT=DECLINED:mailto:ada@x.example",
        "ATTENDEE;CN=Bo Lind:MAILTO:bo@x.example", "END:VEVENT",
    ).documents  # fmt: skip

    assert (event.title, event.metadata["attendees"]) == ("Long talk", ["Bo Lind", "bo@x.example"])
    assert [(one.head, one.relation_type) for one in personal_structure(event).statements] == [
        ("Bo Lind", "attended")
    ]


def zone_of(name: str, winter: str, summer: str) -> list[str]:
    """A zone as Outlook writes one."""
    return [
        "BEGIN:VTIMEZONE", f"TZID:{name}", "BEGIN:STANDARD", "DTSTART:16010101T030000",
        "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10", f"TZOFFSETFROM:{summer}",
        f"TZOFFSETTO:{winter}", "END:STANDARD", "BEGIN:DAYLIGHT", "DTSTART:16010101T020000",
        "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3", f"TZOFFSETFROM:{winter}",
        f"TZOFFSETTO:{summer}", "END:DAYLIGHT", "END:VTIMEZONE",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("winter", "summer", "start", "told"),
    [
        ("+0100", "+0200", "T07:00", "09:00 CEST"),
        ("-0500", "-0400", "T13:00", "15:00 CEST"),
    ],
)
def test_zones_of_one_name_in_two_files_are_two(
    winter: str, summer: str, start: str, told: str
) -> None:
    event = ["BEGIN:VEVENT", "SUMMARY:A", "DTSTART;TZID=Custom:20240701T090000", "END:VEVENT"]
    (found,) = calendar(*zone_of("Custom", winter, summer), *event).documents
    assert (found.metadata["start"], found.text) == (
        *(f"2024-07-01{start}:00+00:00", f"A\nWhen: Monday 1 July 2024, {told}"),
    )


def test_a_series_in_a_zone_of_the_file_keeps_its_time_of_day() -> None:
    (event,) = calendar(
        *zone_of("Custom", "+0100", "+0200"),
        "BEGIN:VEVENT", "SUMMARY:A", "DTSTART;TZID=Custom:20240701T090000",
        "RRULE:FREQ=MONTHLY;COUNT=6", "END:VEVENT",
    ).documents  # fmt: skip

    series = series_of(event.metadata, ZoneInfo("UTC"))
    starts = [start for start, _ in series.between(SINCE, UNTIL)]
    assert [(start.hour, start.astimezone(UTC).hour) for start in starts] == [
        *[(9, 7)] * 4,
        *[(9, 8)] * 2,
    ]


def test_lines_of_todo_txt() -> None:
    text = (
        "(A) 2024-05-20 Order leaflets +skiff2 @maria due:2024-05-27\n"
        "x 2024-04-02 2024-03-20 Renew the passport +travel\n"
        "Renew the passport\n\nxylophone lesson due:never\n"
    )
    order, renewed, again, lesson = read_todo_txt(raw(text, "todo.txt")).documents

    assert order.title == "Order leaflets"
    assert {name: value for name, value in order.metadata.items() if name != "line"} == {
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
    note = "# A\n- [ ] Call Bo @bo\n1. [x] Done 📅 2024-05-01\n- [link] no\n"
    assert [(one.title, one.status, one.due, one.people) for one in markdown_tasks(note)] == [
        ("Call Bo", "open", "", ("bo",)),
        ("Done", "done", "2024-05-01", ()),
    ]


def test_a_property_that_cannot_be_read_is_named_and_costs_nothing_else() -> None:
    found = calendar(
        *(
            "BEGIN:VTODO",
            "UID:1",
            "SUMMARY:Paint the boat",
            "PRIORITY:high",
            "DUE:20240430T223000Z",
        ),
        *("END:VTODO", "BEGIN:VEVENT", "UID:2", "SUMMARY:Launch", "DESCRIPTION:On the", "  pier."),
        *(
            "GEO:here",
            "DTSTART;TZID=America/New_York:20240502T060000",
            "RRULE:FREQ=SOMETIMES",
            "EXDATE:never",
        ),
        *("END:VEVENT", "BEGIN:VEVENT", "UID:3", "DTSTART:tomorrow", "END:VEVENT"),
    )

    task, event = found.documents
    assert (task.title, task.metadata["due"]) == ("Paint the boat", "2024-05-01")
    assert event.metadata["start"] == "2024-05-02T10:00:00+00:00"
    # told at home, then where it takes place
    assert event.text == (
        "Launch\nWhen: Thursday 2 May 2024, 12:00 CEST (Thursday 2 May 2024, 06:00 EDT)\n\n"
        "On the pier."
    )
    named = [
        re.match(r"line \d+: .*?left out(?:: line \d+, '.*?')?", r.reason) for r in found.skipped
    ]
    assert [one and one[0] for one in named] == [
        "line 5: 'PRIORITY:high' is left out",
        "line 13: 'GEO:here' is left out",
        "line 15: 'RRULE:FREQ=SOMETIMES' is left out",
        "line 16: 'EXDATE:never' is left out",
        "line 18: VEVENT is left out: line 20, 'DTSTART:tomorrow'",
    ]


# --- Series against an oracle: equal over two years of generated calendars.


ZONES = ("Europe/Berlin", "America/New_York", "Australia/Sydney", "Asia/Kolkata", "UTC", "day")
RULES = (
    "FREQ=DAILY",
    "FREQ=DAILY;INTERVAL=3",
    "FREQ=DAILY;COUNT=17",
    "FREQ=WEEKLY",
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,FR",
    "FREQ=WEEKLY;BYDAY=TU,TH;WKST=SU;INTERVAL=2",
    "FREQ=WEEKLY;COUNT=40;BYDAY=SU",
    "FREQ=MONTHLY",
    "FREQ=MONTHLY;BYDAY=2TU",
    "FREQ=MONTHLY;BYDAY=-1FR",
    "FREQ=MONTHLY;BYMONTHDAY=31",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
    "FREQ=MONTHLY;INTERVAL=5;COUNT=6",
    "FREQ=YEARLY",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU",
    "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
)


def ics(*events: str) -> bytes:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:test", *events, "END:VCALENDAR", ""]
    return "\r\n".join(lines).encode()


def event(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT"])


def stamp(name: str, moment: datetime, zone: str) -> str:
    if zone == "day":
        return f"{name};VALUE=DATE:{moment:%Y%m%d}"
    return (
        f"{name}:{moment:%Y%m%dT%H%M%S}Z"
        if zone == "UTC"
        else f"{name};TZID={zone}:{moment:%Y%m%dT%H%M%S}"
    )


def generated(seed: int, count: int) -> bytes:
    """Series whose starts fall near changes of the clocks and the end of February, too."""
    chosen = random.Random(seed)
    found = []
    for number in range(count):
        zone, rule = chosen.choice(ZONES), chosen.choice(RULES)
        is_day = zone == "day"
        near = chosen.choice([date(2024, 2, 29), date(2024, 3, 31), date(2024, 10, 27),
                              date(2023, 11, 5), date(2024, 1, 31), date(2023, 6, 15)])  # fmt: skip
        clock = chosen.choice([clock_time(hour, 30) for hour in range(24)])
        start = datetime.combine(near, clock_time() if is_day else clock)
        start -= timedelta(days=chosen.choice([0, 0, 7, 28]))
        minutes = chosen.choice([1440, 4320] if is_day else [0, 30, 60, 300, 1440])
        end = start + timedelta(minutes=minutes)
        if "COUNT" not in rule and chosen.random() < 0.4:
            last = start + timedelta(days=chosen.randrange(20, 700))
            rule += f";UNTIL={last:%Y%m%d}" if is_day else f";UNTIL={_utc(last, zone)}"
        excluded = chosen.sample(range(1, 400), chosen.choice([0, 0, 2, 30]))
        about = (f"UID:{number}", f"SUMMARY:Series {number}")
        found.append(
            event(
                *about,
                stamp("DTSTART", start, zone),
                stamp("DTEND", end, zone),
                f"RRULE:{rule}",
                *(stamp("EXDATE", start + timedelta(days=days), zone) for days in excluded),
                *[stamp("RDATE", start + timedelta(days=11), zone)][: chosen.random() < 0.3],
            )
        )
        if chosen.random() < 0.3 and rule.startswith("FREQ=DAILY"):
            found.append(event(
                *about, stamp("RECURRENCE-ID", start + timedelta(days=3), zone),
                stamp("DTSTART", start + timedelta(days=5), zone),
                stamp("DTEND", end + timedelta(days=5), zone),
            ))  # fmt: skip
    return ics(*found)


def _utc(local: datetime, zone: str) -> str:
    moment = local.replace(tzinfo=UTC if zone == "UTC" else ZoneInfo(zone))
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%S}Z"


def read(data: bytes) -> ReadResult:
    found = read_calendar(
        RawFile(source="a.ics", data=data, settings=ReadSettings(time_zone=HOME.key))
    )
    assert found is not None
    return found


def shown(moment: date) -> str:
    """A time in UTC, or a day."""
    in_utc = moment.astimezone(UTC) if isinstance(moment, datetime) else moment
    return in_utc.isoformat()


def ours(data: bytes, since: datetime, until: datetime) -> list[tuple[str, str, str]]:
    found = []
    for document in read(data).documents:
        series = series_of(document.metadata, HOME)
        for times in series.between(since, until):
            start, end = (shown(one.date() if series.all_day else one) for one in times)
            found.append((document.title, start, end))
    return sorted(found)


def oracle(data: bytes, since: datetime, until: datetime) -> list[tuple[str, str, str]]:
    found = recurring_ical_events.of(Calendar.from_ical(data)).between(since, until)
    return sorted((str(e["SUMMARY"]), shown(e.start), shown(e.end)) for e in found)


WHOLE = (SINCE.astimezone(HOME), UNTIL.astimezone(HOME))
WEEKS = [
    (WHOLE[0] + timedelta(days=n), WHOLE[0] + timedelta(days=n + 7)) for n in range(0, 720, 91)
]


@pytest.mark.parametrize(("seed", "windows"), [(0, [WHOLE]), (1, [WHOLE]), (9, WEEKS)])
def test_series_are_those_of_the_oracle(
    seed: int, windows: list[tuple[datetime, datetime]]
) -> None:
    data = generated(seed, 40)
    for since, until in windows:
        expected = oracle(data, since, until)
        assert len(expected) > (until - since).days
        assert ours(data, since, until) == expected


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("rule", ["FREQ=DAILY", "FREQ=WEEKLY;COUNT=30", "FREQ=DAILY;INTERVAL=2"])
def test_what_a_range_changes_is_changed_from_there_on(zone: str, rule: str) -> None:
    start = datetime(2024, 3, 1, 0 if zone == "day" else 9)
    step = 7 if "WEEKLY" in rule else 2
    hours, days = (0, 24) if zone == "day" else (3, 1)
    second, third, alone = (start + timedelta(days=step * n) for n in (4, 20, 12))
    data = ics(
        event("UID:1", "SUMMARY:A", stamp("DTSTART", start, zone), f"RRULE:{rule}",
              stamp("DTEND", start + timedelta(hours=days), zone),
              stamp("EXDATE", start + timedelta(days=step * 6), zone)),
        event("UID:1", "SUMMARY:C", ranged(third, zone), stamp("DTSTART", third, zone),
              stamp("DTEND", third + timedelta(hours=2 * days), zone)),
        event("UID:1", "SUMMARY:B", ranged(second, zone),
              stamp("DTSTART", second + timedelta(days=1, hours=hours), zone),
              stamp("DTEND", second + timedelta(days=1, hours=hours + days), zone)),
        event("UID:1", "SUMMARY:Alone", stamp("RECURRENCE-ID", alone, zone),
              stamp("DTSTART", alone - timedelta(days=1), zone),
              stamp("DTEND", alone - timedelta(days=1) + timedelta(hours=days), zone)),
    )  # fmt: skip
    since, until = (m.astimezone(HOME) for m in (SINCE, datetime(2024, 12, 1, tzinfo=UTC)))

    expected = oracle(data, since, until)

    assert {title for title, _, _ in expected} == {"A", "B", "C", "Alone"}
    assert ours(data, since, until) == expected


def ranged(moment: datetime, zone: str) -> str:
    return stamp("RECURRENCE-ID;RANGE=THISANDFUTURE", moment, zone)


@pytest.mark.parametrize(
    ("lines", "starts"),
    [
        # 19:00 in New York is 00:00 UTC of the next day, and from 10 March on 23:00 of the same.
        (
            (
                "DTSTART;TZID=America/New_York:20240301T190000",
                "DTEND;TZID=America/New_York:20240301T193000",
                "RRULE:FREQ=WEEKLY;UNTIL=20240315T230000Z",
            ),
            ["2024-03-02T00:00", "2024-03-09T00:00", "2024-03-15T23:00"],
        ),
        (
            (
                ranged(datetime(2024, 3, 8, 9), "UTC"),
                "DTSTART:20240308T100000Z",
                "DTEND:20240308T110000Z",
            ),
            ["2024-03-08T10:00"],
        ),
    ],
    ids=["an end in UTC keeps the last of a local series", "a range of no series is one event"],
)
def test_what_happens_of(lines: Sequence[str], starts: list[str]) -> None:
    found = ours(ics(event("UID:1", "SUMMARY:A", *lines)), SINCE, UNTIL)
    assert [start for _, start, _ in found] == [f"{start}:00+00:00" for start in starts]


@pytest.mark.parametrize("zone", ZONES)
def test_of_several_rules_each_is_met(zone: str) -> None:
    start = datetime(2024, 3, 1, 0 if zone == "day" else 9)
    data = ics(event(
        "UID:1", "SUMMARY:A", stamp("DTSTART", start, zone),
        stamp("DTEND", start + timedelta(days=1), zone), "RRULE:FREQ=WEEKLY;COUNT=9",
        "RRULE:FREQ=MONTHLY;BYMONTHDAY=1,15",
        stamp("EXDATE", datetime(2024, 5, 15, start.hour), zone),
    ))  # fmt: skip
    found = ours(data, *WHOLE)

    assert found == oracle(data, *WHOLE)
    assert len({start[:10] for _, start, _ in found}) == len(found) > 45
