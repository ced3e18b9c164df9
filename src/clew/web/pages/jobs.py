"""Documents in and out: files dropped, documents deleted, jobs watched."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, cast

from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse

from clew.errors import InputError
from clew.tools.documents.writing import submit
from clew.tools.parameters import text
from clew.web.api.endpoints import TOOL_NAMES
from clew.web.render import render_page

if TYPE_CHECKING:
    from starlette.responses import Response

    from clew.jobs.ingestion import Given
    from clew.tools.spec import Arguments, Call, Result
    from clew.web.request import PageRequest

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
    jobs = [_take_in(page, one) for one in sent if one.size]
    return RedirectResponse(page.url("jobs", sent=jobs, empty=empty), 303)


def _take_in(page: PageRequest, file: UploadFile) -> str:
    """The id of the job that reads it."""
    name = str(file.filename).replace("\\", "/").rpartition("/")[2]
    data = b64encode(file.file.read()).decode()
    job = page.call(
        "ingest_document", [_INGEST_FILE], name=name, data=data, source=f"upload/{name}"
    )
    return str(job["job_id"])


def _ingest_file(call: Call, arguments: Arguments) -> Result:
    return submit(call, cast("Given", dict(arguments)))


_INGEST_FILE = replace(
    TOOL_NAMES["ingest_document"],
    parameters=(
        text("name", "Of the file; its ending says how it is read.", required=True, blank=False),
        text("data", "Its bytes, in Base64.", required=True, max_length=2**31),
        text("source", "Identity: the same is replaced.", required=True),
    ),
    run=_ingest_file,
)
"""`ingest_document` for files, which the form bounds in size."""


def cancel(page: PageRequest) -> Response:
    """Stop a job."""
    page.call("cancel_job", job_id=page.params["job"])
    return RedirectResponse(page.url("jobs"), 303)


def retry(page: PageRequest) -> Response:
    """Try again what a job did not do."""
    page.call("retry_job", job_id=page.params["job"])
    return RedirectResponse(page.url("jobs"), 303)


def delete(page: PageRequest) -> Response:
    """Delete a document."""
    page.call("delete_document", document=page.params["document"], confirm=True)
    return RedirectResponse(page.url("documents"), 303)


def add_demo(page: PageRequest) -> Response:
    """Index the documents that ship with Clew."""
    for file in sorted((files("clew") / "cli" / "demo").iterdir(), key=lambda f: f.name):
        if file.name.endswith(".md"):
            text = file.read_text(encoding="utf-8")
            page.call("ingest_document", text=text, source=f"demo/{file.name}")
    return RedirectResponse(page.url("", q=DEMO_QUESTION), 303)


DEMO_QUESTION = "Who taught the builder of the Skerrow Rock light?"
