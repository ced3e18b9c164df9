"""What was changed by hand, and taking it back: the audit log knows the way."""

from __future__ import annotations

import os
import re
import tomllib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, SecretStr
from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response

from clew.errors import InputError, NotFoundError
from clew.operations.documents import submit
from clew.operations.spec import Call, Caller, Limits, Result, operation
from clew.ports import AuditEntry
from clew.settings import SETTINGS_FILE, Settings
from clew.web.request import TOOL_NAMES, PageRequest, render_page

READ = 500
"""Entries of the log that are looked through, the newest."""
ENDS = ("entity_id", "new_entity_id", "source_id", "target_id", "other_id")
"""What of an entry names an entity."""


def changes(page: PageRequest, entity: int | None = None) -> list[AuditEntry]:
    """Those that the caller may take back, of one entity or all, the newest first.

    Whoever may not read the log sees their own.
    """
    if not page.may("undo_change"):
        return []
    return [
        entry
        for entry in page.engine.maintenance.audit(limit=READ)
        if entry.undo is not None
        and page.may(entry.tool)
        and (entity is None or entity in {entry.undo.get(name) for name in ENDS})
        and (page.may("audit") or entry.caller == page.scope.caller.name)
    ]


def undo(page: PageRequest) -> Response:
    """Take a change back, then show what it was about."""
    number = page.id("change")
    entry = next((change for change in changes(page) if change.id == number), None)
    if entry is None or entry.undo is None:
        raise NotFoundError(f"change {number} is not there to be taken back; look at the log again")
    page.call("undo_change", entry_id=number)
    # To the page of what the change was about.
    known = entry.undo
    if entry.tool == "refuse_merge":
        place = page.url("merges")
    elif entry.tool == "merge_entities":
        place = page.url("entity", name=known["names"][0])
    else:  # what was split off is no entity any more
        own = None if entry.tool == "split_entity" else page.sent("entity")
        place = page.url(f"entities/{own or known.get('entity_id')}")
    return RedirectResponse(place, 303)


# Putting the graph right: each change through its tool, each page then offers the way back.


PAIRS = 50
"""Suggestions shown."""


def sends(
    tool: str, place: str = "", *, exact: bool = True, ticked: str = "", **fixed: object
) -> Callable[[PageRequest], Response]:
    """What a form does: it calls a tool, then shows `place`, or the entity that was changed.

    The tool's arguments are in the address and in the form, by their names; a `target` there is an
    entity, by its whole name where it has to be `exact`. `ticked` is the argument of boxes to tick.
    The page of the entity says what was done and offers to undo it.
    """

    def run(page: PageRequest) -> Response:
        given = {**page.arguments(page.form, TOOL_NAMES[tool].parameters), **fixed}
        entities = page.engine.entities
        if target := page.sent("target"):
            given["target_id"] = (entities.named(target) if exact else entities.get(target)).id
        if ticked and ticked not in given:
            raise InputError("no name is ticked; go back and tick those that are another's")
        done = page.call(tool, **given)
        if place:
            return RedirectResponse(page.url(place), 303)
        shown = done.get("new_entity_id") or done.get("entity_id")
        shown = shown or entities.get(page.sent("entity")).id
        name, entries = page.scope.caller.name, page.engine.maintenance.audit(limit=20)
        change = next((e.id for e in entries if (e.tool, e.caller) == (tool, name)), None)
        return RedirectResponse(page.url(f"entities/{shown}", change=change), 303)

    return run


def suggestions(page: PageRequest) -> Response:
    """Pairs that may be one."""
    return render_page(
        page,
        "merges.html",
        suggestions=page.call("suggest_merges", limit=PAIRS)["suggestions"],
        refused=[change for change in changes(page) if change.tool == "refuse_merge"],
    )


# Documents in and out: files dropped, documents deleted, jobs watched.


LISTED = 30
"""Jobs shown."""


def jobs(page: PageRequest) -> Response:
    """Jobs, the newest first, or those just sent; as a page or as the part that is asked again."""
    sent = page.query.getlist("sent")[:LISTED]
    found = (
        [page.call("query_job_status", job_id=job) for job in sent]
        if sent
        else page.call("list_jobs", limit=LISTED)["jobs"]
    )
    going = any(job["status"] in ("queued", "running") for job in found)
    template = "jobs_part.html" if page.text("part") else "jobs.html"
    empty = page.query.getlist("empty")[:LISTED]
    return render_page(page, template, jobs=found, going=going, sent=sent, empty=empty)


def upload(page: PageRequest) -> Response:
    """Take files in, each as a job."""
    given = [] if page.form is None else page.form.getlist("files")
    sent = [one for one in given if isinstance(one, UploadFile) and one.filename]
    if not sent:
        raise InputError("no file came with this form; choose or drop one")
    page.need("ingest_document")
    empty = [str(one.filename) for one in sent if not one.size]
    if len(empty) == len(sent):
        raise InputError(f"{', '.join(map(repr, empty))} is empty; choose another file")
    jobs = []
    for one in sent:
        if one.size:
            name = str(one.filename).replace("\\", "/").rpartition("/")[2]
            told = {"name": name, "data": b64encode(one.file.read()).decode()}
            job = page.call("ingest_document", [_INGEST_FILE], **told, source=f"upload/{name}")
            jobs.append(job["job_id"])
    return RedirectResponse(page.url("jobs", sent=jobs, empty=empty), 303)


@operation("Add a file", {})
def _ingest_file(
    call: Call,
    name: Annotated[str, "Of the file; its ending says how it is read.", Limits(blank=False)],
    data: Annotated[str, "Its bytes, in Base64.", Limits(max_length=2**31)],
    source: Annotated[str, "Identity: the same is replaced."],
) -> Result:
    return submit(call, {"name": name, "data": data, "source": source})


_INGEST_FILE = replace(
    TOOL_NAMES["ingest_document"], parameters=_ingest_file.parameters, run=_ingest_file.run
)
"""`ingest_document` for files, which the form bounds in size."""


def add_demo(page: PageRequest) -> Response:
    """Index the documents that ship with Clew."""
    for file in sorted((files("clew") / "cli" / "demo").iterdir(), key=lambda f: f.name):
        if file.name.endswith(".md"):
            text = file.read_text(encoding="utf-8")
            page.call("ingest_document", text=text, source=f"demo/{file.name}")
    return RedirectResponse(page.url("", q=DEMO_QUESTION), 303)


DEMO_QUESTION = "Who taught the builder of the Skerrow Rock light?"


# The settings in force and where each comes from; never a secret.
#
# Whoever runs the server sees all of them. Tenants, administrators among them, see those that
# decide
# how their documents are read and found: paths, addresses and other callers are the server's.


_TENANTS = frozenset(
    "read limits split link relations versions search rerank usage boost quota".split()
)
"""Groups whose settings hold no path, no address and no name of anybody."""
_USER = re.compile(r"//[^/@]{0,500}@")
_HIDDEN = re.compile(r"sha256|secret|password|api_key|token(?!s_|izer)")


Shown = dict[str, str]
"""A setting: `name`, `value` and `origin`, which is `default`, `environment`, the settings file, or
`given` by whoever started the server."""


def settings(page: PageRequest) -> Response:
    """All settings by group."""
    said: Mapping[str, Any] = {}
    with suppress(OSError, ValueError):
        said = tomllib.loads(Path(SETTINGS_FILE).read_text(encoding="utf-8"))
    found = list(_flat(page.engine.settings, Settings.model_construct(), said))
    # Who sits at this machine runs the server; an issuer of tokens names anybody so.
    is_local = page.scope.caller.name == Caller().name
    if not is_local or page.engine.settings.serve.oauth.issuer:
        found = [shown for shown in found if shown["name"].partition(".")[0] in _TENANTS]
    groups: dict[str, list[Shown]] = {}
    for shown in found:
        group = shown["name"].rpartition(".")[0] or "store"
        groups.setdefault(group, []).append(shown)
    changed = sum(shown["origin"] != "default" for shown in found)
    return render_page(page, "settings.html", groups=groups, changed=changed)


def _flat(
    group: BaseModel, defaults: BaseModel, file: Mapping[str, Any], prefix: str = ""
) -> Iterator[Shown]:
    for name in type(group).model_fields:
        value, default = getattr(group, name), getattr(defaults, name, None)
        path, said = f"{prefix}{name}", file.get(name)
        if isinstance(value, BaseModel) and isinstance(default, BaseModel):
            yield from _flat(value, default, said if isinstance(said, dict) else {}, f"{path}.")
        else:
            origin = _origin(path, value == default, name in file)
            yield {"name": path, "value": _value(path, value), "origin": origin}


def _origin(path: str, is_default: bool, in_file: bool) -> str:
    variable = f"CLEW_{path.replace('.', '__')}".upper()
    if variable in {name.upper() for name in os.environ}:
        return "environment"
    if in_file:
        return SETTINGS_FILE
    return "default" if is_default else "given"


def _value(path: str, value: object) -> str:
    """The value as text, without what lets anybody in."""
    if isinstance(value, SecretStr):
        return "set" if value.get_secret_value() else "not set"
    if path == "serve.tokens":
        return ", ".join(token.name for token in value) if isinstance(value, tuple) else ""
    if _HIDDEN.search(path.rpartition(".")[2]) and isinstance(value, str):
        return "set" if value else "not set"
    if isinstance(value, tuple):
        return ", ".join(_USER.sub("//…@", str(item)) for item in value)
    return _USER.sub("//…@", str(value))
