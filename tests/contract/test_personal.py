"""The pack `personal` on each back end: what it reads, who is who, and what its tools answer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

import clew.plugins.personal
from clew import Clew
from clew.plugins.neo4j.schema import entity_index, entity_label
from clew.settings import Settings
from clew.testing.fakes import HashEmbedder
from clew.tools.spec import Caller
from tests.contract.pack_stores import each_back_end, open_with, pack_settings

if TYPE_CHECKING:
    from clew.types import Vector

CORPUS = Path(clew.plugins.personal.__file__).parent / "corpus"
NOW = datetime(2024, 5, 22, 8, 0, tzinfo=ZoneInfo("Europe/Berlin"))
TOOLS = ("graph_search_nodes", "calendar_query", "contacts_search", "tasks_query", "tasks_update")


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


def call(store: Clew, tool: str, **arguments: object) -> dict[str, Any]:
    outcome = store.tools.call(tool, arguments)
    assert not outcome.is_error, outcome.text
    return outcome.content


def titles(found: list[dict[str, Any]]) -> list[str]:
    return [one["title"] for one in found]


# --- people ------------------------------------------------------------------------------


def test_an_attendee_a_contact_a_sender_and_a_name_in_a_note_are_one(store: Clew) -> None:
    maria = store.entities.get("Maria Lopez")

    others = ("Maria", "maria.lopez@acme.example", "Mari")
    assert {store.entities.get(name).id for name in others} == {maria.id}
    reasons = {alias.name: alias.evidence for alias in store.entities.aliases(maria)}
    assert reasons["Maria"] == "the only contact with the given name 'Maria'"
    assert "maria.lopez@acme.example" in reasons["maria.lopez@acme.example"]
    mentioning = store.store.entity_documents([maria.id])
    kinds = {one.media_type for one in store.store.documents(ids=list(mentioning))}
    assert {"text/calendar", "text/vcard", "message/rfc822", "text/markdown"} <= kinds


def test_contacts_are_found_by_any_of_their_names_with_their_meetings(store: Clew) -> None:
    for query in ("maria", "Mari", "maria.lopez@acme.example", "Lopez Maria"):
        first = call(store, "contacts_search", query=query)["people"][0]
        assert first["name"] == "Maria Lopez"
    assert first["organisation"] == "Acme Print"
    assert first["last_meeting"]["title"] == "Design review: packaging"
    assert first["last_meeting"]["time_ago"] == "1 week ago"
    assert first["next_meeting"]["title"] == "Call with Maria about the leaflet"

    at_acme = call(store, "contacts_search", query="Acme", organisation="acme print")["people"]
    assert {one["name"] for one in at_acme} == {"Maria Lopez", "Deniz Kaya"}


def test_contacts_are_searched_by_letters_or_digits(store: Clew) -> None:
    answer = store.tools.call("contacts_search", {"query": "."})

    assert answer.is_error
    assert "neither letters nor digits" in answer.text


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
    assert (chart["title"], chart["time_ago"]) == ("Design review: tide chart", "1 month ago")
    assert packaging["place"] == "Room Baltic"
    assert {"Room Baltic", "Deniz Kaya"} <= set(packaging["entities"])
    assert {one["organisation"] for one in packaging["contacts"]} == {"Tidewater", "Acme Print"}
    (note,) = packaging["notes"]
    assert note["source"].endswith("notes/Design review packaging.md")
    deniz = call(store, "calendar_query", time_range="this year", attendee="Deniz")
    assert titles(deniz["events"]) == ["Design review: packaging"]


def test_an_exception_of_a_series_and_a_leap_day_are_kept(store: Clew) -> None:
    easter = call(store, "calendar_query", time_range="2024-04-01")
    leap = call(store, "calendar_query", time_range="2024-02-29")

    assert easter["events"] == []
    assert titles(leap["events"]) == ["Oskar's birthday"]
    assert leap["events"][0]["start"] == "2024-02-29"


def test_a_year_is_all_its_days(store: Clew) -> None:
    found = call(store, "calendar_query", time_range="2024")

    assert found["time_range"]["from"] == "2024-01-01T00:00:00+01:00"
    assert found["time_range"]["until"] == "2025-01-01T00:00:00+01:00"
    assert "Design review: packaging" in titles(found["events"])


@pytest.mark.parametrize(
    "asked",
    [
        "fortnight",
        "2024-13-01",
        "last decade",
        "2024-05-02..2024-05-01",
        "0001-01-01",
        "9999-12-30",
    ],
)
def test_an_unknown_range_lists_the_known_ones(store: Clew, asked: str) -> None:
    outcome = store.tools.call("calendar_query", {"time_range": asked})

    assert outcome.is_error
    assert asked in outcome.text
    assert all(known in outcome.text for known in ("today", "last week", "next year"))


def test_nodes_are_found_by_type_with_properties_and_neighbours(store: Clew) -> None:
    arguments = {"query": "packaging", "node_types": ["Event"], "limit": 5}
    nodes = {one["name"]: one for one in call(store, "graph_search_nodes", **arguments)["nodes"]}

    assert {one["type"] for one in nodes.values()} == {"Event"}
    review = nodes["Design review: packaging"]
    assert review["properties"]["place"] == "Room Baltic"
    assert {"id", "name", "relation"} <= review["neighbors"][0].keys()


# --- tasks -------------------------------------------------------------------------------


def test_tasks_of_files_calendars_and_notes_are_asked_together(store: Clew) -> None:
    due = call(store, "tasks_query", due="this week", person="Acme")["tasks"]

    assert [(one["due"], one["title"]) for one in due] == [
        ("2024-05-23", "Ask Deniz for the dielines of the box"),
        ("2024-05-24", "Send the final leaflet to print"),
        ("2024-05-24", "New dielines for the narrower box"),
    ]
    late = call(store, "tasks_query", due="overdue", limit=200)
    every = call(store, "tasks_query", limit=200)["tasks"]
    assert late["count"] > 0
    assert sorted(titles(late["tasks"])) == sorted(
        one["title"]
        for one in every
        if one["due"] and one["due"] < "2024-05-22" and one["status"] in ("open", "in_progress")
    )
    unknown = store.tools.call("tasks_query", {"due": "soon"})
    assert unknown.is_error
    assert "expected overdue, today, yesterday" in unknown.text
    done = call(store, "tasks_query", status="done", project="travel")["tasks"]
    assert titles(done) == ["Renew the passport"]


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
    (task,) = [t for t in call(store, "tasks_query", limit=200)["tasks"] if t["title"] == title]
    file = Path(task["source"].partition("#")[0])
    before = file.read_bytes().decode().splitlines(keepends=True)

    call(store, "tasks_update", id=task["id"], **changes)

    after = file.read_bytes().decode().splitlines(keepends=True)
    new = [one for one in after if one not in before]
    assert any(one.startswith(line) for one in new)
    assert len([one for one in before if one not in after]) <= 1
    (again,) = [t for t in call(store, "tasks_query", limit=200)["tasks"] if t["title"] == title]
    assert {name: again[name] for name in changes} == changes


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

    found = call(store, "tasks_query", limit=200)["tasks"]
    (task,) = [one for one in found if one["title"] == "Ring about the mast"]

    assert (task["people"], task["contexts"]) == (["maria"], ["phone"])
    neighbours = call(store, "graph_search_nodes", query="Ring about the mast", limit=1)["nodes"]
    relations = {one["name"]: one["relation"] for one in neighbours[0]["neighbors"]}
    assert relations["phone"] == "tagged"


def test_nodes_of_an_unknown_type_are_refused_with_the_known_ones(store: Clew) -> None:
    asked = {"query": "skiff", "node_types": ["Person"]}
    answer = store.tools.call("graph_search_nodes", asked)

    assert "Entity, Event, Contact, Concept" in answer.text


def test_rights_hold_for_the_tools_of_a_pack(store: Clew) -> None:
    reader = Caller(scopes=frozenset({"read"}), tools=frozenset({"calendar_query"}))

    allowed = [tool.name for tool in store.tools.allowed(reader)]
    refused = store.tools.call("tasks_update", {"id": "x", "status": "done"}, caller=reader)

    assert allowed == ["calendar_query"]
    assert refused.is_error
    every = {tool.name for tool in store.tools.allowed(Caller())}
    assert every >= set(TOOLS)


# --- on the server -----------------------------------------------------------------------


def test_the_server_shows_events_contacts_and_relations_in_its_own_terms(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    calendar = Path(shutil.copy(CORPUS / "calendar.ics", tmp_path))
    invited = (
        "MATCH (c:Contact {namespace: $namespace})-[x:attended]->(e:Event)"
        " RETURN c.name, e.name, e.start, e.place, valueType(x.valid_from) ORDER BY e.name, c.name"
    )
    with (
        pack_settings(request, "neo4j", tmp_path) as settings,
        open_with(settings, ["personal"]) as store,
    ):
        store.index([calendar])
        database = store.store.database  # type: ignore[attr-defined]
        before = database.rows(invited)
        calendar.write_text(calendar.read_text().replace("ATTENDEE;CN=Deniz", "X-WAS;CN=Deniz"))
        store.index([calendar])
        after = database.rows(invited)
        store.delete([one.id for one in store.documents.list()])
        gone = database.rows(invited)
        check = store.maintenance.check()

    review = [row for row in before if row[1] == "Design review: packaging"]
    assert [row[0] for row in review] == ["Deniz Kaya", "Maria Lopez", "Priya Nair"]
    assert review[0][2].to_native() == datetime(2024, 5, 14, 12, tzinfo=ZoneInfo("UTC"))
    assert review[0][3:] == ["Room Baltic", "ZONED DATETIME NOT NULL"]
    assert len(after) == len(before) - 1
    assert gone == []
    assert check.problems == ()


def test_the_server_finds_entities_by_their_vectors_and_knows_types_and_days(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    for name in ("calendar.ics", "contacts.vcf"):
        shutil.copy(CORPUS / name, tmp_path)
    note = tmp_path / "Leaflet.md"
    note.write_text("Deniz Kaya prints it. #printing\n")
    # Of so few, the server's index finds the nearest only where it is asked for all.
    nearest = (
        "CALL db.index.vector.queryNodes($index, 100, $vector) YIELD node"
        " RETURN node.name, labels(node) LIMIT 1"
    )
    with (
        pack_settings(request, "neo4j", tmp_path) as settings,
        open_with(settings, ["personal"]) as store,
    ):
        store.index([tmp_path / "calendar.ics", tmp_path / "contacts.vcf", note])
        database = store.store.database  # type: ignore[attr-defined]
        own = entity_label(database.namespace)

        def found(vector: Vector) -> tuple[str, set[str]]:
            index = entity_index(database.namespace)
            ((name, labels),) = database.rows(nearest, index=index, vector=vector.tolist())
            return name, set(labels) - {"ClewEntity", own}

        def named(text: str) -> tuple[str, set[str]]:
            return found(HashEmbedder().embed_documents([text])[0])

        (review,) = [d for d in store.documents.list() if d.title == "Design review: packaging"]
        (passage,) = store.store.document_chunks(review.id)
        ids, vectors = store.store.embeddings()
        by_passage, by_name = found(vectors[ids == passage.id][0]), named("Room Baltic")
        tag = named("printing")
        born = database.rows(
            "MATCH (c:Contact {namespace: $namespace, name: 'Maria Lopez'})"
            " RETURN valueType(c.birthday)"
        )
        tagged = database.rows(
            "MATCH (:ClewEntity {namespace: $namespace})-[:tagged]->(t:Concept) RETURN t.name"
        )
        store.entities.rename("Room Baltic", "Quayside vault")
        note.write_text("Deniz Kaya prints it again. #printing\n")
        store.index([note])
        renamed = named("Quayside vault")

    assert by_passage == ("Design review: packaging", {"Event"})
    assert by_name == ("Room Baltic", set())
    assert tag == ("printing", {"Concept"})
    assert tagged == [["printing"]]
    assert born == [["DATE NOT NULL"]]
    assert renamed == ("Quayside vault", set())


@each_back_end
def test_a_meeting_of_long_ago_is_the_last_one_where_there_was_none_since(
    request: pytest.FixtureRequest, back_end: str, tmp_path: Path
) -> None:
    (tmp_path / "people.vcf").write_text(
        "BEGIN:VCARD\nVERSION:3.0\nFN:Ada Morn\nN:Morn;Ada;;;\nEMAIL:ada@x.example\nEND:VCARD\n"
    )
    (tmp_path / "old.ics").write_text(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:Tea\nDTSTART:20090301T090000Z\n"
        "RRULE:FREQ=WEEKLY;COUNT=3\nATTENDEE;CN=Ada Morn:mailto:ada@x.example\nEND:VEVENT\n"
        "END:VCALENDAR\n"
    )
    with (
        pack_settings(request, back_end, tmp_path) as settings,
        open_with(settings, ["personal"]) as store,
    ):
        store.index([tmp_path / "people.vcf", tmp_path / "old.ics"])
        (ada,) = call(store, "contacts_search", query="Ada")["people"]

    assert ada["next_meeting"] is None
    assert (ada["last_meeting"]["title"], ada["last_meeting"]["start"][:10]) == (
        "Tea",
        "2009-03-15",
    )
