"""The explorer as a part of the server's web application."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from clew import __version__
from clew.graph.export import graphml
from clew.mcp.auth import Access, new_token
from clew.mcp.calls import Opened
from clew.mcp.http import ForbiddenError, answered, ask, failure, read_object
from clew.mcp.server import ClewServer
from clew.operations.spec import Parameter, complete, input_schema, parameter_schema
from clew.settings import OAuthSettings, ServeSettings, Settings, TokenSettings
from clew.web import changes, pages
from clew.web.graph_view import picture
from clew.web.request import (
    API_PREFIX,
    ENDPOINTS,
    FORM_TOKEN,
    PICTURE,
    PREFIX,
    SESSION,
    STATIC,
    TOOL_NAMES,
    Browsers,
    Endpoint,
    Page,
    PageRequest,
    Sessions,
    cookie_name,
    in_parts,
    is_nobody,
    read_form,
    render,
    render_page,
)

Answer = Callable[[PageRequest, Mapping[str, Any]], Response]


# All pages: where each is, and which right it takes.


def _form(path: str, run: Callable[[PageRequest], Response], right: str) -> Page:
    return Page(path=path, run=run, right=right, method="POST")


def _sends(path: str, tool: str, **how: Any) -> Page:  # noqa: ANN401 - as `changes.sends` takes it
    return _form(path, changes.sends(tool, **how), tool)


PAGES = (
    Page(path="/", run=partial(pages.beside, pages.ask), right="query_documents"),
    Page(path="/suggest", run=pages.suggest, right="graph_enhanced_search"),
    Page(path="/compare", run=pages.compare, right="query_documents"),
    Page(path="/documents", run=partial(pages.beside, pages.documents), right="list_documents"),
    Page(path="/documents/{document}", run=pages.document, right="get_document"),
    Page(path="/documents/{document}/versions", run=pages.versions, right="get_document"),
    Page(path="/entities", run=pages.entities, right="graph_enhanced_search"),
    Page(path="/entity", run=pages.named, right="graph_enhanced_search"),
    Page(path="/entities/{entity}", run=pages.entity, right="graph_enhanced_search"),
    Page(path="/graph", run=partial(pages.beside, pages.graph), right="view_graph"),
    Page(path="/merges", run=changes.suggestions, right="suggest_merges"),
    Page(path="/communities", run=pages.communities, right="list_communities"),
    Page(path="/communities/{community}", run=pages.community, right="list_communities"),
    Page(path="/timeline", run=pages.timeline, right="entity_timeline"),
    Page(path="/statistics", run=pages.statistics, right="get_graph_statistics"),
    Page(path="/settings", run=changes.settings, right="audit"),
    Page(path="/jobs", run=changes.jobs, right="list_jobs"),
    _sends("/entities/{source_id}/merge", "merge_entities"),
    _sends("/entities/{entity_id}/split", "split_entity", ticked="names"),
    _sends("/entities/{entity_id}/edit", "edit_entity"),
    _sends("/relations", "add_entity_relationship", exact=False),
    _sends("/relations/{relation_id}/delete", "delete_relation", confirm=True),
    _sends("/merges/refuse", "refuse_merge", place="merges"),
    _sends("/documents/{document}/delete", "delete_document", place="documents", confirm=True),
    _sends("/jobs/{job_id}/cancel", "cancel_job", place="jobs"),
    _sends("/jobs/{job_id}/retry", "retry_job", place="jobs"),
    _form("/changes/{change}/undo", changes.undo, "undo_change"),
    _form("/documents", changes.upload, "ingest_document"),
    _form("/demo", changes.add_demo, "ingest_document"),
)


# The routes of the API: arguments in, the tool's result out, failures as RFC 9457 says.


ABOUT = "namespace"
"""The parameter of every address that says which collection is asked."""
METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS")
"""All that anybody may try."""


class Api:
    """The addresses of the API."""

    def __init__(self, server: ClewServer, serve: ServeSettings, sessions: Sessions) -> None:
        self._server = server
        self._serve = serve
        self._sessions = sessions

    def routes(self) -> list[Route]:
        """All of them; `/ask` is the server's own, behind the check of this one."""
        calls = [
            Route(
                f"{API_PREFIX}{e.path}",
                self._caller(partial(_answer, e), e.tool.parameters),
                methods=[e.method],
            )
            for e in ENDPOINTS
        ]
        exports = [
            Route(f"{API_PREFIX}/graph.{kind}", self._caller(partial(export, kind), PICTURE))
            for kind in EXPORTS
        ]
        return [
            Route(f"{API_PREFIX}/openapi.json", self._describe, methods=["GET"]),
            Route(f"{API_PREFIX}/ask", self._ask, methods=["POST"]),
            *exports,
            *calls,
            Route(f"{API_PREFIX}/{{rest:path}}", self._lost, methods=METHODS),
        ]

    async def _ask(self, request: Request) -> Response:
        return self._refusal(request) or await ask(self._server, self._serve, request)

    def _refusal(self, request: Request) -> Response | None:
        """What nobody known is told, and a browser with its cookie but from no page of its own."""
        if is_nobody(self._server):
            refused = failure(401, "send a good token as Authorization: Bearer TOKEN")
            refused.headers["WWW-Authenticate"] = "Bearer"
            return refused
        session = request.scope.get(SESSION)
        given = request.headers.get(FORM_TOKEN, "")
        reads = request.method == "GET" or session is None
        if reads or self._sessions.is_form_token(str(session), given):
            return None
        return failure(403, f"with a cookie, send the page's token, too, as {FORM_TOKEN}")

    def _caller(
        self, answer: Answer, parameters: Sequence[Parameter]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def call(request: Request) -> Response:
            return self._refusal(request) or await answered(
                request, self._serve.request_seconds, self._made(request, answer, parameters)
            )

        return call

    async def _made(
        self, request: Request, answer: Answer, parameters: Sequence[Parameter]
    ) -> Response:
        scope = self._server.requests.scope_of(request)
        given: dict[str, Any] = {}
        if request.method == "POST":
            given = await read_object(request, self._serve.body_megabytes)
        given |= query_arguments(request, parameters) | dict(request.path_params)

        def make() -> Response:
            with scope.acquire() as opened:
                return answer(
                    PageRequest(scope=scope, opened=opened, query=request.query_params), given
                )

        return await scope.in_thread(make)

    async def _describe(self, request: Request) -> Response:
        return JSONResponse(description())

    async def _lost(self, request: Request) -> Response:
        advice = f"{API_PREFIX}/openapi.json lists what there is"
        return self._refusal(request) or failure(
            404, f"there is nothing here for {request.method}; {advice}"
        )


def query_arguments(request: Request, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The arguments of the address: one value each, of arrays all."""
    kinds = {p.name: p.kind for p in parameters}
    found: dict[str, Any] = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        if name == ABOUT and name not in kinds:
            continue
        # Numbers come as text, and are read where they are checked.
        found[name] = values if kinds.get(name) in ("strings", "integers") else values[-1]
    return found


def _answer(endpoint: Endpoint, asked: PageRequest, given: Mapping[str, Any]) -> Response:
    """What the tool says, without the mark of success that the status says already."""
    result = asked.call(endpoint.tool.name, **{**given, **endpoint.fixed})
    told = to_json({name: value for name, value in result.items() if name != "success"})
    return Response(told, endpoint.status, media_type="application/json")


# The API described, from the parameters that its tools declare.


PROBLEM = {
    "description": "A failure (RFC 9457); `detail` says what to do next.",
    "content": {
        "application/problem+json": {
            "schema": {
                "type": "object",
                "properties": {
                    "type": {"type": "string"},
                    "title": {"type": "string"},
                    "status": {"type": "integer"},
                    "detail": {"type": "string"},
                },
                "required": ["type", "title", "status", "detail"],
            }
        }
    },
}
NAMESPACE = {
    "name": "namespace",
    "in": "query",
    "description": "The collection that is asked. Default: the caller's first.",
    "schema": {"type": "string"},
}


def description() -> dict[str, Any]:
    """The API as OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    ask_ = TOOL_NAMES["ask"]
    paths["/ask"] = {
        "post": {
            "operationId": "post_ask",
            "summary": ask_.title,
            "description": f"{ask_.description} As text/event-stream: `piece`s, then `answer`.",
            "parameters": [NAMESPACE],
            "requestBody": _body(list(ask_.parameters)),
            "responses": {
                "200": {
                    "description": "The answer.",
                    "content": {
                        "application/json": {"schema": ask_.result},
                        "text/event-stream": {"schema": {"type": "string"}},
                    },
                },
                "default": PROBLEM,
            },
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Clew", "version": __version__},
        "servers": [{"url": API_PREFIX}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": dict(sorted(paths.items())),
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    tool = endpoint.tool
    free = [p for p in tool.parameters if p.name not in endpoint.fixed]
    in_path = [p for p in free if f"{{{p.name}}}" in endpoint.path]
    others = [p for p in free if p not in in_path]
    described: dict[str, Any] = {
        "operationId": f"{endpoint.method.lower()}_{tool.name}",
        "summary": tool.title,
        "description": tool.description,
        "parameters": [*(_parameter(p, "path") for p in in_path), NAMESPACE],
        "responses": {
            str(endpoint.status): {
                "description": "The result.",
                "content": {"application/json": {"schema": tool.result}},
            },
            "default": PROBLEM,
        },
    }
    if endpoint.method == "POST":
        described["requestBody"] = _body(others)
    else:
        described["parameters"] += [_parameter(p, "query") for p in others]
    return described


def _body(parameters: list[Parameter]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": input_schema(parameters)}}}


def _parameter(parameter: Parameter, place: str) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": place,
        "required": place == "path" or parameter.required,
        "description": parameter.description,
        "schema": parameter_schema(parameter),
    }


# A picture of the graph as a file: GraphML, JSON.


EXPORTS = {"graphml": "application/graphml+xml", "json": "application/json"}
"""Media types by ending."""


def export(kind: str, asked: PageRequest, given: Mapping[str, Any]) -> Response:
    """The file of the picture that the address describes."""
    asked.need("view_graph")
    seen = picture(asked.engine, **complete("graph", PICTURE, given))
    if kind == "graphml":
        nodes = [
            (
                f"e{node['id']}",
                {
                    "name": node["name"],
                    "entity_type": node["type"],
                    "salience_score": node["importance"],
                },
            )
            for node in seen["nodes"]
        ]
        edges = [
            (
                *(f"t{number}", f"e{tie['source']}", f"e{tie['target']}"),
                {
                    "relation_type": tie["relation"],
                    "weight": tie["weight"],
                    "confidence": tie["confidence"],
                },
            )
            for number, tie in enumerate(seen["edges"])
        ]
        text = "".join(graphml(nodes, edges))
    else:
        told = {name: seen[name] for name in ("nodes", "edges", "total", "notes")}
        text = json.dumps(told, ensure_ascii=False)
    name = f'attachment; filename="graph.{kind}"'
    return Response(text, media_type=EXPORTS[kind], headers={"Content-Disposition": name})


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
