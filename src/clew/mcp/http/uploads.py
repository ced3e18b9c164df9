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

import anyio
from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url
from mcp.shared.exceptions import MCPError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clew.errors import ClewError, InputError, NotFoundError, StoreBusyError
from clew.jobs.uploads import MEGABYTE, Upload, Uploads
from clew.tools.documents.writing import UPLOAD
from clew.tools.parameters import positive, text
from clew.tools.toolbox import may_call
from clew.tools.validate import complete, load_json

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
_BEGIN = (
    text(
        "name", "The file's name, whose ending says how it is read.", required=True, max_length=200
    ),
    positive("size", "Its bytes."),
    text("sha256", "Its SHA-256 in hex.", required=True, max_length=64),
)


class TooLargeError(InputError):
    """A request is larger than one may be."""


class UploadApp:
    """The routes, as one ASGI application."""

    def __init__(self, server: ClewServer, serve: ServeSettings) -> None:
        self._server = server
        self._largest = int(serve.body_megabytes * MEGABYTE)
        self._seconds = serve.request_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; a failure says what to do next."""
        request = Request(scope, receive)
        try:
            with anyio.fail_after(self._seconds):
                response = await self._answer(request)
        except ClientDisconnect:
            return
        except TimeoutError:
            response = _failure(
                408, f"this took longer than the {self._seconds:g} seconds that a request may take"
            )
        except MCPError as error:
            response = _failure(400, str(error))
        except ClewError as error:
            response = _failure(_status(error), str(error))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        scope = self._server.requests.scope_of(request)
        tools = [tool for tool in scope.engines.tools if tool.name == TOOL]
        if not any(may_call(scope.caller, tool) for tool in tools):
            return _failure(403, f"uploads need the right to call {TOOL}; ask for it")
        upload_id = request.path_params.get("upload")
        if upload_id is None:
            given = complete("upload", _BEGIN, await self._object(request))
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
        data = await self._body(request)
        return await scope.in_thread(partial(_write, scope, upload_id, int(given), data))

    async def _finish(self, scope: RequestScope, upload_id: str, request: Request) -> Response:
        given = await self._object(request)
        return await scope.in_thread(partial(_finish, scope, upload_id, given))

    async def _object(self, request: Request) -> dict[str, Any]:
        body = await self._body(request)
        try:
            given = load_json(body or b"{}")
        except ValueError as error:
            raise InputError(f"the body is no JSON ({error}); send an object") from error
        if not isinstance(given, dict):
            raise InputError("the body is no JSON object; send one")
        return given

    async def _body(self, request: Request) -> bytes:
        """The body, which nobody can make larger than it may be."""
        body = bytearray()
        async for block in request.stream():
            body += block
            if len(body) > self._largest:
                raise TooLargeError(
                    f"this request is larger than {self._largest} bytes; send parts of the"
                    " part_bytes that beginning the upload said"
                )
        return bytes(body)


def upload_routes(server: ClewServer, serve: ServeSettings) -> list[Route]:
    """The routes, behind the same checks as the protocol's."""
    app: Any = UploadApp(server, serve)
    auth = server.settings.auth
    if auth is not None:
        resource = auth.resource_server_url
        metadata = None if resource is None else build_resource_metadata_url(resource)
        app = RequireAuthMiddleware(app, auth.required_scopes or [], metadata)
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
        if reason := opened.engine.full():
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


def _status(error: ClewError) -> int:
    statuses = {TooLargeError: 413, NotFoundError: 404, InputError: 400, StoreBusyError: 503}
    return next((code for kind, code in statuses.items() if isinstance(error, kind)), 500)


def _failure(status: int, message: str) -> Response:
    return JSONResponse({"success": False, "error": message}, status)
