"""What routes beside the protocol share: bodies of JSON, failures as JSON, the same tokens."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url
from mcp.shared.exceptions import MCPError
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from clew.errors import ClewError, InputError, NotFoundError, StoreBusyError
from clew.tools.validate import load_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from clew.mcp.server import ClewServer


class TooLargeError(InputError):
    """A request is larger than one may be."""


class MediaTypeError(InputError):
    """A request sends something else than JSON."""


async def read_object(request: Request, largest: int) -> dict[str, Any]:
    """The JSON object that a request sends; raises `InputError`.

    A request without a token has to say that it sends JSON: browsers ask before they let a page of
    another origin send that, and do not ask for text or a form.
    """
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if said != "application/json" and "authorization" not in request.headers:
        raise MediaTypeError(
            f"this sends {said[:100] or 'no media type'!r}; send Content-Type: application/json"
        )
    body = await read_body(request, largest)
    try:
        given = load_json(body or b"{}")
    except ValueError as error:
        raise InputError(f"the body is no JSON ({error}); send an object") from error
    if not isinstance(given, dict):
        raise InputError("the body is no JSON object; send one")
    return given


async def read_body(request: Request, largest: int) -> bytes:
    """The body, which nobody can make larger than it may be; raises `TooLargeError`."""
    body = bytearray()
    async for block in request.stream():
        body += block
        if len(body) > largest:
            raise TooLargeError(f"this request is larger than {largest} bytes; send less")
    return bytes(body)


async def answer_within(
    seconds: float, answer: Callable[[], Awaitable[Response | None]]
) -> Response | None:
    """The response, or the failure; None where nobody waits for it or it was sent already."""
    try:
        with anyio.fail_after(seconds):
            return await answer()
    except ClientDisconnect:
        return None
    except TimeoutError:
        return failure(
            408, f"this took longer than the {seconds:g} seconds that a request may take"
        )
    except MCPError as error:
        return failure(400, str(error))
    except ClewError as error:
        return failure(_status(error), str(error))


def failure(status: int, message: str) -> Response:
    """What a client gets in place of what it asked for: a problem as RFC 9457 writes one.

    `success` and `error` say the same as they do in results of tools.
    """
    content = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": message,
        "success": False,
        "error": message,
    }
    return JSONResponse(content, status, media_type="application/problem+json")


def behind_tokens(server: ClewServer, app: Any) -> Any:  # noqa: ANN401 - an ASGI application
    """The application, behind the same check of tokens as the protocol's."""
    auth = server.settings.auth
    if auth is None:
        return app
    resource = auth.resource_server_url
    metadata = None if resource is None else build_resource_metadata_url(resource)
    return RequireAuthMiddleware(app, auth.required_scopes or [], metadata)


def _status(error: ClewError) -> int:
    statuses = {
        TooLargeError: 413,
        MediaTypeError: 415,
        NotFoundError: 404,
        InputError: 400,
        StoreBusyError: 503,
    }
    return next((code for kind, code in statuses.items() if isinstance(error, kind)), 500)
