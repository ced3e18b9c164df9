"""What an assistant may ask of a calendar, contacts and tasks, under the names it knows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from operator import attrgetter
from string import ascii_uppercase
from typing import Annotated, Any, NamedTuple

from clew.engine import Engine
from clew.errors import InputError, NotFoundError
from clew.indexing.reading.common import TYPE, Person, from_flat
from clew.indexing.reading.files import open_real, replace_file, writable_path
from clew.operations.spec import Call, Limits, Result, between, operation, shape
from clew.plugins.personal.calendar import (
    CANCELLED,
    DOING,
    DONE,
    DUE,
    FINISHED,
    ITEM,
    MARKS,
    OPEN,
    PRIORITY,
    STATUSES,
    Task,
    markdown_tasks,
)
from clew.plugins.personal.contacts import MEDIA_TYPE, name_of
from clew.plugins.personal.recurrence import Work, series_of
from clew.settings.place import zone_of
from clew.text import entity_key, terms
from clew.times.ranges import KNOWN, Range, ago, read_range, shown
from clew.types import DocumentInfo

# `calendar_query`: what happens within a range, with its people, place and notes.


_RANGES = f"{', '.join(KNOWN)}, or one or two dates such as 2024, 2024-03-01..2024-03-31."
_STATUSES = ", ".join(STATUSES)
MOST = 100
"""Events of a result."""
_NOTES = 5
"""Notes of an event that are named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    """An event at one of its times."""

    document: DocumentInfo
    start: datetime
    end: datetime
    all_day: bool


@operation("Calendar", shape(time_range="object", event_count="integer", events="array"))
def calendar_query(
    call: Call,
    time_range: Annotated[str, _RANGES, Limits(blank=False)],
    event_type: Annotated[
        str | None, "A category, meeting, recurring, all day, or words of the title."
    ] = None,
    attendee: Annotated[str | None, "Name or address of somebody who comes."] = None,
) -> Result:
    """Events within a range of time, with people, place, notes and how long ago."""
    engine, now = call.engine, call.engine.state.now()
    work = Work()
    asked = read_range(time_range, now)
    people = known_as(engine, attendee) if attendee else frozenset()
    # Those that may overlap the range: days are days of UTC here.
    day = timedelta(days=1)
    since, until = (asked.start - day).date(), (asked.end + day).date()
    events = engine.entities.described("event", since, until)
    found = [
        one
        for one in occurrences(engine, asked, events, work)
        if (not event_type or _is_of_type(one, event_type))
        and (not attendee or attends(one.document, people))
    ]
    kept = found[:MOST]
    documents = {one.document.id: one.document for one in kept}
    # Their people and places, by the names that the graph has for them.
    named = {
        id_: [*map(name_of, people_of(d)), str(d.metadata.get("place", ""))[:80]]
        for id_, d in documents.items()
    }
    ids = engine.store.resolve([entity_key(name) for names in named.values() for name in names])
    names = engine.store.entity_names(list(ids.values()))
    notes = _notes(engine, documents.values())
    contacts: dict[str, dict[str, Any]] = {}  # by the keys of their names and addresses
    for card in engine.entities.described("person"):
        emails = card.metadata.get("emails") or []
        organisation = card.metadata.get("organisation")
        told = {"name": card.title, "emails": emails, "organisation": organisation}
        contacts.update({entity_key(name): told for name in [card.title, *emails]})
    shown_events = []
    for one in kept:
        comers = people_of(one.document)
        shown_events.append(
            {
                "id": one.document.id,
                "title": one.document.title,
                "start": moment(one.start, one.all_day),
                "end": moment(one.end, one.all_day),
                "place": one.document.metadata.get("place"),
                "attendees": [
                    {"name": p.name or None, "address": p.address or None} for p in comers
                ],
                "entities": [
                    names[ids[key]]
                    for key in dict.fromkeys(map(entity_key, named[one.document.id]))
                    if key in ids
                ],
                "contacts": [
                    contacts[key]
                    for key in dict.fromkeys(entity_key(p.address or p.name) for p in comers)
                    if key in contacts
                ],
                "notes": notes[one.document.title],
                "time_ago": ago(one.start, now),
                "source": one.document.source,
            }
        )
    return {
        "time_range": {"asked": time_range, **shown(asked, now)},
        "event_count": len(found),
        "left_out": len(found) - len(kept),
        "events": shown_events,
    }


def occurrences(
    engine: Engine, asked: Range, events: Iterable[DocumentInfo], work: Work
) -> list[Occurrence]:
    """When events overlap a range, in order; those that are cancelled are left out.

    Raises `InputError` where that takes more than is left of the work.
    """
    home = zone_of(engine.settings.search.time_zone)
    held = (one for one in events if one.metadata.get("status") != "cancelled")
    found = (
        Occurrence(
            document=document,
            start=start.astimezone(home),
            end=end.astimezone(home),
            all_day=series.all_day,
        )
        for document, series in ((one, series_of(one.metadata, home)) for one in held)
        for start, end in series.between(asked.start, asked.end, work)
    )
    return sorted(found, key=attrgetter("start", "end", "document.source"))


def known_as(engine: Engine, name: str) -> frozenset[str]:
    """Keys of the names and addresses of all whom a name means, or of those who work there."""
    key = entity_key(name)
    keys = {key}
    for card in engine.entities.described("person"):
        if key and _is_at(card, name):
            fields = card.metadata
            names = [card.title, *(fields.get("emails") or []), fields.get("known_as", "")]
            keys.update(entity_key(one) for one in names if one)
    for entity in engine.entities.find(name, 5):
        aliases = {entity_key(alias.name) for alias in engine.entities.aliases(entity)}
        if any(key == one or key in one.split() for one in aliases):
            keys |= aliases
    return frozenset(keys)


def people_of(document: DocumentInfo) -> list[Person]:
    """Who comes to an event, whoever organises it among them."""
    found = [*from_flat(document.metadata.get("organiser"))]
    found += from_flat(document.metadata.get("attendees"))
    return list({name_of(one).casefold(): one for one in found}.values())


def attends(document: DocumentInfo, keys: frozenset[str]) -> bool:
    """Whether one of the people of those names or addresses comes."""
    return any(
        entity_key(part) in keys or keys.intersection(entity_key(part).split())
        for one in people_of(document)
        for part in (one.name, one.address)
        if part
    )


def _is_of_type(one: Occurrence, event_type: str) -> bool:
    """Whether an event has such a category, is of such a kind, or is called so."""
    key = entity_key(event_type)
    fields = one.document.metadata
    are = {
        "meeting": people_of(one.document),
        "all day": one.all_day,
        "recurring": fields.get("rrule"),
        **{entity_key(str(name)): True for name in fields.get("categories") or ()},
    }
    wanted = set(terms(event_type))
    return bool(are.get(key)) or (bool(wanted) and wanted <= set(terms(one.document.title)))


# --- as a result -------------------------------------------------------------------------


def moment(time: datetime, all_day: bool) -> str:
    """A day, or a time with its zone's offset."""
    return time.date().isoformat() if all_day else time.isoformat()


def _notes(
    engine: Engine, events: Iterable[DocumentInfo]
) -> defaultdict[str, list[dict[str, str]]]:
    """Other documents that name an event, by its title."""
    titles = {one.title: entity_key(one.title) for one in events}
    ids = engine.store.resolve(list(titles.values()))
    mentioning = engine.store.entity_documents(list(ids.values()))
    documents = {one.id: one for one in engine.store.documents(ids=list(mentioning))}
    found = defaultdict[str, list[dict[str, str]]](list)
    for title, key in titles.items():
        about = [d for i, d in documents.items() if ids.get(key) in mentioning[i]]
        found[title] = [
            {"id": d.id, "title": d.title, "source": d.source}
            for d in about
            if d.metadata.get("entity_type") != "event"
        ][:_NOTES]
    return found


# `graph_search_nodes`: entities with their type, properties and neighbours.


NODE_TYPES = {"Entity": "", "Event": "event", "Contact": "person", "Concept": "concept"}
"""Entity types by the names that assistants use; `Entity` is any."""
_LABELS = {kind: label for label, kind in NODE_TYPES.items() if kind}
_NEIGHBORS = 10


@operation("Search nodes", shape(query="string", count="integer", nodes="array"))
def graph_search_nodes(
    call: Call,
    query: Annotated[str, "What is looked for.", Limits(max_length=10_000, blank=False)],
    limit: Annotated[int, "Nodes", between(1, 100)] = 10,
    node_types: Annotated[
        Sequence[str],
        f"Among {', '.join(NODE_TYPES)}. Default: all.",
        Limits(max_items=4, choices=tuple(NODE_TYPES)),
    ] = (),
) -> Result:
    """Events, contacts, concepts and other entities that answer a question."""
    from clew.search.around import near

    engine = call.engine
    wanted = node_types or ["Entity"]
    kinds = [] if "Entity" in wanted else [NODE_TYPES[name] for name in wanted]
    hits, notes = engine.entities.search(query, limit=limit, node_types=kinds)
    # What documents say of the entities that they describe, by type and key.
    types = engine.state.packs.entity_types
    properties: dict[tuple[str, str], dict[str, Any]] = {}
    for kind in {hit.entity.entity_type for hit in hits} & types.keys():
        names = {field.name for field in types[kind].fields}
        for one in engine.entities.described(kind):
            known = {name: value for name, value in one.metadata.items() if name in names}
            properties[kind, entity_key(one.title)] = {**known, "source": one.source}
    nodes = []
    for hit in hits:
        entity = hit.entity
        around, _ = near(
            engine.store,
            engine.state.entity_graph,
            entity.id,
            depth=1,
            limit=_NEIGHBORS,
            moment=engine.state.now(),
        )
        nodes.append(
            {
                "id": entity.id,
                "name": entity.name,
                "type": _LABELS.get(entity.entity_type, "Entity"),
                "entity_type": entity.entity_type,
                "score": hit.combined_score,
                "content": hit.content[:500],
                "properties": properties.get((entity.entity_type, entity.key), {}),
                "neighbors": [
                    {"id": n.entity_id, "name": n.name, "relation": n.relation} for n in around
                ],
            }
        )
    return {"query": query, "count": len(nodes), "nodes": nodes, "notes": list(notes)}


# `contacts_search`: people with their addresses, organisations and meetings.


_BACK, _AHEAD = timedelta(days=2 * 366), timedelta(days=366)
"""How far a last and a next meeting are looked for, the last one then among all."""
_FIRST = datetime(1900, 1, 1)


@operation("Contacts", shape(count="integer", people="array"))
def contacts_search(
    call: Call,
    query: Annotated[
        str,
        "A name, nickname, address or organisation, or what they do: the skipper, plumber at Acme.",
        Limits(blank=False),
    ],
    organisation: Annotated[str | None, "Only people of this organisation."] = None,
    limit: Annotated[int, "People", between(1, 100)] = 10,
) -> Result:
    """People by name, work or organisation, with addresses, last and next meeting."""
    engine, work = call.engine, Work()
    if not entity_key(query):
        raise InputError(
            f"query {query[:40]!r} has neither letters nor digits; expected a name, a nickname, an"
            " address, an organisation, or what somebody does"
        )
    cards = {
        one.source: _card(one.title, one.metadata, one.source)
        for kind in ("person", "organisation")
        for one in engine.entities.described(kind)
        if one.media_type == MEDIA_TYPE and _is_at(one, organisation or "")
    }
    found = [(_likeness(query, card), card) for card in cards.values()]
    found = sorted((one for one in found if one[0]), key=lambda one: (-one[0], one[1]["name"]))
    people = [card for _, card in found[:limit]]
    is_named = any(score > 1 for score, _ in found)
    if not organisation and len(people) < limit:
        # Whom mail, notes and calendars name, and of whom there is no contact.
        known = {entity_key(n) for p in people for n in (p["name"], *p["emails"], *p["nicknames"])}
        for entity in engine.entities.find(query, 50):
            if entity.entity_type != "person" or len(people) >= limit:
                continue
            names = [alias.name for alias in engine.entities.aliases(entity)]
            if known.isdisjoint(map(entity_key, names)):
                nicknames = [n for n in names if "@" not in n and n != entity.name]
                emails = [name for name in names if "@" in name]
                people.append(_card(entity.name, {"emails": emails, "nicknames": nicknames}, None))
                is_named |= _likeness(query, people[-1]) > 1
    if not is_named:  # but perhaps described
        others = cards.keys() - {one["source"] for one in people}
        within = {"field": "source", "operator": "in", "value": sorted(others)}
        near = engine.search(query, where=within, limit=limit, explain=False, context=False)
        people += [cards[one] for one in dict.fromkeys(hit.chunk.source for hit in near.hits)]
    people = list(_with_meetings(engine, people[:limit], work))
    return {"count": len(people), "people": people}


def _card(name: str, fields: Mapping[str, Any], source: str | None) -> dict[str, Any]:
    lists = {field: fields.get(field) or [] for field in ("emails", "phones", "nicknames")}
    texts = {
        field: fields.get(field)
        for field in ("organisation", "department", "role", "occupation", "birthday", "note")
    }
    return {"name": name, **lists, **texts, "source": source}


def _likeness(query: str, card: Mapping[str, Any]) -> int:
    """4 for a whole name, 3 for words of one, 2 where the contact says all words of the query.

    1 for the beginning of a name or of the organisation; 0 for nothing.
    """
    key, wanted = entity_key(query), {*terms(query)}
    keys = list(map(entity_key, (card["name"], *card["emails"], *card["nicknames"])))
    said = terms(" ".join(str(value) for field, value in card.items() if field != "source"))
    ways = (
        key in keys,
        any(set(key.split()) <= set(one.split()) for one in keys),
        wanted <= {*said} and bool(wanted),
        any(f" {key}" in f" {one}" for one in (*keys, entity_key(card["organisation"] or ""))),
    )
    return len(ways) - [*ways, True].index(True)


def _is_at(card: DocumentInfo, organisation: str) -> bool:
    return entity_key(organisation) in entity_key(str(card.metadata.get("organisation", "")))


def _with_meetings(
    engine: Engine, people: list[dict[str, Any]], work: Work
) -> Iterator[dict[str, Any]]:
    """People with their last and next meeting, among the events that name one of them."""
    now, store = engine.state.now(), engine.store
    keys = [frozenset(map(entity_key, (one["name"], *one["emails"]))) for one in people]
    ids = store.resolve(sorted(frozenset().union(*keys)))
    naming = store.entity_documents(list(ids.values()))
    events = [d for d in store.documents(ids=list(naming)) if d.metadata.get(TYPE) == "event"]
    meetings = occurrences(engine, Range(now - _BACK, now + _AHEAD), events, work)
    for one, names in zip(people, keys, strict=True):
        own = {ids[key] for key in names & ids.keys()}
        theirs = {d.id for d in events if own.intersection(naming[d.id]) and attends(d, names)}
        times = [meeting for meeting in meetings if meeting.document.id in theirs]
        past = [meeting for meeting in times if meeting.start <= now]
        if not past:  # what goes on for ever would have been among these
            own_events = [d for d in events if d.id in theirs]
            before = Range(_FIRST.replace(tzinfo=now.tzinfo), now)
            past = occurrences(engine, before, own_events, work)
        ahead = [meeting for meeting in times if meeting.start > now]
        yield {
            **one,
            "last_meeting": _meeting(past[-1], now) if past else None,
            "next_meeting": _meeting(ahead[0], now) if ahead else None,
        }


def _meeting(one: Occurrence, now: datetime) -> dict[str, str]:
    return {
        "title": one.document.title,
        "start": moment(one.start, one.all_day),
        "time_ago": ago(one.start, now),
        "source": one.document.source,
    }


# `tasks_query`: what is to be done, from files of tasks and from the lists in notes.


OVERDUE = "overdue"
"""What `due` may be beside a range: a day before today, of what is still to be done."""


class Found(NamedTuple):
    """A task and where it stands."""

    id: str
    """Id of its document; of a note's, with its number there."""
    task: Task
    document: DocumentInfo

    @property
    def keys(self) -> set[str]:
        """Keys of the people of the task, whole and in words."""
        names = (*self.task.people, *self.task.contexts)
        keys = {key for name in names for key in (entity_key(name), _context_key(name))}
        return keys.union(*(key.split() for key in keys))


@operation("Tasks", shape(count="integer", tasks="array"))
def tasks_query(
    call: Call,
    status: Annotated[str | None, f"{_STATUSES}. Default: any.", Limits(choices=STATUSES)] = None,
    due: Annotated[str | None, f"When due: {OVERDUE}, {_RANGES}"] = None,
    project: Annotated[str | None, "Only of this project."] = None,
    limit: Annotated[int, "Tasks", between(1, 200)] = 20,
    person: Annotated[str | None, "Only those of somebody, by name or address."] = None,
) -> Result:
    """Tasks of todo.txt, calendars and notes, the most urgent first."""
    engine, now = call.engine, call.engine.state.now()
    overdue = (due or "").strip().casefold() == OVERDUE
    asked = read_range(due, now, also=(OVERDUE,)) if due and not overdue else None
    if overdue:
        asked = Range(datetime(1970, 1, 1, tzinfo=now.tzinfo), read_range("today", now).start)
    wanted = {status} if status else (OPEN, DOING) if overdue else STATUSES
    people = known_as(engine, person) if person else None
    found = [
        one
        for one in all_tasks(engine)
        if one.task.status in wanted
        and (
            asked is None
            or (
                one.task.due
                and asked.start.date() <= date.fromisoformat(one.task.due) < asked.end.date()
            )
        )
        and (not project or entity_key(project) == entity_key(one.task.project))
        and (people is None or not people.isdisjoint(one.keys))
    ]
    found.sort(key=lambda one: (one.task.due or "9", one.task.priority or "~", one.task.title))
    kept = found[:limit]
    # Those of the contexts that name people whom the store knows.
    keys = {name: _context_key(name) for one in kept for name in one.task.contexts}
    ids = engine.store.resolve(list(keys.values()))
    persons = {e.id for e in engine.store.entities(list(ids.values())) if e.entity_type == "person"}
    known = {name for name, key in keys.items() if ids.get(key) in persons}
    return {
        "count": len(found),
        "left_out": len(found) - len(kept),
        "due": {"asked": due, **shown(asked, now)} if asked else None,
        "tasks": [
            {
                "id": one.id,
                "title": one.task.title,
                "status": one.task.status,
                "due": one.task.due or None,
                "priority": one.task.priority or None,
                "project": one.task.project or None,
                "people": [*one.task.people, *(n for n in one.task.contexts if n in known)],
                "contexts": [name for name in one.task.contexts if name not in known],
                "document": one.document.title,
                "source": one.document.source,
            }
            for one in kept
        ],
    }


def _context_key(name: str) -> str:
    """The key of whom a context such as `@ada.morn` may name."""
    return entity_key(name.replace(".", " ").replace("_", " "))


def all_tasks(engine: Engine) -> Iterator[Found]:
    """Every task of the store."""
    for document in engine.entities.described("task"):
        yield Found(document.id, _of_document(document), document)
    for note in engine.documents.list(["tasks>=1"]):
        if note.media_type == "text/markdown":
            yield from _of_note(engine, note)


def find_task(engine: Engine, id_: str) -> Found:
    """A task by its id. Raises `NotFoundError`."""
    for one in all_tasks(engine):
        if one.id == id_:
            return one
    raise NotFoundError(f"there is no task {id_!r}; take an id from tasks_query")


def _of_document(document: DocumentInfo) -> Task:
    fields = document.metadata
    return Task(
        title=document.title,
        status=str(fields.get("status", OPEN)),
        due=str(fields.get("due", "")),
        priority=str(fields.get("priority", "")),
        project=str(fields.get("project", "")),
        people=tuple(map(name_of, from_flat(fields.get("people")))),
        contexts=tuple(map(str, fields.get("contexts") or ())),
        line=str(fields.get("line", "")),
    )


def _of_note(engine: Engine, note: DocumentInfo) -> Iterator[Found]:
    text = engine.documents.text(note.id)
    for number, task in enumerate(markdown_tasks(text), 1):
        yield Found(f"{note.id}:{number}", task, note)


# `tasks_update`: a change of a task in the file that it stands in, where that is allowed.
#
# The line, or the lines of the VTODO, are the only ones that change. The file is replaced in one
# step, and only while it still says what the store knows of it.


_OF_STATUS = {OPEN: "NEEDS-ACTION", DOING: "IN-PROCESS", DONE: "COMPLETED", CANCELLED: "CANCELLED"}
_GONE = "{source!r} says that task no more; index it again, then ask"
_PROPERTY = r"^{name}[;:][^\r\n]*(?:\r?\n[ \t][^\r\n]*)*\r?\n"


@operation(
    "Change a task",
    shape(id="string", title="string", changed="array", file="string"),
    rights="write",
    idempotent=True,
    open_world=True,
)
def tasks_update(
    call: Call,
    id: Annotated[str, "From tasks_query.", Limits(max_length=100)],
    status: Annotated[
        str | None, f"{_STATUSES}. Default: as it is.", Limits(choices=STATUSES)
    ] = None,
    due: Annotated[
        str | None, "A day such as 2024-05-01; empty for none. Default: as it is."
    ] = None,
    priority: Annotated[
        str | None,
        "A (highest) to Z; empty for none. Default: as it is.",
        Limits(max_length=1),
    ] = None,
) -> Result:
    """Change a task in its file, where the setting access.write allows it."""
    engine = call.engine
    wanted = {"status": status, "due": due, "priority": priority}
    changes = {name: value for name, value in wanted.items() if value is not None}
    if not changes:
        raise InputError("nothing to change was given; give status, due or priority")
    try:
        if changes.get("due"):
            datetime.strptime(changes["due"], "%Y-%m-%d")
    except ValueError as error:
        raise InputError(
            f"due {changes['due'][:40]!r} is no day; expected one such as 2024-05-01"
        ) from error
    if changes.get("priority") and changes["priority"].upper() not in ascii_uppercase:
        raise InputError(f"priority {changes['priority']!r} is no letter; expected A to Z")
    found = find_task(engine, id)
    path = writable_path(found.document.origin or found.document.source, engine.settings)
    try:
        with open_real(path) as file:
            before = file.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be changed ({error}); change it by hand") from error
    is_line = found.document.media_type == "text/markdown" or found.task.line
    after = (_in_line if is_line else _in_calendar)(before, found, changes)
    if after != before:
        replace_file(path, after)
    engine.documents.index([path])
    changed = sorted(changes)
    return {"id": found.id, "title": found.task.title, "changed": changed, "file": str(path)}


# --- the new text ------------------------------------------------------------------------


def _in_line(text: str, found: Found, changes: dict[str, str]) -> str:
    """The text with the one line changed that says the task; of several alike, the first."""
    lines = re.finditer(r"[^\r\n]+", text)
    match = next((one for one in lines if one[0].strip() == found.task.line.strip()), None)
    if match is None:
        raise InputError(_GONE.format(source=found.document.source))
    line, status = match[0], changes.get("status")
    if found.document.media_type == "text/markdown":
        item = ITEM.match(line)
        assert item is not None
        mark = MARKS[status] if status else item["mark"]
        line = f"{item['before']}{mark}] {_worded(item['text'], changes)}"
    elif status in (DOING, CANCELLED):
        raise InputError(f"todo.txt knows no status {status!r}; expected {OPEN} or {DONE}")
    else:
        done = FINISHED.match(line)
        words = _worded(line[done.end() :] if done else line, changes)
        opening = done[0] if done and status is None else ""
        if status == DONE:
            opening = f"x {datetime.now(UTC).date().isoformat()} "
        line = opening + words
    return text[: match.start()] + line + text[match.end() :]


def _worded(words: str, changes: dict[str, str]) -> str:
    """The words of a task with another due day and priority; empty takes them away."""
    if "priority" in changes:
        letter = changes["priority"].upper()
        words = (f"({letter}) " if letter else "") + PRIORITY.sub("", words)
    if "due" in changes:
        words = DUE.sub("", words) + (f" due:{changes['due']}" if changes["due"] else "")
    return words


def _in_calendar(text: str, found: Found, changes: dict[str, str]) -> str:
    """The text with the properties of one VTODO set."""
    values: dict[str, str] = {}
    if "status" in changes:
        values["STATUS"] = _OF_STATUS[changes["status"]]
        done = changes["status"] == DONE
        values["COMPLETED"] = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}" if done else ""
    if "due" in changes:
        values["DUE"] = changes["due"].replace("-", "")
    if "priority" in changes:
        letter = changes["priority"].upper()
        values["PRIORITY"] = str(min(ord(letter) - ord("A") + 1, 9)) if letter else ""
    uid = found.document.source.rpartition("#todo/")[2]
    for match in re.finditer(r"^BEGIN:VTODO\r?\n", text, re.MULTILINE):
        end = text.find("END:VTODO", match.end())
        block = text[match.end() : end]
        if end < 0 or not re.search(rf"^UID:{re.escape(uid)}\r?$", block, re.MULTILINE):
            continue
        line_end = "\r\n" if "\r\n" in block else "\n"
        for name, value in values.items():
            block = re.sub(_PROPERTY.format(name=name), "", block, flags=re.MULTILINE)
            stated = f"{name};VALUE=DATE:{value}" if name == "DUE" else f"{name}:{value}"
            block += f"{stated}{line_end}" if value else ""
        return text[: match.end()] + block + text[end:]
    raise InputError(_GONE.format(source=found.document.source))


TOOLS = (graph_search_nodes, calendar_query, contacts_search, tasks_query, tasks_update)
