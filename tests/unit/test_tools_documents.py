"""The document tools, called as an assistant calls them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_httpserver import HTTPServer

import clew
from clew.engine import Engine
from clew.jobs import JobRunner, make_runner
from clew.operations.budget import fitting_length, tokens_of, truncate
from clew.operations.spec import Caller
from clew.operations.toolbox import OPERATIONS, Toolbox, audit_to, subjects
from clew.stores.sqlite.journal import SqliteAudit
from clew.testing.fakes import HashEmbedder
from tests.unit.called import call, pages, refusal

MILL = "Jonas Reed built the mill at Harrow Ford. Jonas Reed learned his trade in Tarn Abbey."


class Desk:
    """An engine with its tools, and calls that say what came of them."""

    def __init__(
        self,
        root: Path,
        namespace: str = "default",
        *,
        private_addresses: bool = False,
        **settings_given: object,
    ) -> None:
        self.root = root
        settings = clew.load_settings(
            store=root / "store",
            namespace=namespace,
            access={"roots": [root], "allow_private_addresses": private_addresses},
            **settings_given,
        )
        self.engine: Engine = clew.open(settings=settings, embedder=HashEmbedder())
        self.runner: JobRunner = make_runner(self.engine)
        self.audit = SqliteAudit(self.engine.state.journal)
        self.toolbox = Toolbox(
            self.engine,
            OPERATIONS,
            profile=None,
            services={"jobs": self.runner},
            audit=audit_to(self.audit),
        )

    def call(self, tool: str, caller: Caller | None = None, /, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """The result of a call that succeeds, the same as its text."""
        return call(self.toolbox, tool, caller, **arguments)

    def refused(self, tool: str, **arguments: Any) -> str:  # noqa: ANN401
        """The message of a call that fails."""
        return refusal(self.toolbox, tool, **arguments)

    def finished(self, job_id: str) -> dict[str, Any]:
        """The status of a job once it has ended."""
        assert self.runner.wait(job_id, 20).ended
        return self.call("query_job_status", job_id=job_id)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.engine.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nAda Morn saw weir {number}.")
    return folder


# --- taking in -----------------------------------------------------------------------------


def test_a_short_text_is_found_as_soon_as_it_is_stored(desk: Desk) -> None:
    metadata = [{"name": "year", "value": "1850"}]
    given = desk.call("ingest_document", text=MILL, title="The Mill", metadata=metadata)
    assert (given["status"], given["progress"], given["completed"]) == ("completed", 1.0, 1)
    found = desk.call("query_documents", query="Who built the mill?", min_confidence=1)
    (hit,) = found["results"]
    assert found["confidence"] == hit["confidence"] < 1
    assert not found["answered"]
    assert "nothing found that answers this" in found["notes"][0]
    assert (hit["id"], hit["text"]) == (f"{given['document']}#0", MILL)
    assert hit["metadata"].items() >= {"title": "The Mill", "year": "1850"}.items()
    assert desk.call("query_documents", query="mill", where=["year>1900"])["results"] == []


def test_the_same_source_is_replaced_and_the_same_key_is_one_job(desk: Desk) -> None:
    first = desk.call("ingest_document", text=MILL, source="mill", idempotency_key="k")
    again = desk.call("ingest_document", text=MILL, source="mill", idempotency_key="k")
    assert again["job_id"] == first["job_id"]
    desk.call("ingest_with_context", text="The mill burned down in 1901.", source="mill")
    assert desk.call("list_documents")["total"] == 1
    assert "burned" in desk.call("get_document", document="mill")["text"]
    assert "'k' belongs to job" in desk.refused("ingest_document", text="x", idempotency_key="k")


def test_a_folder_is_read_as_a_job_with_its_failures(desk: Desk, folder: Path) -> None:
    (folder / "picture.md").write_bytes(bytes(range(256)))
    job = desk.call("ingest_document", path="notes")
    assert job["document"] is None
    status = desk.finished(job["job_id"])
    assert (status["status"], status["completed"], status["total"]) == ("completed", 5, 5)
    assert [(Path(e["document"]).name, e["error"]) for e in status["errors"]] == [
        ("picture.md", "binary")
    ]
    listed = desk.call("list_documents")["documents"]
    assert [item["title"] for item in listed] == [f"Note {number}" for number in range(4)]


def test_a_file_may_be_given_title_metadata_and_source(desk: Desk, folder: Path) -> None:
    file = str(folder / "1.md")
    said: dict[str, Any] = {
        "title": "Weirs",
        "metadata": [{"name": "river", "value": "Lorne"}],
        "source": "w",
    }
    for _ in range(2):
        job = desk.call("ingest_document", path=file, **said)
        assert desk.finished(job["job_id"])["errors"] == []
    (listed,) = desk.call("list_documents")["documents"]
    kept = {"document": job["document"], "metadata": {"river": "Lorne"}, "version": 1}
    assert listed.items() >= {**kept, "title": "Weirs", "source": "w"}.items()
    desk.finished(desk.call("ingest_document", path=file, **{**said, "title": "W"})["job_id"])
    assert desk.call("list_documents")["documents"][0]["title"] == "W"
    assert (
        "is a folder"
        in desk.finished(desk.call("ingest_document", path="notes", title="x")["job_id"])["error"]
    )


def test_what_an_address_answers_is_read_by_its_type(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    page = f"<title>The Mill</title><h1>Mill</h1><p>{MILL}</p>"
    lines = "".join(f'{{"id": {n}, "text": "Row {n}."}}\n' for n in (1, 2))
    for path, data, kind, code in (
        ("/mill.html", page, "text/html", 200),
        ("/rows.jsonl", lines, "application/octet-stream", 200),
        ("/gone.html", "", "text/html", 404),
    ):
        httpserver.expect_request(path).respond_with_data(data, code, content_type=kind)
    desk, site = Desk(tmp_path, private_addresses=True), httpserver.url_for("").rstrip("/")
    job = desk.call("ingest_document", url=f"{site}/mill.html?x=1")
    assert desk.finished(job["job_id"])["errors"] == []
    (hit,) = desk.call("query_documents", query="Who built the mill?")["results"]
    assert hit["metadata"]["source"] == f"{site}/mill.html?x=1"
    assert (hit["metadata"]["title"], "<p>" in hit["text"]) == ("The Mill", False)
    assert desk.call("fetch", id=hit["id"])["url"] == f"{site}/mill.html?x=1"
    rows = desk.call("ingest_document", url=f"{site}/rows.jsonl", source="rows")
    assert desk.finished(rows["job_id"])["status"] == "completed"
    failed = desk.call("ingest_document", url=f"{site}/gone.html")
    status = desk.finished(failed["job_id"])
    assert (status["status"], status["error"]) == (
        "failed",
        f"cannot read '{site}/gone.html': the server answered 404",
    )
    listed = desk.call("list_documents")["documents"]
    assert [item["source"] for item in listed] == [f"{site}/mill.html?x=1", "rows#1", "rows#2"]
    desk.engine.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of path, url and text is needed, none of them was given"),
        ({"path": "a", "text": "b"}, "path and text was given"),
        ({"text": " \n"}, "text is blank"),
        ({"path": "nowhere.md"}, "no file or folder 'nowhere.md'"),
        ({"path": "/etc/hosts"}, "lies outside the folders that may be used"),
        ({"path": "../x"}, "lies outside the folders that may be used"),
        ({"path": "/dev/null"}, "lies outside the folders"),
        ({"path": "store/default/clew.db"}, "lies in the folder of the stores or"),
        ({"path": "a\x00b"}, "NUL character"),
        ({"url": "file:///etc/hosts"}, "expected one such as https"),
        ({"url": "http://127.0.0.1/"}, "no public address"),
        ({"text": "x", "metadata": [{"name": "a"}]}, "needs 'value'"),
    ],
)
def test_what_cannot_be_taken_in_is_refused_at_once(
    desk: Desk, arguments: dict[str, Any], message: str
) -> None:
    assert message in desk.refused("ingest_document", **arguments)
    assert desk.call("list_documents")["total"] == 0


def test_what_failed_is_tried_again_and_nothing_else(desk: Desk, folder: Path) -> None:
    broken = folder / "broken.json"
    broken.write_text("{ no")
    first = desk.finished(desk.call("ingest_document", path="notes")["job_id"])
    assert (first["status"], len(first["errors"]), first["can_retry"]) == ("completed", 1, True)
    broken.write_text('{"title": "A weir", "text": "Piet Oss mended the weir."}')
    again = desk.call("retry_job", job_id=first["job_id"])
    assert desk.call("retry_job", job_id=first["job_id"])["job_id"] == again["job_id"]
    done = desk.finished(again["job_id"])
    assert (done["status"], done["total"], done["errors"]) == ("completed", 1, [])
    assert desk.call("query_documents", query="Who mended the weir?")["answered"]
    known = desk.call("query_job_status", job_id=first["job_id"])
    assert (known["retried_by"], known["can_retry"]) == (again["job_id"], False)
    assert "did all it was asked for" in desk.refused("retry_job", job_id=again["job_id"])


def test_a_folder_that_was_not_there_is_read_whole_when_it_is(desk: Desk) -> None:
    missing = desk.root / "later"
    job = desk.runner.submit("ingest", {"path": str(missing)}, description="read later")
    assert desk.finished(job.id)["status"] == "failed"
    assert "later" in desk.refused("retry_job", job_id=job.id)
    missing.mkdir()
    (missing / "one.md").write_text(MILL)
    done = desk.finished(desk.call("retry_job", job_id=job.id)["job_id"])
    assert (done["status"], done["total"]) == ("completed", 1)


def test_a_job_is_tried_again_by_whoever_could_have_begun_it(desk: Desk) -> None:
    """A right to write is none to index again; a path outside the folders of now is none at all."""
    job = desk.runner._store.submit("reindex", {}, description="index again")[0]
    desk.call("cancel_job", job_id=job.id)
    assert "is cancelled already" in desk.refused("cancel_job", job_id=job.id)
    writer = Caller(scopes=frozenset({"read", "write"}))
    refused = desk.toolbox.call("retry_job", {"job_id": job.id}, caller=writer)
    assert "the right to call reindex" in refused.text
    outside = {"path": "/etc/hostname", "roots": ["/etc"]}
    store = desk.runner._store
    job = store.submit("ingest", outside, description="read", lease_seconds=60)[0]
    store.finish(job.id, job.owner, error="away")
    assert "outside the folders" in desk.refused("retry_job", job_id=job.id)
    job = store.submit(
        "ingest",
        {"data": "", "name": "a.md", "source": "upload/a.md"},
        description="read",
        lease_seconds=60,
    )[0]
    store.finish(job.id, job.owner, error="away")
    assert "send the file again" in desk.refused("retry_job", job_id=job.id)


# --- reading -------------------------------------------------------------------------------


@pytest.fixture
def stocked(desk: Desk) -> Desk:
    for number in range(12):
        text = f"Letter {number}. " + f"Ada Morn wrote to Piet Oss about weir {number}. " * 20
        desk.call("ingest_document", text=text, title=f"Letter {number}", source=f"letter-{number}")
    return desk


@pytest.mark.parametrize(
    ("given", "strategy"),
    [
        ({"rag_type": "traditional"}, "vector"),
        ({"rag_type": "contextual"}, "hybrid"),
        ({"rag_type": "traditional", "strategy": "keyword"}, "keyword"),
        ({"rag_type": "contextual", "strategy": "keyword"}, "keyword"),
        ({"strategy": "keyword"}, "keyword"),
    ],
)
def test_kinds_of_retrieval_are_strategies(
    stocked: Desk, given: dict[str, str], strategy: str
) -> None:
    assert stocked.call("query_documents", query="weir 7", **given)["strategy"] == strategy


def test_the_first_few_passages_come_before_threads_and_these_before_others(desk: Desk) -> None:
    for place in range(9):
        text = f"Jonas Reed built mill {place} at Harrow Ford. Jonas Reed sold it to Edda Rowe."
        desk.engine.add(text, source=f"{place}", metadata={"remark": "word " * 40})
    shown = []
    for room in range(600, 3000, 200):
        hits = desk.call(
            "query_documents", query="What did Jonas Reed build?", strategy="graph", max_tokens=room
        )["results"]
        with_thread = [bool(hit["graph_context"]["entities"]) for hit in hits]
        if len(hits) > 5:
            assert all(with_thread[:5]), "they have their threads before others have a place"
        shown.append(len(hits))
    assert shown == sorted(shown)
    assert shown[0] < 5 < shown[-1]


def test_a_text_read_page_by_page_is_the_text(stocked: Desk) -> None:
    text = "".join(f"Year {n}: the Lorne froze at Tarn Abbey, 東京 too. " for n in range(300))
    stocked.call("ingest_document", text=text, source="annals")
    parts = [*pages(stocked.toolbox, "get_document", document="annals", max_tokens=700)]
    texts = [part["text"] for part in parts]
    assert [part["char_start"] for part in parts] == [0, *accumulate(map(len, texts[:-1]))]
    assert "".join(texts) == stocked.engine.documents.text("annals")
    assert len(parts) > 3
    assert stocked.call("get_document", document="annals", cursor="99999999")["text"] == ""


def test_documents_are_listed_page_by_page(stocked: Desk) -> None:
    parts = [*pages(stocked.toolbox, "list_documents", limit=5)]
    sources = [item["source"] for part in parts for item in part["documents"]]
    assert sources == sorted(f"letter-{number}" for number in range(12))
    assert [part["total"] for part in parts] == [12] * 3
    only = stocked.call("list_documents", where=["title=Letter 3"])
    assert [item["source"] for item in only["documents"]] == ["letter-3"]


def test_tools_take_a_filter_as_text_as_data_or_several(stocked: Desk) -> None:
    data = {"field": "title", "operator": "in", "value": ["Letter 3", "Letter 4"]}
    text = "title = Letter 3 or title = Letter 4"
    for where in (text, [text], data, [data], json.dumps(data), [json.dumps(data)]):
        only = stocked.call("list_documents", where=where)
        assert [item["source"] for item in only["documents"]] == ["letter-3", "letter-4"]
        found = stocked.call("query_documents", query="weir", where=where)
        assert {hit["metadata"]["source"] for hit in found["results"]} == {"letter-3", "letter-4"}
    both = stocked.call("list_documents", where=[data, "not title = Letter 3"])
    assert [item["source"] for item in both["documents"]] == ["letter-4"]
    refused = stocked.refused("list_documents", where=["title = x", 3])
    assert "where[1] cannot be 3; expected a string" in refused


def test_search_and_fetch_have_the_shapes_that_connectors_expect(stocked: Desk) -> None:
    found = stocked.call("search", query="Who wrote about weir 7?")
    assert set(found) == {"success", "results"}
    assert 0 < len(found["results"]) <= 10
    assert all(set(item) == {"id", "title", "url", "text"} for item in found["results"])
    assert len({item["title"] for item in found["results"]}) == len(found["results"])
    first = found["results"][0]
    fetched = stocked.call("fetch", id=first["id"])
    assert set(fetched) == {"success", "id", "title", "text", "url", "metadata"}
    assert {name: fetched[name] for name in ("id", "title", "url")} == {
        name: first[name] for name in ("id", "title", "url")
    }
    assert first["text"]
    assert first["text"] in fetched["text"]
    assert fetched["text"] == stocked.engine.documents.text(fetched["metadata"]["document"])
    assert stocked.call("fetch", id=fetched["metadata"]["document"])["text"] == fetched["text"]


def test_fetch_gives_what_stands_around_a_passage_of_a_long_text(desk: Desk) -> None:
    text = "\n\n".join(f"Year {n}: the river Lorne froze at Tarn Abbey again." for n in range(3000))
    document = desk.engine.add(text, source="https://example.org/annals")
    (first, *_) = desk.call("search", query="What happened in year 2600?")["results"]
    assert first["url"] == "https://example.org/annals"
    last = desk.engine.documents.chunks(document)[-1]
    fetched = desk.call("fetch", id=last.public_id)
    assert last.text in fetched["text"]
    assert fetched["metadata"]["char_start"] > 0
    assert fetched["text"] == text[fetched["metadata"]["char_start"] :]
    whole = desk.call("fetch", id=document)
    assert desk.engine.state.embedder.count_tokens(json.dumps(whole["text"])) <= 8000


def test_collections_are_the_callers_alone(tmp_path: Path) -> None:
    for namespace, number in (("ann", 1), ("bo", 2), ("cy", 3)):
        desk = Desk(tmp_path, namespace)
        for i in range(number):
            desk.call("ingest_document", text=f"Note {i} of Tarn Abbey.")
        desk.engine.close()
    desk = Desk(tmp_path, "ann")
    own = desk.call("list_collections")["collections"]
    assert [(c["namespace"], c["counts"]["documents"]) for c in own] == [("ann", 1)]
    caller = Caller(namespaces=("ann", "bo", "none"))
    found = desk.call("list_collections", caller)
    counts = [(c["namespace"], c["counts"]["documents"]) for c in found["collections"]]
    assert counts == [("ann", 1), ("bo", 2), ("none", 0)]
    assert not (tmp_path / "store" / "none").exists()
    page = desk.call("list_collections", caller, limit=2)
    assert (len(page["collections"]), page["total"], page["next_cursor"]) == (2, 3, "2")
    desk.engine.close()


# --- deleting, copies, audit ---------------------------------------------------------------


def test_a_backup_brings_everything_back(stocked: Desk) -> None:
    question: dict[str, Any] = {"query": "Who wrote about weir 7?", "strategy": "vector"}
    before = stocked.call("query_documents", **question)["results"]
    made = stocked.call("backup", name="copy")
    kept = stocked.root / "store" / "default" / "backups" / "copy.db"
    assert (made["name"], made["bytes"]) == ("copy", kept.stat().st_size)
    assert "there is a backup 'copy' already" in stocked.refused("backup", name="copy")
    stocked.call("delete_document", document="letter-7", confirm=True)
    stocked.call("ingest_document", text=MILL, source="new")
    assert stocked.call("query_documents", **question)["results"] != before
    message = stocked.refused("restore", name="missing", confirm=True)
    assert "no backup 'missing' of this collection; there are: copy" in message
    message = stocked.refused("restore", name="copy")
    assert "replaces all that is stored (12 documents)" in message
    assert stocked.call("restore", name="copy", confirm=True)["documents"] == 12
    assert stocked.call("query_documents", **question)["results"] == before
    assert stocked.engine.maintenance.check().problems == ()
    # Jobs and the audit log are this store's own, and go on.
    assert [entry.tool for entry in stocked.audit.entries(limit=2)] == ["restore", "restore"]
    stocked.call("ingest_document", text=MILL, source="new")
    assert stocked.call("search", query="Who built the mill?")["results"][0]["id"]


def test_backups_of_a_collection_are_bounded(tmp_path: Path) -> None:
    desk = Desk(tmp_path, quota={"backups": 2})
    for name in ("first", "second"):
        desk.call("backup", name=name)

    message = desk.refused("backup", name="third")

    assert "first, second" in message
    assert "quota.backups" in message
    folder = desk.engine.store.folder / "backups"
    assert sorted(file.name for file in folder.iterdir()) == ["first.db", "second.db"]
    (folder / "first.db").unlink()
    desk.call("backup", name="third")
    desk.engine.close()


def test_every_change_leaves_a_row_without_texts(desk: Desk) -> None:
    caller = Caller(name="ann")
    metadata = [{"name": "token", "value": "hunter2"}]
    desk.call("ingest_document", caller, text=MILL, title="Mill", source="m", metadata=metadata)
    desk.call("search", caller, query="secret question")
    desk.refused("ingest_document", url="https://127.0.0.1/a?key=hunter2")
    desk.call("delete_document", caller, document="m", confirm=True)
    rows = desk.audit.entries()
    assert [(row.caller, row.tool, row.subjects) for row in rows] == [
        ("ann", "delete_document", {"document": "m", "confirm": True}),
        ("local", "ingest_document", {"url": "https://127.0.0.1/a"}),
        ("ann", "ingest_document", {"title": "Mill", "source": "m"}),
    ]
    assert "hunter2" not in str(rows)


def test_the_audit_log_is_read_page_by_page_and_by_administrators_alone(desk: Desk) -> None:
    assert desk.call("audit") == {"success": True, "entries": [], "next_cursor": None}
    for name in "abcde":
        desk.call("ingest_document", Caller(name=name), text=MILL, source=name)
    parts = [part["entries"] for part in pages(desk.toolbox, "audit", limit=2)]
    assert [len(part) for part in parts] == [2, 2, 1]
    found = [entry for part in parts for entry in part]
    # Reading leaves no row.
    assert [(e["caller"], e["tool"], e["subjects"]) for e in found] == [
        (name, "ingest_document", {"source": name}) for name in "edcba"
    ]
    assert [e["recorded_at"] for e in found] == [
        e.recorded_at.isoformat() for e in desk.audit.entries()
    ]
    writer = Caller(name="ann", scopes=frozenset({"read", "write"}))
    assert desk.toolbox.call("audit", {}, caller=writer).is_error


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_values_of_parameters_that_are_no_names_are_never_kept(value: object) -> None:
    assert subjects({"text": value, "observations": [{"contents": value}]}) == {
        "observations": [{}]
    }


@given(st.text(), st.integers(-5, 60))
def test_texts_are_cut_to_what_fits(text: str, room: int) -> None:
    count = HashEmbedder().count_tokens
    length = fitting_length(text, room, count)
    assert length == 0 or tokens_of(text[:length], count) <= room
    kept = truncate(text, room, count)
    assert text.startswith(kept)
    assert kept or not text
