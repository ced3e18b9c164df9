"""A stand-in for a Qdrant server: its REST interface, answered by the client's own local mode.

It shows that requests say what they mean and that every answer is understood; how a real server
searches it does not show. Where `QDRANT_URL` is set, the contract tests use that server, too.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel
from pytest_httpserver import HTTPServer
from qdrant_client.http import models
from qdrant_client.local.qdrant_local import QdrantLocal
from werkzeug import Request, Response

Answer = Any


class QdrantStandIn:
    """Holds collections in memory; `requests` are (method, path, body) in order."""

    def __init__(self, api_key: str = "") -> None:
        self.api_key = api_key
        self.requests: list[tuple[str, str, Any]] = []
        self.indexes: dict[str, dict[str, Any]] = {}
        self.configs: dict[str, dict[str, Any]] = {}
        self.failing = 0
        """A status that every request is answered with; 0: none."""
        self.silent = threading.Event()
        """While it is cleared, nothing is answered."""
        self.silent.set()
        self.local = QdrantLocal(":memory:")
        self._lock = threading.Lock()
        self._server = HTTPServer(host="127.0.0.1", threaded=True)
        self._server.expect_request(re.compile(".*")).respond_with_handler(self._serve)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    def __enter__(self) -> QdrantStandIn:
        self._server.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.silent.set()
        self._server.stop()
        self.local.close()

    def clear(self) -> None:
        """Lose everything, as a server does that is started with an empty disk."""
        for name in list(self.local.collections):
            self.local.delete_collection(name)
        self.indexes.clear()
        self.configs.clear()

    def calls(self, method: str, ending: str) -> list[Any]:
        """Bodies of the requests with that method whose path ends so."""
        return [
            body for verb, path, body in self.requests if verb == method and path.endswith(ending)
        ]

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Answer]:  # noqa: ANN401
        """Status and result of a request."""
        with self._lock:
            self.requests.append((method, path, body))
            if self.failing:
                return self.failing, "as the test asked"
            for verb, pattern, action in _ROUTES:
                match = re.fullmatch(pattern, path)
                if verb == method and match:
                    return self._try(action, match, body)
            return 404, f"no route {method} {path}"

    def _try(self, action: Action, match: re.Match[str], body: Any) -> tuple[int, Answer]:  # noqa: ANN401
        try:
            return 200, action(self, *match.groups(), body or {})
        except ValueError as error:
            if "already exists" in str(error):
                return 409, str(error)
            return (404 if "not found" in str(error) else 400), str(error)

    def _serve(self, request: Request) -> Response:
        self.silent.wait(30)
        status, result = self.answer(request.method, request.path, request.get_json(silent=True))
        if self.api_key and request.headers.get("api-key") != self.api_key:
            status, result = 401, "Must provide an API key"
        if status != 200:
            reply = {"time": 0.0, "status": {"error": result}}
        elif request.path == "/":
            reply = result
        else:
            reply = {"time": 0.0, "status": "ok", "result": result}
        return Response(json.dumps(reply), status, content_type="application/json")


Action = Callable[..., Answer]


@contextmanager
def stand_in(api_key: str = "") -> Iterator[QdrantStandIn]:
    with QdrantStandIn(api_key) as server:
        yield server


def _plain(value: Any) -> Answer:  # noqa: ANN401
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _create(server: QdrantStandIn, name: str, body: dict[str, Any]) -> Answer:
    asked = models.CreateCollection(**body)
    server.configs[name] = {}
    return server.local.create_collection(name, asked.vectors, asked.sparse_vectors)


def _info(server: QdrantStandIn, name: str, _: object) -> Answer:
    info = _plain(server.local.get_collection(name))
    info["payload_schema"] = {
        field: {"data_type": schema["type"], "params": schema, "points": 0}
        for field, schema in server.indexes.get(name, {}).items()
    }
    for vector, change in server.configs[name].items():
        params = info["config"]["params"]["vectors"][vector]
        params.update(change)
        if params.get("quantization_config") == "Disabled":
            del params["quantization_config"]
    return info


def _update(server: QdrantStandIn, name: str, body: dict[str, Any]) -> Answer:
    models.UpdateCollection(**body)
    server.configs[name].update(body["vectors"])
    return True


def _index(server: QdrantStandIn, name: str, body: dict[str, Any]) -> Answer:
    server.indexes.setdefault(name, {})[body["field_name"]] = body["field_schema"]
    return {"operation_id": 0, "status": "completed"}


def _upsert(server: QdrantStandIn, name: str, body: dict[str, Any]) -> Answer:
    return _plain(server.local.upsert(name, models.PointsList(**body).points))


def _delete(server: QdrantStandIn, name: str, body: dict[str, Any]) -> Answer:
    chosen = models.FilterSelector(**body) if "filter" in body else models.PointIdsList(**body)
    return _plain(server.local.delete(name, chosen))


def _retrieve(server: QdrantStandIn, name: str, body: dict[str, Any]) -> Answer:
    asked = models.PointRequest(**body)
    return _plain(
        server.local.retrieve(name, asked.ids, asked.with_payload or False, asked.with_vector)  # type: ignore[arg-type]
    )


def _scroll(server: QdrantStandIn, name: str, body: dict[str, Any]) -> Answer:
    asked = models.ScrollRequest(**body)
    points, page = server.local.scroll(
        name,
        asked.filter,
        asked.limit or 10,
        offset=asked.offset,
        with_payload=asked.with_payload or False,
    )
    return {"points": _plain(points), "next_page_offset": page}


def _query(server: QdrantStandIn, name: str, body: dict[str, Any]) -> Answer:
    asked = models.QueryRequest(**body)
    if asked.params is not None:  # local mode warns that it has no index
        asked.params = models.SearchParams(idf=asked.params.idf)
    found = server.local.query_points(
        name,
        asked.query,  # type: ignore[arg-type]
        asked.using,
        asked.prefetch,
        asked.filter,
        asked.params,
        asked.limit or 10,
        with_payload=asked.with_payload or False,
    )
    return _plain(found)


def _count(server: QdrantStandIn, name: str, body: dict[str, Any]) -> Answer:
    return _plain(server.local.count(name, models.CountRequest(**body).filter))


def _names(server: QdrantStandIn, _: object) -> Answer:
    return {"collections": [{"name": name} for name in server.local.collections]}


_AT = r"/collections/([^/]+)"
_ROUTES: list[tuple[str, str, Action]] = [
    ("GET", "/", lambda server, _: {"title": "stand-in", "version": "1.20.0"}),
    ("GET", "/collections", _names),
    ("GET", _AT + "/exists", lambda s, name, _: {"exists": s.local.collection_exists(name)}),
    ("GET", _AT, _info),
    ("PUT", _AT, _create),
    ("PATCH", _AT, _update),
    ("PUT", _AT + "/index", _index),
    ("PUT", _AT + "/points", _upsert),
    ("POST", _AT + "/points", _retrieve),
    ("POST", _AT + "/points/delete", _delete),
    ("POST", _AT + "/points/scroll", _scroll),
    ("POST", _AT + "/points/query", _query),
    ("POST", _AT + "/points/count", _count),
]
