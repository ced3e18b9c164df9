"""`contacts_search`: people with their addresses, organisations and meetings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from clew.errors import InputError
from clew.indexing.reading.formats.entity_document import TYPE
from clew.packs.personal.tools.events import Occurrence, attends, moment, occurrences
from clew.text import entity_key
from clew.times.calendar_ranges import Range, ago
from clew.times.recurrence import Work

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.tools.spec import Arguments, Call, Result
    from clew.types import DocumentInfo, Entity

_BACK, _AHEAD = timedelta(days=2 * 366), timedelta(days=366)
"""How far a last and a next meeting are looked for, the last one then among all."""
_FIRST = datetime(1900, 1, 1)


def contacts_search(call: Call, arguments: Arguments) -> Result:
    """People by name, nickname, address or organisation, contacts first, best first."""
    engine, limit = call.engine, arguments["limit"]
    work = Work()
    query, organisation = arguments["query"], arguments["organisation"]
    if not entity_key(query):
        raise InputError(
            f"query {query[:40]!r} has neither letters nor digits; expected a name, a nickname, an"
            " address or an organisation"
        )
    cards = [
        (_likeness(query, one), one)
        for one in engine.entities.described("person")
        if not organisation or _is_at(one, organisation)
    ]
    cards.sort(key=lambda card: (-card[0], card[1].title))
    found = [one for score, one in cards if score][:limit]
    people = [_contact(one) for one in found]
    if not organisation and len(people) < limit:
        known = {entity_key(n) for p in people for n in (p["name"], *p["emails"], *p["nicknames"])}
        people += list(_others(engine, query, known, limit - len(people)))
    return {"count": len(people), "people": list(_with_meetings(engine, people, work))}


def _contact(card: DocumentInfo) -> dict[str, Any]:
    fields = card.metadata
    return {
        "name": card.title,
        "emails": fields.get("emails") or [],
        "phones": fields.get("phones") or [],
        "nicknames": fields.get("nicknames") or [],
        "organisation": fields.get("organisation"),
        "role": fields.get("role"),
        "birthday": fields.get("birthday"),
        "source": card.source,
    }


def _likeness(query: str, card: DocumentInfo) -> int:
    """3 for a whole name, 2 for words of one, 1 for the organisation or a part; 0 for nothing."""
    key = entity_key(query)
    fields = card.metadata
    names = [card.title, *(fields.get("emails") or []), *(fields.get("nicknames") or [])]
    keys = [entity_key(name) for name in names]
    if key in keys:
        return 3
    if any(set(key.split()) <= set(one.split()) for one in keys):
        return 2
    others = [*keys, entity_key(str(fields.get("organisation", "")))]
    return int(any(key in one for one in others))


def _is_at(card: DocumentInfo, organisation: str) -> bool:
    key = entity_key(organisation)
    return key in entity_key(str(card.metadata.get("organisation", "")))


def _others(engine: Engine, query: str, known: set[str], limit: int) -> Iterator[dict[str, Any]]:
    """People whom mail, notes and calendars name, and of whom there is no contact."""
    found: list[Entity] = engine.entities.find(query, 50)
    for entity in (one for one in found if one.entity_type == "person"):
        names = [alias.name for alias in engine.entities.aliases(entity)]
        if limit and known.isdisjoint(entity_key(name) for name in names):
            limit -= 1
            yield {
                "name": entity.name,
                "emails": [name for name in names if "@" in name],
                "phones": [],
                "nicknames": [n for n in names if "@" not in n and n != entity.name],
                "organisation": None,
                "role": None,
                "birthday": None,
                "source": None,
            }


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
