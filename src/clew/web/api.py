"""The routes of the API: arguments in, the tool's result out, failures as RFC 9457 says."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clew import __version__
from clew.graph.export import graphml
from clew.mcp.http.requests import answered, ask, failure, read_object
from clew.operations.spec import complete, input_schema, parameter_schema
from clew.web.endpoints import ENDPOINTS, PICTURE, PREFIX, TOOL_NAMES, Endpoint
from clew.web.graph_view import picture
from clew.web.request import PageRequest
from clew.web.sessions import FORM_TOKEN, SESSION, is_nobody

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from clew.mcp.server import ClewServer
    from clew.operations.spec import Parameter
    from clew.settings import ServeSettings
    from clew.web.sessions import Sessions

    Answer = Callable[[PageRequest, Mapping[str, Any]], Response]


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
                f"{PREFIX}{e.path}",
                self._caller(partial(_answer, e), e.tool.parameters),
                methods=[e.method],
            )
            for e in ENDPOINTS
        ]
        exports = [
            Route(f"{PREFIX}/graph.{kind}", self._caller(partial(export, kind), PICTURE))
            for kind in EXPORTS
        ]
        return [
            Route(f"{PREFIX}/openapi.json", self._describe, methods=["GET"]),
            Route(f"{PREFIX}/ask", self._ask, methods=["POST"]),
            *exports,
            *calls,
            Route(f"{PREFIX}/{{rest:path}}", self._lost, methods=METHODS),
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
        advice = f"{PREFIX}/openapi.json lists what there is"
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
        "servers": [{"url": PREFIX}],
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
