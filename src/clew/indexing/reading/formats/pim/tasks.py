"""Tasks: of `todo.txt`, of VTODO, and of the task lists in Markdown notes.

A line of `todo.txt` and a VTODO are documents. A task of a note stays in the note: the note's
metadata say how many it has, and its lines are read when tasks are asked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from clew.indexing.reading.formats.common import ReadResult, check_limit, text_digest
from clew.indexing.reading.formats.encoding import decode
from clew.indexing.reading.formats.entity_document import record
from clew.indexing.reading.formats.markup import read_markdown
from clew.indexing.reading.formats.pim.people import fitting, name_of, person
from clew.types import Document

if TYPE_CHECKING:
    from clew.indexing.reading.formats.common import RawFile
    from clew.indexing.reading.formats.pim.components import Component

MEDIA_TYPE = "text/x-task"
OPEN, DOING, DONE, CANCELLED = "open", "in_progress", "done", "cancelled"
STATUSES = (OPEN, DOING, DONE, CANCELLED)
_OF_TODO = {"COMPLETED": DONE, "IN-PROCESS": DOING, "CANCELLED": CANCELLED}
_OF_MARK = {" ": OPEN, "x": DONE, "X": DONE, "/": DOING, "-": CANCELLED}
MARKS = {OPEN: " ", DONE: "x", DOING: "/", CANCELLED: "-"}
ITEM = re.compile(
    r"^(?P<before>[ \t]{0,40}(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}\[)(?P<mark>[ xX/-])\][ \t]{1,4}"
    r"(?P<text>\S[^\n]{0,1000})$",
    re.MULTILINE,
)
"""A line of a task list in Markdown."""
_DATE = r"(\d{4}-\d{2}-\d{2})"
_DUE = re.compile(rf"(?:\bdue:|@due\(|📅[ ]?|\(due[ ]|\bdue[ ]){_DATE}\)?", re.IGNORECASE)
_PROJECT = re.compile(r"(?:(?<=\s)|^)\+([\w-]{1,80})")
_WHO = re.compile(r"(?:(?<=\s)|^)@([^\W\d][\w.-]{0,80})(?![\w(])")
_PRIORITY = re.compile(r"^\(([A-Z])\) ")
_DONE = re.compile(rf"^x (?:{_DATE} )?(?:{_DATE} )?")
_MADE = re.compile(rf"^{_DATE} ")
_PAIR = re.compile(r"(?:(?<=\s)|^)[a-z]{1,20}:\S{1,80}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """Something to do."""

    title: str
    status: str = OPEN
    due: str = ""
    """ISO 8601 day; empty for none."""
    priority: str = ""
    """A to Z; empty for none."""
    project: str = ""
    people: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    """Of `todo.txt`, where `@` says a place or a tool as often as a person."""
    line: str = ""
    """The line of the file that says it."""


def task_of(words: str, status: str, line: str) -> Task:
    """A task from its words: `due:2024-05-01`, `+project`, `@somebody` are read and stay."""
    due, project = _DUE.search(words), _PROJECT.search(words)
    urgent = _PRIORITY.match(words)
    title = words
    for told in (_PRIORITY, _DUE, _PROJECT, _WHO, _PAIR):
        title = told.sub("", title)
    return Task(
        title=" ".join(title.split()) or words,
        status=status,
        due=due[1] if due and _is_day(due[1]) else "",
        priority=urgent[1] if urgent else "",
        project=project[1] if project else "",
        people=tuple(match[1].strip(".") for match in _WHO.finditer(words)),
        line=line,
    )


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


# --- Markdown ----------------------------------------------------------------------------


def markdown_tasks(text: str) -> Iterator[Task]:
    """The tasks of a note, in order."""
    for match in ITEM.finditer(text):
        yield task_of(match["text"].strip(), _OF_MARK[match["mark"]], match[0])


def read_notes(raw: RawFile) -> ReadResult:
    """A note as ever, with the number of its tasks in its metadata."""
    found = read_markdown(raw)
    documents = tuple(
        replace(one, metadata={**one.metadata, "tasks": count})
        if (count := len(ITEM.findall(one.text)))
        else one
        for one in found.documents
    )
    return replace(found, documents=documents)


# --- todo.txt ----------------------------------------------------------------------------


def todo_line(line: str) -> Task:
    """The task of a line of `todo.txt`."""
    done = _DONE.match(line)
    words = _MADE.sub("", line[done.end() :] if done else line)
    urgent = _PRIORITY.match(words)
    if urgent:
        words = urgent[0] + _MADE.sub("", words[urgent.end() :])
    task = task_of(words, DONE if done else OPEN, line)
    return replace(task, people=(), contexts=task.people)


def read_todo_txt(raw: RawFile) -> ReadResult:
    """A document a line."""
    lines = [line.strip() for line in decode(raw).split("\n") if line.strip()]
    check_limit(raw.limits, "elements", len(lines), raw.source)
    seen: Counter[str] = Counter()
    documents = []
    for line in lines:
        task = todo_line(line)
        key = text_digest(task.title.casefold())[:12]
        seen[key] += 1
        again = f"-{seen[key]}" if seen[key] > 1 else ""
        documents.append(task_record(raw, f"{key}{again}", task, line, None))
    return ReadResult(documents=tuple(documents))


def task_record(
    raw: RawFile, key: str, task: Task, text: str, people: list[str] | None
) -> Document:
    """The document of a task; its date is the day on which it is due."""
    fields = {
        "status": task.status,
        "due": task.due,
        "priority": task.priority,
        "project": task.project,
        "people": people or list(task.people) or None,
        "contexts": list(task.contexts) or None,
        "line": task.line,
    }
    return record(
        raw,
        key,
        text,
        title=task.title[:200],
        media_type=MEDIA_TYPE,
        entity_type="task",
        fields=fields,
        date=task.due or None,
    )


# --- VTODO -------------------------------------------------------------------------------


def todo(raw: RawFile, component: Component) -> Document:
    """The document of a VTODO."""
    title = " ".join(str(component.get("SUMMARY", "")).split()) or "(untitled task)"
    status = _OF_TODO.get(str(component.get("STATUS", "")).upper(), OPEN)
    if "COMPLETED" in component:
        status = DONE
    named = component.get("ATTENDEE", [])
    people = [person(one) for one in (named if isinstance(named, list) else [named])]
    projects = [str(one) for many in _categories(component) for one in many.cats]
    description = str(component.get("DESCRIPTION", "")).strip()
    due = _day(component["DUE"].dt) if "DUE" in component else ""
    task = Task(
        title=title,
        status=status,
        due=due,
        priority=_letter(int(component.get("PRIORITY", 0))),
        project=projects[0] if projects else "",
    )
    said = [title, *([f"Due: {due}"] if due else []), f"Status: {status.replace('_', ' ')}"]
    if people:
        said.append(f"For: {', '.join(map(name_of, people))}")
    text = "\n".join([*said, *(["", description] if description else [])])
    uid = str(component.get("UID", "")) or text_digest(text)[:12]
    return task_record(raw, f"todo/{uid}", task, text, fitting(people))


def _categories(component: Component) -> list[Any]:
    found = component.get("CATEGORIES", [])
    return found if isinstance(found, list) else [found]


def _day(due: date) -> str:
    if isinstance(due, datetime):
        due = due.astimezone(UTC) if due.tzinfo else due
        return due.date().isoformat()
    return due.isoformat()


def _letter(priority: int) -> str:
    """ICalendar's 1 (highest) to 9 as a letter; none for 0."""
    return chr(ord("A") + priority - 1) if 1 <= priority <= 9 else ""
