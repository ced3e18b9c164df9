"""The API: what it describes is what it does, failures are problems, rights hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate  # type: ignore[import-untyped]
from starlette.testclient import TestClient

from clew.web.endpoints import ENDPOINTS, PREFIX
from tests.unit.test_web_login import OWNER, READER, explorer, log_in

OWN = {"Authorization": f"Bearer {OWNER[0]}"}


def described(client: TestClient) -> dict[str, Any]:
    found = client.get(f"{PREFIX}/openapi.json").json()
    assert isinstance(found, dict)
    return found


def test_all_that_is_described_is_there(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        told = described(client)
        for path, operations in told["paths"].items():
            for method, operation in operations.items():
                address = PREFIX + path.replace("{", "").replace("}", "")
                answer = client.request(method, address, headers=OWN)
                assert "nothing here" not in answer.text, address
                kind = answer.headers["content-type"]
                assert kind in ("application/json", "application/problem+json"), address
                names = [p["name"] for p in operation["parameters"]]
                assert len(names) == len(set(names))
                assert set(path.replace("{", "}").split("}")[1::2]) <= set(names)


def test_every_parameter_is_described() -> None:
    for endpoint in ENDPOINTS:
        names = {p.name for p in endpoint.tool.parameters}
        assert set(endpoint.fixed) <= names
        assert set(endpoint.path.replace("{", "}").split("}")[1::2]) <= names


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("search", {"query": "mill", "top_k": "2", "where": "source=mill"}),
        ("documents", {"limit": "1"}),
        ("entities", {"query": "Jonas Reed"}),
        ("paths", {"source": "Jonas Reed", "target": "Harrow Ford"}),
        ("subgraph", {"query": "Jonas Reed"}),
        ("graph", {"entities": "1"}),
        ("communities", {}),
        ("statistics", {}),
        ("merges", {}),
        ("jobs", {}),
    ],
)
def test_results_are_as_described(tmp_path: Path, path: str, query: dict[str, str]) -> None:
    with explorer(tmp_path) as client:
        schema = described(client)["paths"][f"/{path}"]["get"]["responses"]["200"]
        answer = client.get(f"{PREFIX}/{path}", params=query, headers=OWN)

    assert answer.status_code == 200, answer.text
    validate(answer.json(), schema["content"]["application/json"]["schema"])
    assert "success" not in answer.json()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "search", 400),
        ("GET", "search?query=x&top_k=many", 400),
        ("GET", "search?query=x&unknown=1", 400),
        ("GET", "documents/none", 404),
        ("GET", "graph", 400),
        ("GET", "jobs/none", 404),
        ("GET", "none", 404),
        ("GET", "documents?namespace=secret", 404),
        ("DELETE", "relations/999", 404),
        ("POST", "documents", 400),
        ("POST", "ask", 400),
        ("PUT", "search", 404),
        ("PATCH", "documents/mill", 404),
        ("OPTIONS", "search", 404),
        ("GET", f"graph?entities={'9' * 25}", 400),
        ("GET", f"graph?entities={'9' * 5000}", 400),
        ("GET", "jobs?cursor=zzz", 404),
    ],
)
def test_failures_are_problems(tmp_path: Path, method: str, path: str, status: int) -> None:
    with explorer(tmp_path) as client:
        answer = client.request(method, f"{PREFIX}/{path}", headers=OWN)

    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (answer.status_code, problem["status"]) == (status, status)
    assert problem["detail"]


def test_without_a_token_or_the_right_nothing_is_told(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        nobody = client.get(f"{PREFIX}/documents")
        asking = client.post(f"{PREFIX}/ask", json={"query": "mill"})
        reader = client.post(
            f"{PREFIX}/documents",
            json={"text": "Bells."},
            headers={"Authorization": f"Bearer {READER[0]}"},
        )

    assert nobody.status_code == asking.status_code == 401
    assert asking.headers["content-type"] == "application/problem+json"
    assert nobody.headers["www-authenticate"] == "Bearer"
    assert reader.status_code == 403


def test_a_cookie_alone_writes_nothing(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        page = client.get("/ui/").text
        token = page.partition('data-form-token="')[2].partition('"')[0]
        sent: dict[str, Any] = {"json": {"text": "Edda Rowe cast the bell.", "source": "bell"}}
        alone = client.post(f"{PREFIX}/documents", **sent)
        asked = client.post(f"{PREFIX}/ask", json={"query": "mill"})
        with_token = client.post(f"{PREFIX}/documents", headers={"X-Form-Token": token}, **sent)
        listed = client.get(f"{PREFIX}/documents").json()

    assert (alone.status_code, asked.status_code) == (403, 403)
    assert with_token.status_code == 202
    assert {d["source"] for d in listed["documents"]} == {"mill", "bell"}


def test_a_forged_form_token_of_any_letters_is_refused(tmp_path: Path) -> None:
    with explorer(tmp_path) as client:
        log_in(client, OWNER[0])
        forged = {b"X-Form-Token": "é".encode("latin-1")}
        asked = client.post(f"{PREFIX}/ask", json={"query": "mill"}, headers=forged)
        added = client.post(f"{PREFIX}/documents", json={"text": "Bells."}, headers=forged)
        page = client.post("/ui/demo", data={"form_token": "€"})

    assert [asked.status_code, added.status_code, page.status_code] == [403, 403, 403]
