"""`calendar_query`: what happens within a range, with its people, place and notes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from clew.indexing.reading.formats.mail.people import Person, from_flat
from clew.indexing.reading.formats.pim.people import name_of
from clew.text import entity_key, terms
from clew.times.calendar_ranges import Range, ago, read_range, shown
from clew.times.recurrence import Work, series_of

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.tools.spec import Arguments, Call, Result
    from clew.types import DocumentInfo

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


def calendar_query(call: Call, arguments: Arguments) -> Result:
    """The events within a range of time."""
    engine, now = call.engine, call.engine.state.now()
    work = Work()
    asked = read_range(arguments["time_range"], now)
    attendee = arguments["attendee"]
    people = known_as(engine, attendee) if attendee else frozenset()
    found = [
        one
        for one in occurrences(engine, asked, _events(engine, asked), work)
        if (not arguments["event_type"] or _is_of_type(one, arguments["event_type"]))
        and (not attendee or attends(one.document, people))
    ]
    kept = found[:MOST]
    return {
        "time_range": {"asked": arguments["time_range"], **shown(asked, now)},
        "event_count": len(found),
        "left_out": len(found) - len(kept),
        "events": list(_shown(engine, kept, now)),
    }


def _events(engine: Engine, asked: Range) -> list[DocumentInfo]:
    """The events that may overlap a range: days are days of UTC here."""
    day = timedelta(days=1)
    since, until = (asked.start - day).date(), (asked.end + day).date()
    return engine.entities.described("event", since, until)


def occurrences(
    engine: Engine, asked: Range, events: Iterable[DocumentInfo], work: Work
) -> list[Occurrence]:
    """When events overlap a range, in order; those that are cancelled are left out.

    Raises `InputError` where that takes more than is left of the work.
    """
    home = ZoneInfo(engine.settings.search.time_zone)
    found: list[Occurrence] = []
    for document in events:
        if document.metadata.get("status") == "cancelled":
            continue
        series = series_of(document.metadata, home)
        found += (
            Occurrence(document=document, start=start, end=end, all_day=series.all_day)
            for start, end in series.between(asked.start, asked.end, work)
        )
    return sorted(found, key=attrgetter("start", "end", "document.source"))


def known_as(engine: Engine, name: str) -> frozenset[str]:
    """Keys of the names and addresses of all whom a name means, or of those who work there."""
    key = entity_key(name)
    keys = {key}
    for card in engine.entities.described("person"):
        if key and key in entity_key(str(card.metadata.get("organisation", ""))):
            fields = card.metadata
            names = [card.title, *(fields.get("emails") or []), fields.get("known_as", "")]
            keys.update(entity_key(one) for one in names if one)
    for entity in engine.entities.find(name, 5):
        aliases = {entity_key(alias.name) for alias in engine.entities.aliases(entity)}
        whole = any(key == one for one in aliases)
        if whole or any(key in one.split() for one in aliases):
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
    kinds = {entity_key(str(name)) for name in one.document.metadata.get("categories") or ()}
    kinds |= {"meeting"} if people_of(one.document) else set()
    kinds |= {"all day"} if one.all_day else set()
    kinds |= {"recurring"} if one.document.metadata.get("rrule") else set()
    wanted = set(terms(event_type))
    return key in kinds or (bool(wanted) and wanted <= set(terms(one.document.title)))


# --- as a result -------------------------------------------------------------------------


def _shown(engine: Engine, found: Sequence[Occurrence], now: datetime) -> Iterator[dict[str, Any]]:
    documents = {one.document.id: one.document for one in found}
    entities = _entities(engine, documents)
    notes = _notes(engine, documents.values())
    contacts = _contacts(engine)
    for one in found:
        people = people_of(one.document)
        yield {
            "id": one.document.id,
            "title": one.document.title,
            "start": moment(one.start, one.all_day),
            "end": moment(one.end, one.all_day),
            "place": one.document.metadata.get("place"),
            "attendees": [{"name": p.name or None, "address": p.address or None} for p in people],
            "entities": entities[one.document.id],
            "contacts": [
                contacts[key]
                for key in dict.fromkeys(entity_key(p.address or p.name) for p in people)
                if key in contacts
            ],
            "notes": notes[one.document.title],
            "time_ago": ago(one.start, now),
            "source": one.document.source,
        }


def moment(time: datetime, all_day: bool) -> str:
    """A day, or a time with its zone's offset."""
    return time.date().isoformat() if all_day else time.isoformat()


def _entities(engine: Engine, documents: Iterable[str]) -> defaultdict[str, list[str]]:
    """What each event states relations of: its people, its place."""
    store, found = engine.store, defaultdict[str, list[str]](list)
    chunks = {chunk.id: chunk.document_id for chunk in store.document_chunks(*documents)}
    stated = store.chunk_relations(list(chunks)) if chunks else []
    names = store.entity_names([i for r in stated for i in (r.from_entity_id, r.to_entity_id)])
    for relation in stated:
        held = found[chunks[relation.chunk_id or 0]]
        for id_ in (relation.from_entity_id, relation.to_entity_id):
            if names[id_] not in held:
                held.append(names[id_])
    return found


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


def _contacts(engine: Engine) -> Mapping[str, dict[str, Any]]:
    """Contacts by the keys of their names and addresses."""
    found = {}
    for one in engine.entities.described("person"):
        emails = one.metadata.get("emails") or []
        card = {
            "name": one.title,
            "emails": emails,
            "organisation": one.metadata.get("organisation"),
        }
        found.update({entity_key(name): card for name in [one.title, *emails]})
    return found
