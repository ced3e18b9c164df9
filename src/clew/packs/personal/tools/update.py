"""`tasks_update`: a change of a task in the file that it stands in, where that is allowed.

The line, or the lines of the VTODO, are the only ones that change. The file is replaced in one
step, and only while it still says what the store knows of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.indexing.access import open_real, replace_file, writable_path
from clew.indexing.reading.formats.pim.tasks import CANCELLED, DOING, DONE, ITEM, MARKS, OPEN
from clew.packs.personal.tools.todo import Found, find_task

if TYPE_CHECKING:
    from clew.tools.spec import Arguments, Call, Result

_DUE = re.compile(r" ?(?:\bdue:|@due\(|📅 ?|\(due )\d{4}-\d{2}-\d{2}\)?")
_PRIORITY = re.compile(r"^\([A-Z]\) ")
_DONE = re.compile(r"^x (?:\d{4}-\d{2}-\d{2} ){0,2}")
_OF_STATUS = {OPEN: "NEEDS-ACTION", DOING: "IN-PROCESS", DONE: "COMPLETED", CANCELLED: "CANCELLED"}
_PROPERTY = r"^{name}[;:][^\r\n]*(?:\r?\n[ \t][^\r\n]*)*\r?\n"


def tasks_update(call: Call, arguments: Arguments) -> Result:
    """Change status, due day or priority of a task."""
    engine = call.engine
    changes = {name: arguments[name] for name in ("status", "due", "priority")}
    changes = {name: value for name, value in changes.items() if value is not None}
    if not changes:
        raise InputError("nothing to change was given; give status, due or priority")
    if changes.get("due"):
        _check_day(changes["due"])
    if changes.get("priority") and changes["priority"].upper() not in ascii_uppercase:
        raise InputError(f"priority {changes['priority']!r} is no letter; expected A to Z")
    found = find_task(engine, arguments["id"])
    path = writable_path(found.document.origin or found.document.source, engine.settings)
    before = _text(path)
    after = _changed(before, found, changes)
    if after != before:
        replace_file(path, after)
    engine.documents.index([path])
    changed = sorted(changes)
    return {"id": found.id, "title": found.task.title, "changed": changed, "file": str(path)}


def _check_day(text: str) -> None:
    try:
        datetime.strptime(text, "%Y-%m-%d")
    except ValueError as error:
        raise InputError(f"due {text[:40]!r} is no day; expected one such as 2024-05-01") from error


def _text(path: Path) -> str:
    try:
        with open_real(path) as file:
            return file.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be changed ({error}); change it by hand") from error


# --- the new text ------------------------------------------------------------------------


def _changed(text: str, found: Found, changes: dict[str, str]) -> str:
    if found.document.media_type == "text/markdown":
        return _changed_line(text, found, lambda line: _in_list(line, changes))
    if found.task.line:
        return _changed_line(text, found, lambda line: _in_todo_txt(line, changes))
    return _in_calendar(text, found, changes)


def _changed_line(text: str, found: Found, change: Callable[[str], str]) -> str:
    """The text with the one line changed that says the task; of several alike, the first."""
    for match in re.finditer(r"[^\r\n]+", text):
        if match[0].strip() == found.task.line.strip():
            return text[: match.start()] + change(match[0]) + text[match.end() :]
    raise InputError(f"{found.document.source!r} says that task no more; index it again, then ask")


def _in_list(line: str, changes: dict[str, str]) -> str:
    match = ITEM.match(line)
    assert match is not None
    mark = MARKS[changes["status"]] if "status" in changes else match["mark"]
    words = _worded(match["text"], changes)
    return f"{match['before']}{mark}] {words}"


def _in_todo_txt(line: str, changes: dict[str, str]) -> str:
    status = changes.get("status")
    if status in (DOING, CANCELLED):
        raise InputError(f"todo.txt knows no status {status!r}; expected {OPEN} or {DONE}")
    done = _DONE.match(line)
    if status is None and done:
        return done[0] + _worded(line[done.end() :], changes)
    words = _worded(line[done.end() :] if done else line, changes)
    return f"x {datetime.now(UTC).date().isoformat()} {words}" if status == DONE else words


def _worded(words: str, changes: dict[str, str]) -> str:
    """The words of a task with another due day and priority; empty takes them away."""
    if "priority" in changes:
        letter = changes["priority"].upper()
        words = (f"({letter}) " if letter else "") + _PRIORITY.sub("", words)
    if "due" in changes:
        words = _DUE.sub("", words) + (f" due:{changes['due']}" if changes["due"] else "")
    return words


def _in_calendar(text: str, found: Found, changes: dict[str, str]) -> str:
    """The text with the properties of one VTODO set."""
    uid = found.document.source.rpartition("#todo/")[2]
    for match in re.finditer(r"^BEGIN:VTODO\r?\n", text, re.MULTILINE):
        end = text.find("END:VTODO", match.end())
        block = text[match.end() : end]
        if end >= 0 and re.search(rf"^UID:{re.escape(uid)}\r?$", block, re.MULTILINE):
            return text[: match.end()] + _with_properties(block, changes) + text[end:]
    raise InputError(f"{found.document.source!r} says that task no more; index it again, then ask")


def _with_properties(block: str, changes: dict[str, str]) -> str:
    line_end = "\r\n" if "\r\n" in block else "\n"
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
    for name, value in values.items():
        block = re.sub(_PROPERTY.format(name=name), "", block, flags=re.MULTILINE)
        stated = f"{name};VALUE=DATE:{value}" if name == "DUE" else f"{name}:{value}"
        block += f"{stated}{line_end}" if value else ""
    return block
