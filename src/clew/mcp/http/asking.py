"""Answers in words over HTTP, as they are written.

    POST /ask   the arguments of the tool `ask`, as JSON

Where the client accepts `text/event-stream`, it gets events: `piece` with `{"text": …}` for each
piece of the answer, at last `answer` with the whole result, or `error`. Else the result as JSON.
Token, namespace, rate, time and size of a request are limited as they are for the protocol, and
whoever may not call `ask` may not ask here.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from clew.mcp.http.plain_requests import answer_within, behind_tokens, failure, read_object
from clew.request_end import go_on
from clew.tools.registry import TOOLS
from clew.tools.spec import Progress
from clew.tools.toolbox import Toolbox, may_call
from clew.tools.validate import complete

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream
    from starlette.types import Receive, Scope, Send

    from clew.mcp.request_context import RequestScope
    from clew.mcp.server import ClewServer
    from clew.settings import ServeSettings
    from clew.tools.toolbox import Outcome

PATH = "/ask"
EVENTS = "text/event-stream"
ASK = next(tool for tool in TOOLS if tool.name == "ask")


class Told(Progress):
    """Sends the pieces of an answer from its worker thread."""

    def __init__(self, events: MemoryObjectSendStream[str]) -> None:
        self._events = events

    def tell(self, piece: str) -> None:
        """See `clew.tools.spec.Progress`; raises `RequestEndedError` where nobody waits."""
        go_on()
        anyio.from_thread.run_sync(self._events.send_nowait, event("piece", {"text": piece}))


class AskApp:
    """The route, as an ASGI application."""

    def __init__(self, server: ClewServer, serve: ServeSettings) -> None:
        self._server = server
        self._largest = int(serve.body_megabytes * 1024 * 1024)
        self._seconds = serve.request_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; a failure says what to do next."""
        answer = partial(self._answer, scope, receive, send)
        response = await answer_within(self._seconds, answer)
        if response is not None:
            await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        request = Request(scope, receive)
        asked = self._server.requests.scope_of(request)
        if not may_call(asked.caller, ASK):
            return failure(403, "asking needs the right to call ask; ask for it")
        given = await read_object(request, self._largest)
        complete(ASK.name, ASK.parameters, given)
        if EVENTS not in request.headers.get("accept", ""):
            outcome = await asked.in_thread(partial(_ask, asked, given, Progress()))
            if outcome.is_error:
                return failure(400, outcome.content["error"])
            return JSONResponse(outcome.content)
        await self._stream(asked, given, scope, receive, send)
        return None

    async def _stream(
        self,
        asked: RequestScope,
        given: dict[str, Any],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """The events; when time is up, an error is the last of them."""
        sending, events = anyio.create_memory_object_stream[str](math.inf)

        async def work() -> None:
            async with sending:
                with anyio.move_on_after(self._seconds * 0.95):
                    outcome = await asked.in_thread(partial(_ask, asked, given, Told(sending)))
                    kind = "error" if outcome.is_error else "answer"
                    sending.send_nowait(event(kind, outcome.content))
                    return
                late = f"this took longer than the {self._seconds:g} seconds that a request may"
                sending.send_nowait(event("error", {"success": False, "error": f"{late} take"}))

        response = StreamingResponse(
            events, media_type=EVENTS, headers={"Cache-Control": "no-store"}
        )
        # The work ends before its events have nowhere to go.
        async with events, anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            with suppress(ClientDisconnect):
                await response(scope, receive, send)
            tasks.cancel_scope.cancel()


def ask_routes(server: ClewServer, serve: ServeSettings) -> list[Route]:
    """The route, behind the same checks as the protocol's."""
    return [Route(PATH, behind_tokens(server, AskApp(server, serve)), methods=["POST"])]


def event(kind: str, value: object) -> str:
    """A server-sent event; JSON has no line end in it."""
    return f"event: {kind}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"


def _ask(asked: RequestScope, given: dict[str, Any], told: Progress) -> Outcome:
    """Through the tool, which checks the arguments; it is served whatever the profile."""
    with asked.acquire() as opened:
        toolbox = Toolbox(opened.engine, [ASK], profile=None)
        return toolbox.call(ASK.name, given, caller=asked.caller, progress=told)
