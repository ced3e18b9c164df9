"""Large files over HTTP: sent in parts, verified, then taken in like any other document.

    POST   /upload          {"name", "size", "sha256"}: begins; says the id and the size of a part
    PUT    /upload/ID?part=1   the bytes of a part, counted from 1, in any order, again if need be
    GET    /upload/ID       which parts are missing
    POST   /upload/ID       {"title", "source", "metadata"}: verifies, and starts the job
    DELETE /upload/ID       forgets it

Token, namespace, rate, time and size of a request are limited as they are for the protocol, and
whoever may not call `ingest_document` may not upload.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clew.errors import InputError
from clew.jobs.uploads import MEGABYTE, Upload, Uploads
from clew.mcp.http.plain_requests import (
    TooLargeError,
    answer_within,
    behind_tokens,
    failure,
    read_body,
    read_object,
)
from clew.tools.documents.writing import UPLOAD
from clew.tools.parameters import positive, text
from clew.tools.toolbox import may_call
from clew.tools.validate import complete

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from starlette.types import Receive, Scope, Send

    from clew.mcp.engines import Opened
    from clew.mcp.request_context import RequestScope
    from clew.mcp.server import ClewServer
    from clew.settings import ServeSettings

PATH = "/upload"
TOOL = "ingest_document"
"""What takes the file in; the right to call it is the right to upload."""
SMALLER = "send parts of the part_bytes that beginning the upload said"
_BEGIN = (
    text(
        "name", "The file's name, whose ending says how it is read.", required=True, max_length=200
    ),
    positive("size", "Its bytes."),
    text("sha256", "Its SHA-256 in hex.", required=True, max_length=64),
)


class UploadApp:
    """The routes, as one ASGI application."""

    def __init__(self, server: ClewServer, serve: ServeSettings) -> None:
        self._server = server
        self._largest = int(serve.body_megabytes * MEGABYTE)
        self._seconds = serve.request_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; a failure says what to do next."""
        request = Request(scope, receive)
        response = await answer_within(self._seconds, partial(self._answer, request))
        if response is not None:
            await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        scope = self._server.requests.scope_of(request)
        tools = [tool for tool in scope.engines.tools if tool.name == TOOL]
        if not any(may_call(scope.caller, tool) for tool in tools):
            return failure(403, f"uploads need the right to call {TOOL}; ask for it")
        upload_id = request.path_params.get("upload")
        if upload_id is None:
            given = complete("upload", _BEGIN, await read_object(request, self._largest))
            return await scope.in_thread(partial(_begin, scope, given, self._largest))
        answers: dict[str, Callable[[], Awaitable[Response]]] = {
            "PUT": partial(self._write, scope, upload_id, request),
            "POST": partial(self._finish, scope, upload_id, request),
            "DELETE": partial(scope.in_thread, partial(_remove, scope, upload_id)),
        }
        show = partial(scope.in_thread, partial(_show, scope, upload_id))
        return await answers.get(request.method, show)()

    async def _write(self, scope: RequestScope, upload_id: str, request: Request) -> Response:
        given = request.query_params.get("part", "")
        if not (given.isdecimal() and given.isascii() and len(given) < 10):
            raise InputError(f"part {given!r} is no number; add ?part=1 and so on to the address")
        data = await read_body(request, self._largest, SMALLER)
        return await scope.in_thread(partial(_write, scope, upload_id, int(given), data))

    async def _finish(self, scope: RequestScope, upload_id: str, request: Request) -> Response:
        given = await read_object(request, self._largest)
        return await scope.in_thread(partial(_finish, scope, upload_id, given))


def upload_routes(server: ClewServer, serve: ServeSettings) -> list[Route]:
    """The routes, behind the same checks as the protocol's."""
    app = behind_tokens(server, UploadApp(server, serve))
    return [
        Route(PATH, app, methods=["POST"]),
        Route(f"{PATH}/{{upload}}", app, methods=["GET", "PUT", "POST", "DELETE"]),
    ]


# --- in a worker thread


@contextmanager
def _uploads(scope: RequestScope) -> Iterator[tuple[Uploads, Opened]]:
    with scope.acquire() as opened:
        yield Uploads(opened.engine.store.folder, scope.engines.settings), opened


def _begin(scope: RequestScope, given: Mapping[str, Any], part_bytes: int) -> Response:
    with _uploads(scope) as (uploads, opened):
        if reason := opened.engine.documents.quota_reached():
            raise TooLargeError(reason)
        return _state(uploads, uploads.begin(**given, part_bytes=part_bytes), 201)


def _write(scope: RequestScope, upload_id: str, part: int, data: bytes) -> Response:
    with _uploads(scope) as (uploads, _):
        upload = uploads.upload(upload_id)
        uploads.write(upload, part, data)
        return _state(uploads, upload)


def _show(scope: RequestScope, upload_id: str) -> Response:
    with _uploads(scope) as (uploads, _):
        return _state(uploads, uploads.upload(upload_id))


def _remove(scope: RequestScope, upload_id: str) -> Response:
    with _uploads(scope) as (uploads, _):
        uploads.remove(uploads.upload(upload_id).id)
    return Response(status_code=204)


def _finish(scope: RequestScope, upload_id: str, given: Mapping[str, Any]) -> Response:
    """Through the tool, which checks the arguments, leaves an audit row and starts the job."""
    with _uploads(scope) as (uploads, opened):
        arguments = {**given, "url": UPLOAD + uploads.upload(upload_id).id}
        outcome = opened.toolbox.call(TOOL, arguments, caller=scope.caller)
    return JSONResponse(outcome.content, 400 if outcome.is_error else 202)


# --- answers


def _state(uploads: Uploads, upload: Upload, status: int = 200) -> Response:
    told = {
        "success": True,
        "upload": upload.id,
        "name": upload.name,
        "size": upload.size,
        "parts": upload.parts,
        "part_bytes": upload.part_bytes,
        "missing": uploads.missing(upload),
        "queued": uploads.queued(upload),
    }
    return JSONResponse(told, status)
