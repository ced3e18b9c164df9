"""Pages that take long: the frame of the page at once, the rest of it when it is made."""

from __future__ import annotations

import asyncio
from html import escape
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

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
    try:
        yield bytes(frame.body).partition(END)[0]
        yield _content(await made)
    finally:
        made.cancel()


def _content(page: Response) -> bytes:
    """What follows the begin of a page's content, or where it leads to."""
    target = page.headers.get("location")
    if target is not None:
        return f'<meta http-equiv="refresh" content="0;url={escape(target)}">'.encode()
    return bytes(page.body).partition(BEGIN)[2]
