"""Forms, which nobody can make larger than they may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from clew.errors import InputError
from clew.mcp.http.plain_requests import TooLargeError

if TYPE_CHECKING:
    from starlette.types import Message

MEGABYTE = 1024 * 1024
MOST_FILES = 100
"""Of one form."""


async def read_form(request: Request, megabytes: float) -> FormData:
    """A form with its files; raises `InputError` for one that is too large or is none."""
    try:
        form = await bounded(request, megabytes).form(max_files=MOST_FILES, max_fields=100)
    except HTTPException as error:
        raise InputError(f"this form cannot be read: {error.detail}") from error
    return form


def bounded(request: Request, megabytes: float) -> Request:
    """The same request, which fails once more than so much of its body has come."""
    seen, most = 0, int(megabytes * MEGABYTE)

    async def receive() -> Message:
        nonlocal seen
        message = await request.receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLargeError(
                f"this is larger than the {megabytes:g} MB that a request may have (the setting"
                " serve.body_megabytes); send less at a time, or use `clew index`"
            )
        return message

    return Request(request.scope, receive)
