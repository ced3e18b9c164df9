"""The API described, from the parameters that its tools declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew import __version__
from clew.tools.schema import input_schema, parameter_schema
from clew.web.api.endpoints import ENDPOINTS, PREFIX, TOOL_NAMES, Endpoint

if TYPE_CHECKING:
    from clew.tools.spec import Parameter

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
    paths["/ask"] = {"post": _asking()}
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


def _asking() -> dict[str, Any]:
    tool = TOOL_NAMES["ask"]
    return {
        "operationId": "post_ask",
        "summary": tool.title,
        "description": f"{tool.description} As text/event-stream: `piece`s, then `answer`.",
        "parameters": [NAMESPACE],
        "requestBody": _body(list(tool.parameters)),
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {
                    "application/json": {"schema": tool.result},
                    "text/event-stream": {"schema": {"type": "string"}},
                },
            },
            "default": PROBLEM,
        },
    }


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
