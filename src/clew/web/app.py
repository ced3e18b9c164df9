"""The explorer as a part of the server's web application."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from clew.mcp.auth import new_token
from clew.mcp.http.requests import ForbiddenError, answered
from clew.settings import OAuthSettings, TokenSettings
from clew.web.api import Api
from clew.web.pages.table import PAGES
from clew.web.request import (
    PREFIX,
    STATIC,
    Page,
    PageRequest,
    in_parts,
    read_form,
    render,
    render_page,
)
from clew.web.sessions import (
    FORM_TOKEN,
    SESSION,
    Browsers,
    Sessions,
    cookie_name,
    is_nobody,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.applications import Starlette
    from starlette.datastructures import FormData

    from clew.mcp.auth import Access
    from clew.mcp.engines import Opened
    from clew.mcp.server import ClewServer
    from clew.settings import ServeSettings, Settings


HOME = RedirectResponse(f"{PREFIX}/", 303)
LONGEST_TOKEN = 8192
"""Characters of a token that is pasted."""
STATIC_SECONDS = 31_536_000
"""How long files are kept by browsers; their addresses change with what is in them."""


class Explorer:
    """The pages. `invite` gives an address that logs in by itself, once."""

    def __init__(self, server: ClewServer, serve: ServeSettings, sessions: Sessions) -> None:
        self._server = server
        self._serve = serve
        self._sessions = sessions

    def routes(self) -> list[Route | Mount]:
        """Of all pages, of logging in and of the files."""
        pages = [
            Route(f"{PREFIX}{page.path}", partial(self._page, page), methods=[page.method])
            for page in PAGES
        ]
        return [
            Mount(f"{PREFIX}/static", CachedFiles(directory=STATIC)),
            Route("/", HOME),
            Route(PREFIX, HOME),
            Route(f"{PREFIX}/login", self._login, methods=["GET", "POST"]),
            Route(f"{PREFIX}/logout", self._logout, methods=["POST"]),
            *pages,
            Route(f"{PREFIX}/{{rest:path}}", self._lost, methods=["GET"]),
        ]

    async def _page(self, page: Page, request: Request) -> Response:
        """A page, or why there is none."""
        if is_nobody(self._server):
            return self._to_login(request)
        answer = self._within(request, self._made(page, request))
        # Browsers alone say that they want a page; to others the status counts.
        whole = page.method != "GET" or "text/html" not in request.headers.get("accept", "")
        return await (answer if whole else in_parts(answer, partial(self._frame, request)))

    def _frame(self, request: Request) -> Response:
        """A page whose content is still being made."""
        active = request.url.path.removeprefix(f"{PREFIX}/").partition("/")[0]
        return render_page(self._asked(request, None, None), "waiting.html", active=active)

    def _asked(self, request: Request, opened: Opened | None, form: FormData | None) -> PageRequest:
        session = request.scope.get(SESSION, "")
        return PageRequest(
            scope=self._server.requests.scope_of(request),
            opened=opened,
            query=request.query_params,
            params=request.path_params,
            form=form,
            form_token=self._sessions.form_token(session),
            signed_in=bool(session),
        )

    async def _within(self, request: Request, answer: Awaitable[Response]) -> Response:
        """The answer, or a page that says why there is none."""
        failed = partial(_failure, request)
        return await answered(request, self._serve.request_seconds, answer, failed)

    async def _made(self, page: Page, request: Request) -> Response:
        if page.method == "GET":
            return await self._run(page, request, None)
        form = await read_form(request, self._serve.body_megabytes)
        try:
            given = request.headers.get(FORM_TOKEN) or form.get("form_token", "")
            if not self._sessions.is_form_token(request.scope.get(SESSION, ""), str(given)):
                raise ForbiddenError(
                    "this form is not of a page of this session; load the page again, then send it"
                )
            return await self._run(page, request, form)
        finally:
            await form.close()

    async def _run(self, page: Page, request: Request, form: FormData | None) -> Response:
        scope = self._server.requests.scope_of(request)

        def make() -> Response:
            with scope.acquire() as opened:
                asked = self._asked(request, opened, form)
                asked.need(page.right)
                return page.run(asked)

        return await scope.in_thread(make)

    async def _lost(self, request: Request) -> Response:
        if is_nobody(self._server):
            return self._to_login(request)
        return _failure(request, 404, "there is no such page; the menu above has all of them")

    # --- logging in and out

    def _to_login(self, request: Request) -> Response:
        """To the page that asks for a token, and back from there."""
        key = request.query_params.get("key")
        session = None if key is None else self._sessions.redeem(key)
        if session is not None:
            return self._signed_in(request, session, str(request.url.remove_query_params("key")))
        if "hx-request" in request.headers:
            return Response("log in again", 401, headers={"HX-Refresh": "true"})
        back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        wanted = request.url.replace(path=f"{PREFIX}/login", query="")
        target = wanted if key is not None else wanted.include_query_params(next=back)
        return RedirectResponse(str(target), 303)

    async def _login(self, request: Request) -> Response:
        access = self._server.access
        if access is None:
            return HOME
        if request.method == "GET":
            return _login_page(request)
        return await self._within(request, self._entered(request, access))

    async def _entered(self, request: Request, access: Access) -> Response:
        """Logged in, or asked again."""
        form = await read_form(request, self._serve.body_megabytes)
        token = str(form.get("token", ""))[:LONGEST_TOKEN].strip()
        if not token or await access.verify_token(token) is None:
            return _login_page(request, wrong=True)
        return self._signed_in(request, self._sessions.open(token), _own(form.get("next")))

    def _signed_in(self, request: Request, session: str, target: str) -> Response:
        answer = RedirectResponse(target, 303)
        answer.set_cookie(
            cookie_name(request.scope),
            session,
            max_age=int(self._serve.session_hours * 3600),
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return answer

    async def _logout(self, request: Request) -> Response:
        return await self._within(request, self._left(request))

    async def _left(self, request: Request) -> Response:
        form = await read_form(request, self._serve.body_megabytes)
        session = request.scope.get(SESSION, "")
        if self._sessions.is_form_token(session, str(form.get("form_token", ""))):
            self._sessions.end(session)
        return RedirectResponse(f"{PREFIX}/login", 303)


def mount(
    app: Starlette, server: ClewServer, serve: ServeSettings, sessions: Sessions | None = None
) -> None:
    """Add the explorer and its API to the server's web application."""
    sessions = sessions or Sessions(serve.session_hours, serve.session_minutes)
    app.routes.extend(Api(server, serve, sessions).routes())
    app.routes.extend(Explorer(server, serve, sessions).routes())
    # Behind the check of Host and Origin, before whatever asks for a token.
    app.user_middleware.insert(1, Middleware(Browsers, sessions=sessions))


class CachedFiles(StaticFiles):
    """Files that browsers may keep; the pages name them with the digest of their content."""

    def file_response(self, *given: Any, **more: Any) -> Response:  # noqa: ANN401 - Starlette's own
        """Send the file."""
        answer = super().file_response(*given, **more)
        answer.headers["Cache-Control"] = f"public, max-age={STATIC_SECONDS}, immutable"
        return answer


def _own(target: object) -> str:
    """An address to go on with, where it is one of the explorer; else the first page."""
    wanted = target if isinstance(target, str) else ""
    return wanted if wanted.startswith(f"{PREFIX}/") else f"{PREFIX}/"


def _login_page(request: Request, *, wrong: bool = False) -> Response:
    back = _own(request.query_params.get("next"))
    return render("login.html", status_code=401 if wrong else 200, wrong=wrong, next=back)


def _failure(request: Request, status: int, message: str) -> Response:
    """An error that says what to do next, as a page or as the part of one that was asked for."""
    name = "error_part.html" if "hx-request" in request.headers else "error.html"
    return render(name, status_code=status, code=status, message=message)


# The settings of a server for whoever sits at this machine, and for nobody else.


HOST = "127.0.0.1"


def owner(settings: Settings, port: int) -> tuple[str, Settings]:
    """A new token that may do everything, and the settings of a server that knows it alone."""
    bearer, digest = new_token()
    names = dict.fromkeys((settings.namespace, *settings.serve.namespaces))
    token = TokenSettings(
        name="local", sha256=digest, namespaces=tuple(names), scopes=("read", "write", "admin")
    )
    serve = settings.serve.model_copy(
        update={
            "host": HOST,
            "port": port,
            "tokens": (token,),
            "oauth": OAuthSettings(),
            "allowed_hosts": (),
            "allowed_origins": (),
            "trusted_proxies": (),
        }
    )
    return bearer, settings.model_copy(update={"serve": serve})
