"""The pack `personal` on each back end: what it reads, who is who, and what its tools answer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import clew.plugins.personal
from clew import Clew
from clew.plugins.neo4j.connection import entity_index, entity_label
from clew.settings import Settings
from clew.testing.fakes import HashEmbedder
from clew.types import Vector
from tests.contract.pack_stores import open_with, pack_settings

CORPUS = Path(clew.plugins.personal.__file__).parent / "corpus"
NOW = datetime(2024, 5, 22, 8, 0, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.fixture(params=["sqlite", "neo4j"], scope="module")
def settings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Settings]:
    """Of a store that has read a copy of the pack's corpus, which tools may change."""
    folder = tmp_path_factory.mktemp(str(request.param))
    files = shutil.copytree(CORPUS, folder / "files")
    access = {"roots": [files], "write": [files]}
    search = {"time_zone": "Europe/Berlin"}
    with pack_settings(request, request.param, folder, access=access, search=search) as found:
        with open_with(found, ["personal"]) as store:
            assert store.index([files]).skipped == ()
        yield found


@pytest.fixture
def store(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clew]:
    with open_with(settings) as opened:
        monkeypatch.setattr(opened.state, "now", lambda: NOW)
        yield opened


def call(store: Clew, tool: str, **arguments: object) -> Any:  # noqa: ANN401 - a result
    outcome = store.tools.call(tool, arguments)
    assert not outcome.is_error, outcome.text
    return outcome.content


@pytest.fixture(params=["sqlite", "neo4j"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Clew]:
    with (
        pack_settings(request, request.param, tmp_path) as found,
        open_with(found, ["personal"]) as opened,
    ):
        yield opened


def titles(found: list[dict[str, Any]]) -> list[str]:
    return [one["title"] for one in found]


# --- people ------------------------------------------------------------------------------


def test_an_attendee_a_contact_a_sender_and_a_name_in_a_note_are_one(store: Clew) -> None:
    maria = store.entities.get("Maria Lopez")
    names = ("Maria", "maria.lopez@acme.example", "Mari")
    reasons = {alias.name: alias.evidence for alias in store.entities.aliases(maria)}
    mentioning = store.store.entity_documents([maria.id])
    kinds = {one.media_type for one in store.store.documents(ids=list(mentioning))}

    assert {store.entities.get(name).id for name in names} == {maria.id}
    assert reasons["Maria"] == "the only contact with the given name 'Maria'"
    assert reasons["maria.lopez@acme.example"] == "address in the contact 'Maria Lopez'"
    assert {"text/calendar", "text/vcard", "message/rfc822", "text/markdown"} <= kinds


@pytest.mark.parametrize(
    "query",
    [
        *("maria", "Mari", "maria.lopez@acme.example", "Lopez Maria"),
        *("the manager of accounts at Acme", "whom we met at the fair for packaging"),
    ],
)
def test_contacts_are_found_by_name_work_and_organisation_with_their_meetings(
    store: Clew, query: str
) -> None:
    first = call(store, "contacts_search", query=query)["people"][0]
    last = first["last_meeting"]

    assert (first["name"], first["organisation"]) == ("Maria Lopez", "Acme Print")
    assert (last["title"], last["time_ago"]) == ("Design review: packaging", "1 week ago")
    assert first["next_meeting"]["title"] == "Call with Maria about the leaflet"


def test_contacts_of_an_organisation_are_found(store: Clew) -> None:
    at_acme = call(store, "contacts_search", query="Acme", organisation="acme print")["people"]
    assert {one["name"] for one in at_acme} == {"Maria Lopez", "Deniz Kaya"}


def test_whoever_wrote_but_is_no_contact_is_found_too(store: Clew) -> None:
    (first, *_) = call(store, "contacts_search", query="Lena Fischer")["people"]

    assert first["emails"] == ["lena@tidewater.example"]
    assert first["source"] is None


# --- calendar ----------------------------------------------------------------------------


def test_a_range_is_understood_by_the_calendar_and_the_zone(store: Clew) -> None:
    found = call(store, "calendar_query", time_range="This Week")

    assert found["time_range"] == {
        "asked": "This Week",
        "from": "2024-05-20T00:00:00+02:00",
        "until": "2024-05-27T00:00:00+02:00",
        "zone": "Europe/Berlin",
    }
    assert [(one["title"], one["start"]) for one in found["events"]] == [
        ("Team stand-up", "2024-05-20T09:30:00+02:00"),
        ("Team stand-up", "2024-05-22T09:30:00+02:00"),
        ("Call with Maria about the leaflet", "2024-05-22T11:00:00+02:00"),
    ]
    assert found["event_count"] == 3


def test_events_come_with_people_place_notes_and_how_long_ago(store: Clew) -> None:
    found = call(store, "calendar_query", time_range="2024-04-01..2024-05-31", event_type="review")
    chart, packaging = found["events"]
    (note,) = packaging["notes"]

    assert (chart["title"], chart["time_ago"]) == ("Design review: tide chart", "1 month ago")
    assert packaging["place"] == "Room Baltic"
    assert {"Room Baltic", "Deniz Kaya"} <= set(packaging["entities"])
    assert {one["organisation"] for one in packaging["contacts"]} == {"Tidewater", "Acme Print"}
    assert note["source"].endswith("notes/Design review packaging.md")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # an exception of a series, and a leap day
        ({"time_range": "2024-04-01"}, []),
        ({"time_range": "2024-02-29"}, [("Oskar's birthday", "2024-02-29")]),
        (
            {"time_range": "this year", "attendee": "Deniz"},
            [("Design review: packaging", "2024-05-14T14:00:00+02:00")],
        ),
        # a year is all its days
        (
            {"time_range": "2024", "event_type": "review", "attendee": "Deniz"},
            [("Design review: packaging", "2024-05-14T14:00:00+02:00")],
        ),
    ],
)
def test_which_events_are_found(
    store: Clew, arguments: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    found = call(store, "calendar_query", **arguments)["events"]
    assert [(one["title"], one["start"]) for one in found] == expected


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        *(
            ("calendar_query", {"time_range": asked}, [asked, "today", "last week", "next year"])
            for asked in (
                *("fortnight", "2024-13-01", "last decade", "2024-05-02..2024-05-01"),
                *("0001-01-01", "9999-12-30"),
            )
        ),
        ("tasks_query", {"due": "soon"}, ["soon", "expected overdue, today, yesterday"]),
        ("contacts_search", {"query": "."}, ["neither letters nor digits"]),
        (
            "graph_search_nodes",
            {"query": "skiff", "node_types": ["Person"]},
            ["Entity, Event, Contact, Concept"],
        ),
    ],
)
def test_what_cannot_be_asked_lists_what_can(
    store: Clew, tool: str, arguments: dict[str, object], told: list[str]
) -> None:
    outcome = store.tools.call(tool, arguments)
    assert outcome.is_error
    assert [words for words in told if words not in outcome.text] == []


def test_nodes_are_found_by_type_with_properties_and_neighbours(store: Clew) -> None:
    arguments = {"query": "packaging", "node_types": ["Event"], "limit": 5}
    nodes = {one["name"]: one for one in call(store, "graph_search_nodes", **arguments)["nodes"]}
    review = nodes["Design review: packaging"]

    assert {one["type"] for one in nodes.values()} == {"Event"}
    assert review["properties"]["place"] == "Room Baltic"
    assert {"id", "name", "relation"} <= review["neighbors"][0].keys()


# --- tasks -------------------------------------------------------------------------------


def test_tasks_of_files_calendars_and_notes_are_asked_together(store: Clew) -> None:
    def found(**asked: object) -> list[tuple[str, str]]:
        tasks = call(store, "tasks_query", limit=200, **asked)["tasks"]
        return sorted((one["due"] or "", one["title"]) for one in tasks)

    assert found(due="this week", person="Acme") == [
        ("2024-05-23", "Ask Deniz for the dielines of the box"),
        ("2024-05-24", "New dielines for the narrower box"),
        ("2024-05-24", "Send the final leaflet to print"),
    ]
    open_ones = [*found(status="open"), *found(status="in_progress")]
    late = sorted(one for one in open_ones if "" < one[0] < "2024-05-22")
    assert found(due="overdue") == late != []
    assert [title for _, title in found(status="done", project="travel")] == ["Renew the passport"]


def task_named(store: Clew, title: str) -> dict[str, Any]:
    (task,) = [t for t in call(store, "tasks_query", limit=200)["tasks"] if t["title"] == title]
    return dict(task)


@pytest.mark.parametrize(
    ("title", "changes", "line"),
    [
        ("Replace the winter tyres", {"status": "done"}, "x 20"),
        ("Apply for the fair in Lisbon", {"due": "2024-07-02", "priority": "B"},
         "(B) Apply for the fair in Lisbon +travel due:2024-07-02\n"),
        ("Collect shoe sizes for the boat", {"status": "done"},
         "- [x] Collect shoe sizes for the boat @tom due:2024-06-21\n"),
        ("Quote for a second run of boxes", {"due": "2024-06-20"}, "DUE;VALUE=DATE:20240620\r\n"),
    ],
)  # fmt: skip
def test_a_task_is_changed_in_its_file_and_nothing_else(
    store: Clew, title: str, changes: dict[str, str], line: str
) -> None:
    task = task_named(store, title)
    file = Path(task["source"].partition("#")[0])
    before = file.read_bytes().splitlines(keepends=True)

    call(store, "tasks_update", id=task["id"], **changes)

    after = file.read_bytes().splitlines(keepends=True)
    assert [one for one in after if one.startswith(line.encode()) and one not in before]
    assert len([one for one in before if one not in after]) <= 1
    assert task_named(store, title).items() >= changes.items()


def test_a_file_is_changed_only_where_the_user_allowed_it(settings: Settings) -> None:
    access = settings.access.model_copy(update={"write": ()})
    with open_with(settings.model_copy(update={"access": access})) as store:
        (task, *_) = call(store, "tasks_query")["tasks"]
        file = Path(task["source"].partition("#")[0])
        before = file.read_bytes()
        outcome = store.tools.call("tasks_update", {"id": task["id"], "status": "done"})

    assert outcome.is_error
    assert "access.write" in outcome.text
    assert file.read_bytes() == before


def test_contexts_of_todo_txt_are_people_where_they_are_known(store: Clew, tmp_path: Path) -> None:
    file = tmp_path / "todo.txt"
    file.write_text("Ring about the mast @phone @maria\n", "utf-8")
    store.index([file])
    task = task_named(store, "Ring about the mast")
    (node,) = call(store, "graph_search_nodes", query="Ring about the mast", limit=1)["nodes"]

    assert (task["people"], task["contexts"]) == (["maria"], ["phone"])
    assert ("phone", "tagged") in {(one["name"], one["relation"]) for one in node["neighbors"]}


# --- on the server -----------------------------------------------------------------------


@pytest.mark.parametrize("empty", ["neo4j"], indirect=True)
def test_the_server_shows_events_contacts_and_relations_in_its_own_terms(
    empty: Clew, tmp_path: Path
) -> None:
    calendar = Path(shutil.copy(CORPUS / "calendar.ics", tmp_path))
    invited = (
        "MATCH (c:Contact {namespace: $namespace})-[x:attended]->(e:Event)"
        " RETURN c.name, e.name, e.start, e.place, valueType(x.valid_from) ORDER BY e.name, c.name"
    )
    rows = empty.store.database.rows  # type: ignore[attr-defined]
    empty.index([calendar])
    before = rows(invited)
    calendar.write_text(calendar.read_text().replace("ATTENDEE;CN=Deniz", "X-WAS;CN=Deniz"))
    empty.index([calendar])
    after = rows(invited)
    empty.delete([one.id for one in empty.documents.list()])

    review = [row for row in before if row[1] == "Design review: packaging"]
    assert [row[0] for row in review] == ["Deniz Kaya", "Maria Lopez", "Priya Nair"]
    assert review[0][2].to_native() == datetime(2024, 5, 14, 12, tzinfo=ZoneInfo("UTC"))
    assert review[0][3:] == ["Room Baltic", "ZONED DATETIME NOT NULL"]
    assert len(after) == len(before) - 1
    assert rows(invited) == []
    assert empty.maintenance.check().problems == ()


@pytest.mark.parametrize("empty", ["neo4j"], indirect=True)
def test_the_server_finds_entities_by_their_vectors_and_knows_types_and_days(
    empty: Clew, tmp_path: Path
) -> None:
    note = tmp_path / "Leaflet.md"
    note.write_text("Deniz Kaya prints it. #printing\n")
    empty.index([CORPUS / "calendar.ics", CORPUS / "contacts.vcf", note])
    database = empty.store.database  # type: ignore[attr-defined]
    # Of so few, the server's index finds the nearest only where it is asked for all.
    nearest = (
        "CALL db.index.vector.queryNodes($index, 100, $vector) YIELD node"
        " RETURN node.name, labels(node) LIMIT 1"
    )

    def found(vector: Vector) -> tuple[str, set[str]]:
        index = entity_index(database.namespace)
        ((name, labels),) = database.rows(nearest, index=index, vector=vector.tolist())
        return name, set(labels) - {"ClewEntity", entity_label(database.namespace)}

    def named(text: str) -> tuple[str, set[str]]:
        return found(HashEmbedder().embed_documents([text])[0])

    (review,) = [d for d in empty.documents.list() if d.title == "Design review: packaging"]
    (passage,) = empty.store.document_chunks(review.id)
    ids, vectors = empty.store.embeddings()
    born = database.rows(
        "MATCH (c:Contact {namespace: $namespace, name: 'Maria Lopez'})"
        " RETURN valueType(c.birthday)"
    )
    tagged = database.rows(
        "MATCH (:ClewEntity {namespace: $namespace})-[:tagged]->(t:Concept) RETURN t.name"
    )
    assert found(vectors[ids == passage.id][0]) == ("Design review: packaging", {"Event"})
    assert named("Room Baltic") == ("Room Baltic", set())
    assert named("printing") == ("printing", {"Concept"})
    assert (tagged, born) == ([["printing"]], [["DATE NOT NULL"]])
    empty.entities.rename("Room Baltic", "Quayside vault")
    note.write_text("Deniz Kaya prints it again. #printing\n")
    empty.index([note])
    assert named("Quayside vault") == ("Quayside vault", set())


def test_a_meeting_of_long_ago_is_the_last_one_where_there_was_none_since(
    empty: Clew, tmp_path: Path
) -> None:
    (tmp_path / "people.vcf").write_text(
        "BEGIN:VCARD\nVERSION:3.0\nFN:Ada Morn\nN:Morn;Ada;;;\nEMAIL:ada@x.example\nEND:VCARD\n"
    )
    (tmp_path / "old.ics").write_text(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:Tea\nDTSTART:20090301T090000Z\n"
        "RRULE:FREQ=WEEKLY;COUNT=3\nATTENDEE;CN=Ada Morn:mailto:ada@x.example\nEND:VEVENT\n"
        "END:VCALENDAR\n"
    )
    empty.index([tmp_path / "people.vcf", tmp_path / "old.ics"])
    (ada,) = call(empty, "contacts_search", query="Ada")["people"]

    last = ada["last_meeting"]
    assert (last["title"], last["start"][:10], ada["next_meeting"]) == ("Tea", "2009-03-15", None)
