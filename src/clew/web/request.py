"""A request to the explorer: who asks for what, of which namespace, with which rights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from clew.errors import (
    ClewError,
    InputError,
    LimitError,
    NotFoundError,
    StoreBusyError,
    StoreUnavailableError,
)
from clew.mcp.http.plain_requests import MediaTypeError, TooLargeError
from clew.text import whole_number
from clew.tools.registry import make_toolbox
from clew.tools.toolbox import may_call
from clew.web.api.endpoints import EXPLORER_TOOLS, TOOL_NAMES

if TYPE_CHECKING:
    from starlette.datastructures import FormData, QueryParams
    from starlette.responses import Response

    from clew.engine import Engine
    from clew.mcp.engines import Opened
    from clew.mcp.request_context import RequestScope
    from clew.tools.spec import Result, Tool

PREFIX = "/ui"


class ForbiddenError(ClewError):
    """The caller's token does not allow it."""


STATUSES: Mapping[type[Exception], int] = {
    ForbiddenError: 403,
    TooLargeError: 413,
    MediaTypeError: 415,
    NotFoundError: 404,
    LimitError: 413,
    InputError: 400,
    StoreBusyError: 503,
    StoreUnavailableError: 503,
}


def status_of(error: Exception) -> int:
    """The HTTP status of a failure."""
    return next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 500)


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

    def sent(self, name: str) -> str:
        """A value of the form, stripped; empty where there is none."""
        value = "" if self.form is None else self.form.get(name, "")
        return value.strip() if isinstance(value, str) else ""

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
