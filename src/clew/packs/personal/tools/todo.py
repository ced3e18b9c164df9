"""`tasks_query`: what is to be done, from files of tasks and from the lists in notes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.errors import InputError, NotFoundError
from clew.indexing.reading.formats.mail.people import from_flat
from clew.indexing.reading.formats.pim import tasks
from clew.indexing.reading.formats.pim.people import name_of
from clew.indexing.reading.formats.pim.tasks import Task, markdown_tasks
from clew.packs.personal.tools.events import known_as
from clew.text import entity_key
from clew.times.calendar_ranges import Range, read_range, shown

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.tools.spec import Arguments, Call, Result
    from clew.types import DocumentInfo

OVERDUE = "overdue"
"""What `due` may be beside a range: a day before today, of what is still to be done."""
_UNDONE = (tasks.OPEN, tasks.DOING)


class Found(NamedTuple):
    """A task and where it stands."""

    id: str
    """Id of its document; of a note's, with its number there."""
    task: Task
    document: DocumentInfo


def tasks_query(call: Call, arguments: Arguments) -> Result:
    """Tasks by status, due date and project, the most urgent first."""
    engine, now = call.engine, call.engine.state.now()
    status, project = arguments["status"], arguments["project"]
    overdue = (arguments["due"] or "").strip().casefold() == OVERDUE
    due = _until_today(now) if overdue else None
    if arguments["due"] and not overdue:
        due = read_range(arguments["due"], now, also=(OVERDUE,))
    wanted = {status} if status else _UNDONE if overdue else tasks.STATUSES
    people = known_as(engine, arguments["person"]) if arguments["person"] else None
    found = [
        one
        for one in all_tasks(engine)
        if one.task.status in wanted
        and (due is None or _is_due(one.task, due.start.date(), due.end.date()))
        and (not project or entity_key(project) == entity_key(one.task.project))
        and (
            people is None
            or any(_is_of(who, people) for who in (*one.task.people, *one.task.contexts))
        )
    ]
    found.sort(key=lambda one: (one.task.due or "9", one.task.priority or "~", one.task.title))
    kept = found[: arguments["limit"]]
    known = _people_among(engine, {name for one in kept for name in one.task.contexts})
    return {
        "count": len(found),
        "left_out": len(found) - len(kept),
        "due": {"asked": arguments["due"], **shown(due, now)} if due else None,
        "tasks": [_shown(one, known) for one in kept],
    }


def _until_today(now: datetime) -> Range:
    return Range(datetime(1970, 1, 1, tzinfo=now.tzinfo), read_range("today", now).start)


def _is_due(task: Task, first: date, after: date) -> bool:
    return bool(task.due) and first <= date.fromisoformat(task.due) < after


def _is_of(who: str, people: frozenset[str]) -> bool:
    key = entity_key(who.replace(".", " ").replace("_", " "))
    return key in people or entity_key(who) in people or not people.isdisjoint(key.split())


def _people_among(engine: Engine, contexts: set[str]) -> set[str]:
    """Those of the contexts that name people whom the store knows."""
    keys = {name: entity_key(name.replace(".", " ").replace("_", " ")) for name in contexts}
    ids = engine.store.resolve(list(keys.values()))
    people = {e.id for e in engine.store.entities(list(ids.values())) if e.entity_type == "person"}
    return {name for name, key in keys.items() if ids.get(key) in people}


def _shown(one: Found, known: set[str]) -> dict[str, Any]:
    task = one.task
    contexts = [name for name in task.contexts if name not in known]
    return {
        "id": one.id,
        "title": task.title,
        "status": task.status,
        "due": task.due or None,
        "priority": task.priority or None,
        "project": task.project or None,
        "people": [*task.people, *(name for name in task.contexts if name in known)],
        "contexts": contexts,
        "document": one.document.title,
        "source": one.document.source,
    }


def all_tasks(engine: Engine) -> Iterator[Found]:
    """Every task of the store."""
    for document in engine.entities.described("task"):
        yield Found(document.id, _of_document(document), document)
    try:
        notes = engine.documents.list(["tasks>=1"])
    except InputError:  # no note has any
        return
    for note in notes:
        if note.media_type == "text/markdown":
            yield from _of_note(engine, note)


def find_task(engine: Engine, id_: str) -> Found:
    """A task by its id. Raises `NotFoundError`."""
    document_id, _, number = id_.partition(":")
    for document in engine.store.documents(ids=[document_id]):
        if not number and document.metadata.get("entity_type") == "task":
            return Found(id_, _of_document(document), document)
        for one in _of_note(engine, document) if number else ():
            if one.id == id_:
                return one
    raise NotFoundError(f"there is no task {id_!r}; take an id from tasks_query")


def _of_document(document: DocumentInfo) -> Task:
    fields = document.metadata
    return Task(
        title=document.title,
        status=str(fields.get("status", tasks.OPEN)),
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
