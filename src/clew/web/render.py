"""From templates to answers; all that comes from documents is escaped there."""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from clew.web.marks import plain

if TYPE_CHECKING:
    from clew.web.request import PageRequest

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
    made.filters.update(percent=percent, count=count, day=day, plain=plain)
    return made


def render(template: str, /, **values: object) -> HTMLResponse:
    """A page that knows nothing of who asks."""
    return HTMLResponse(environment().get_template(template).render({"page": None, **values}))


def render_page(asked: PageRequest, template: str, /, **values: object) -> HTMLResponse:
    """A page for whoever asked for it."""
    return render(template, page=asked, url=asked.url, may=asked.may, **values)


@cache
def static(name: str) -> str:
    """The address of a file, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/ui/static/{name}?v={digest}"


def percent(share: float | None) -> str:
    """0.5 as 50 %; a dash where there is none."""
    return "–" if share is None else f"{share:.0%}"


def count(number: int) -> str:
    """A number with its thousands apart."""
    return f"{number:,}"


def day(moment: datetime | None) -> str:
    """A date without its time; empty where there is none."""
    return "" if moment is None else moment.date().isoformat()
