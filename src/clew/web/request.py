"""A request to the explorer: who asks for what, of which namespace, with which rights."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response, StreamingResponse

from clew.errors import ClewError, InputError, NotFoundError
from clew.mcp.http.requests import ForbiddenError, bounded
from clew.operations.toolbox import make_toolbox, may_call
from clew.text import whole_number
from clew.web.endpoints import EXPLORER_TOOLS, TOOL_NAMES
from clew.web.passages import plain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from starlette.datastructures import QueryParams
    from starlette.requests import Request

    from clew.engine import Engine
    from clew.mcp.calls import RequestScope
    from clew.mcp.engines import Opened
    from clew.operations.spec import Parameter, Result, Tool


PREFIX = "/ui"


@dataclass(frozen=True, kw_only=True, slots=True)
class PageRequest:
    """What a page is made from."""

    scope: RequestScope
    opened: Opened | None
    """Its store; None for the frame of a page, which needs none."""
    query: QueryParams
    params: Mapping[str, Any] = field(default_factory=dict)
    """Of the path."""
    form: FormData | None = None
    form_token: str = ""
    signed_in: bool = False
    """By a cookie, so that there is something to log out of."""

    @property
    def engine(self) -> Engine:
        """Of the namespace."""
        assert self.opened is not None
        return self.opened.engine

    def text(self, name: str) -> str:
        """A value of the address, stripped; empty where there is none."""
        return self.query.get(name, "").strip()

    def texts(self, name: str) -> list[str]:
        """All values of the address by that name, stripped, but empty ones."""
        return [value.strip() for value in self.query.getlist(name) if value.strip()]

    def sent(self, name: str) -> str:
        """A value of the form, stripped; empty where there is none."""
        value = "" if self.form is None else self.form.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def arguments(
        self, given: FormData | QueryParams | None, parameters: Sequence[Parameter]
    ) -> dict[str, Any]:
        """Those of the path, and those of the form or the address that are not empty."""
        found = dict(self.params)
        for parameter in parameters:
            values = [] if given is None else given.getlist(parameter.name)
            texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
            if texts and parameter.name not in self.params:
                many = parameter.kind in ("strings", "integers")
                found[parameter.name] = texts if many else texts[-1]
        return found

    def number(self, name: str, default: int, most: int) -> int:
        """A value of the address from 1 to `most`; raises `InputError` for any other."""
        given = self.text(name) or str(default)
        number = whole_number(given)
        if number is None or not 1 <= number <= most:
            raise InputError(f"{name} cannot be {given[:40]!r}; expected a number from 1 to {most}")
        return number

    def id(self, name: str) -> int:
        """An id of the path; raises `NotFoundError` for what can be none."""
        given = str(self.params[name])
        found = whole_number(given)
        if found is None:
            raise NotFoundError(f"no {name} {given[:40]!r}; ids are whole numbers: search by name")
        return found

    def may(self, tool: str) -> bool:
        """Whether the caller may do what a tool does."""
        return may_call(self.scope.caller, TOOL_NAMES[tool])

    def need(self, tool: str) -> None:
        """Raise `ForbiddenError` where the caller may not do what a tool does."""
        if not self.may(tool):
            raise ForbiddenError(
                f"this needs the right to call {tool}, which your token does not have; ask whoever"
                " runs this server for it"
            )

    def call(
        self, tool: str, tools: Sequence[Tool] = EXPLORER_TOOLS, /, **arguments: object
    ) -> Result:
        """What a tool answers, with its rights, checks and audit row; raises `ClewError`."""
        self.need(tool)
        assert self.opened is not None
        toolbox = make_toolbox(self.engine, tools, self.opened.jobs, packs=False)
        outcome = toolbox.call(tool, arguments, caller=self.scope.caller)
        if outcome.error is None:
            return outcome.content
        if isinstance(outcome.error, ClewError):
            raise outcome.error
        raise ClewError(outcome.text) from outcome.error

    def url(self, path: str, /, **query: object) -> str:
        """An address of the explorer, about the same namespace; values that are None are left out.

        A list repeats its name.
        """
        given = {name: value for name, value in query.items() if value not in (None, "", [])}
        if self.scope.namespace != self.scope.caller.namespaces[0]:
            given["namespace"] = self.scope.namespace
        return f"{path if path.startswith('/') else f'{PREFIX}/{path}'}" + (
            f"?{urlencode(given, doseq=True)}" if given else ""
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A page or a part of one."""

    path: str
    """Below the prefix, as Starlette writes it."""
    run: Callable[[PageRequest], Response]
    """Called in a worker thread; raises `ClewError`."""
    right: str
    """The tool that tells as much, or does the same: whoever may call it may have the page."""
    method: str = "GET"


# Forms, which nobody can make larger than they may be.


MOST_FILES = 100
"""Of one form."""


async def read_form(request: Request, megabytes: float) -> FormData:
    """A form with its files; raises `InputError` for one that is too large or is none."""
    try:
        return await bounded(request, megabytes).form(max_files=MOST_FILES, max_fields=100)
    except HTTPException as error:
        raise InputError(f"this form cannot be read: {error.detail}") from error


# Pages that take long: the frame of the page at once, the rest of it when it is made.


PATIENCE = 0.4
"""Seconds until the frame is sent alone."""
BEGIN, END = b'<main id="main" tabindex="-1">', b"</main>"


async def in_parts(
    page: Coroutine[None, None, Response],
    frame: Callable[[], Response],
    patience: float = PATIENCE,
) -> Response:
    """The page; where it takes longer than `patience` seconds, first `frame`, then what it holds.

    The status is 200 then, whatever the page turns out to be; its text says what failed.
    """
    made = asyncio.create_task(page)
    try:
        await asyncio.wait({made}, timeout=patience)
    except asyncio.CancelledError:
        made.cancel()
        raise
    if made.done():
        return made.result()
    return StreamingResponse(_parts(made, frame()), media_type="text/html")


async def _parts(made: asyncio.Task[Response], frame: Response) -> AsyncIterator[bytes]:
    """The frame up to the end of its content, then the content of the page, or where it leads."""
    try:
        yield bytes(frame.body).partition(END)[0]
        page = await made
        target = page.headers.get("location")
        if target is None:
            yield bytes(page.body).partition(BEGIN)[2]
        else:
            yield f'<meta http-equiv="refresh" content="0;url={escape(target)}">'.encode()
    finally:
        made.cancel()


# From templates to answers; all that comes from documents is escaped there.


FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
MENU = (
    ("", "Ask"),
    ("graph", "Graph"),
    ("documents", "Documents"),
    ("entities", "Entities"),
    ("communities", "Communities"),
    ("timeline", "Timeline"),
    ("statistics", "Statistics"),
    ("settings", "Settings"),
)
"""Paths and names of the pages that every page leads to."""


@cache
def environment() -> Environment:
    """The templates; made when the first page is."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(static=static, menu=MENU)
    made.filters.update(
        percent=lambda share: "–" if share is None else f"{share:.0%}",
        count="{:,}".format,
        day=lambda moment: str(moment or "")[:10],
        known=lambda name, ids: ids.get(name),
        plain=plain,
    )
    return made


def render(template: str, /, *, status_code: int = 200, **values: object) -> HTMLResponse:
    """A page that knows nothing of who asks."""
    made = environment().get_template(template).render({"page": None, **values})
    return HTMLResponse(made, status_code)


def render_page(asked: PageRequest, template: str, /, **values: Any) -> HTMLResponse:  # noqa: ANN401
    """A page for whoever asked for it."""
    return render(template, page=asked, url=asked.url, may=asked.may, **values)


@cache
def static(name: str) -> str:
    """The address of a file, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/ui/static/{name}?v={digest}"
