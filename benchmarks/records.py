"""What Clew answers, extracts and prints, as files: a refactoring must leave them as they are.

    uv run --group dev python -m benchmarks.records FOLDER [--bench BENCH_DIR] [--more FOLDER]
    uv run --group dev python -m benchmarks.records FOLDER --against EARLIER

Both write records to FOLDER. The first makes the texts that they are of, too (`--more` adds files
of each ending in a folder); the second takes those of EARLIER, prints every difference, and exits
with 1 where there is one. Recorded are: the passages that each strategy finds and their scores,
and what `ask` answers without a model; documents, passages, entities and relations of files of
many formats; what every tool for assistants returns; the descriptions of tools and of the HTTP
API; and what each command prints, with `--json`, without it, and as help.

Only what users reach is used: `clew.open`, tools, the command line, a server. Times, durations and
paths are taken out, and numbers have four digits behind the point. Ids come from paths, so the work
is always done in the same folder, and a second run waits for the first.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

WORK = Path(tempfile.gettempdir()) / "clew-records"
STRATEGIES = (
    *("auto", "vector", "keyword", "hybrid", "graph", "parent_child", "topic", "multi_hop"),
    *("hierarchical", "temporal", "global", "local", "weighted", "drift"),
)
PACKS = ("personal", "papers")
LIBRARY = "library"
"""The corpus that is asked by tools and commands, too."""
WRITTEN = 1_700_000_000
"""When every file was written, as its properties say: it is stored."""
SHOWN = 200
"""Characters of a value that a difference shows."""

TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search", {"query": "Who bought the Kestrel?"}),
    ("fetch", {"id": "$document"}),
    ("fetch", {"id": "$chunk"}),
    ("query_documents", {"query": "Who made the hook of crane 4?", "top_k": 4}),
    ("query_documents", {"query": "Field", "rag_type": "traditional", "where": ["year>=2020"]}),
    ("query_documents", {"query": "What happened in May 2021?", "strategy": "temporal"}),
    ("query_documents", {"query": "What is it about?", "strategy": "global", "max_tokens": 800}),
    ("query_documents", {"query": "x", "strategy": "none"}),
    ("ask", {"query": "Who bought the Kestrel?"}),
    ("list_documents", {"limit": 5}),
    ("list_documents", {"where": ["author=Ada Ray"]}),
    ("get_document", {"document": "$document"}),
    ("list_collections", {}),
    ("graph_enhanced_search", {"query": "the harbour of Orle", "limit": 5}),
    ("get_entity_neighbors", {"entity_id": "$first", "depth": 2, "limit": 10}),
    ("get_graph_statistics", {}),
    ("find_paths", {"source": "Ada Ray", "target": "Stone & Sons"}),
    ("find_paths", {"source": "Ada Ray", "target": "Pell Forge", "weighted": True}),
    ("entity_timeline", {"entity": "Cara Field"}),
    ("relevant_subgraph", {"query": "Who works at Orle Harbour?", "format": "json"}),
    ("relevant_subgraph", {"entity_ids": ["$first", "$second"], "hops": 1}),
    ("list_communities", {"limit": 5}),
    ("list_communities", {"query": "cranes", "limit": 3}),
    ("search_entities", {"query": "Who drives the crane?", "node_types": ["person"]}),
    ("build_local_graph", {"entity_ids": ["$first", "$second"]}),
    ("suggest_merges", {"limit": 10}),
    ("prune_graph", {"below": 0.5, "limit": 10}),
    ("audit", {"limit": 5}),
    ("extraction_next", {"limit": 2}),
    ("ask_by_cypher", {"query": "How many ships?"}),
    ("calendar_query", {"time_range": "2021-05-01 to 2021-06-30"}),
    ("contacts_search", {"query": "Ray"}),
    ("tasks_query", {}),
    ("papers_list", {}),
    ("tasks_update", {"id": "$task", "status": "done"}),
    ("graph_search_nodes", {"query": "crane meeting"}),
    ("read_graph", {}),
    ("create_entities", {"entities": [
        {"name": "Ida Moss", "entityType": "person", "observations": ["Sings.", "Keeps cats."]},
        {"name": "Tarn Abbey", "entityType": "place", "observations": []},
    ]}),
    ("create_relations", {"relations": [
        {"from": "Ida Moss", "to": "Tarn Abbey", "relationType": "lives_in"},
        {"from": "Ida Moss", "to": "Nobody Known", "relationType": "lives_in"},
    ]}),
    ("add_observations", {"observations": [{"entityName": "Ida Moss", "contents": ["Rows."]}]}),
    ("search_nodes", {"query": "moss"}),
    ("open_nodes", {"names": ["Ida Moss", "Nobody Known"]}),
    ("delete_observations", {"deletions": [{"entityName": "Ida Moss", "observations": ["Rows."]}]}),
    ("delete_relations", {"relations": [
        {"from": "Ida Moss", "to": "Tarn Abbey", "relationType": "lives_in"},
    ]}),
    ("delete_entities", {"entityNames": ["Ida Moss"]}),
    ("add_entity_relationship",
     {"source_id": "$first", "target_id": "$second", "relation_type": "depends_on"}),
    ("add_entity_relationship", {"source_id": 0, "target_id": 0, "relation_type": "Of No Kind"}),
    ("graph_upsert", {"entities": [{"name": "Tarn Abbey", "entity_type": "place"}]}),
    ("extract_entity_relationships", {"entity_id": "$first"}),
    ("extract_all_relationships", {"limit": 5}),
    ("edit_entity", {"entity_id": "$first", "name": "Ada Ray the elder"}),
    ("refuse_merge", {"entity_id": "$first", "other_id": "$second"}),
    ("merge_entities", {"source_id": "$first", "target_id": "$second"}),
    ("undo_change", {"entry_id": "$entry"}),
    ("split_entity", {"entity_id": "$second", "names": ["Nobody Known"]}),
    ("delete_relation", {"relation_id": "$relation"}),
    ("delete_relation", {"relation_id": "$relation", "confirm": True}),
    ("prune_graph", {"below": 0.5, "dry_run": False, "confirm": True}),
    ("restore_pruned", {}),
    ("restore_pruned", {"names": ["Nobody Known"]}),
    ("ingest_document", {"text": "Ida Moss works for Tarn Abbey.", "title": "Note"}),
    ("query_job_status", {"job_id": "$job"}),
    ("ingest_with_context", {"text": "Ida Moss owns a boat.", "title": "Note 2", "source": "n2"}),
    ("cancel_job", {"job_id": "$job"}),
    ("retry_job", {"job_id": "$job"}),
    ("backup", {"name": "kept"}),
    ("delete_document", {"document": "$document"}),
    ("delete_document", {"document": "$document", "confirm": True}),
    ("restore", {"name": "kept", "confirm": True}),
    ("reindex", {}),
    ("list_documents", {"limit": 1}),
)  # fmt: skip
"""Every tool with arguments, in an order in which they can be called; $names are looked up."""

COMMANDS = """
search Who bought the Kestrel?
search --explain Who made the hook of crane 4?
search --context --citations Who made the hook of crane 4?
search --strategy keyword --where "author = 'Ada Ray'" hook
search --strategy temporal What happened in May 2021?
search --strategy global What are these documents about?
search --strategy drift --max-tokens 600 Who works at Orle Harbour?
search --strategy multi_hop How is Cara Field connected to Pell Forge?
search --strategy none x
ask Who bought the Kestrel?
ask Who was the first astronaut of Orle?
documents
documents --where "author = 'Ada Ray'"
show vault.md
show vault.md --text
show vault.md --versions
show nowhere.md
path "Ada Ray" "Stone & Sons"
path "Ada Ray" "Pell Forge" --weighted
path "Ada Ray" "Nobody Known"
timeline "Cara Field"
communities --limit 5
communities --query cranes --limit 2
topics --limit 20
subgraph Who works at Orle Harbour?
subgraph --format graphml --hops 1 --limit 10 Who works at Orle Harbour?
stats
stats --graph
stats --llm
check
audit
schema
tools
tools --profile full --format openai-strict
call search '{"query": "Kestrel"}'
call search '{"quarry": "Kestrel"}'
install codex
entity show "Ada Ray"
entity neighbors "Ada Ray" --depth 2 --limit 10
check --llm
pack
pack personal
enrich --extract --dry-run
index --dry-run .
no-such-command
"""
"""Commands that read, as typed at a shell."""


def main() -> int:
    """Write records; 1 where they differ from the earlier ones."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="where the records go; replaced")
    parser.add_argument("--against", type=Path, metavar="EARLIER", help="compare with these")
    parser.add_argument("--bench", type=Path, default=Path("../shared/bench"), metavar="BENCH_DIR")
    parser.add_argument("--more", type=Path, action="append", default=[], metavar="FOLDER")
    given = parser.parse_args()
    target = given.folder.resolve()
    earlier = given.against.resolve() if given.against else None
    if earlier == target:
        parser.error("the new records would replace the earlier ones; name another folder")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    if earlier:
        shutil.copytree(earlier / "inputs", target / "inputs")
    else:
        from benchmarks.record_inputs import make_inputs

        make_inputs(target / "inputs", given.bench, given.more)
    with Path(f"{WORK}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write_records(target)
    if earlier is None:
        return 0
    found = list(differences(read_records(earlier), read_records(target)))
    print(*found, f"{len(found)} differences", sep="\n")
    return int(bool(found))


def write_records(target: Path) -> None:
    """Make the stores of all corpora, and write what is got from them."""
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(target / "inputs", WORK / "inputs")
    for path in (WORK / "inputs").rglob("*"):
        os.utime(path, (WRITTEN, WRITTEN))
    prepare_environment()
    names: dict[str, str] = {}
    for questions in sorted((WORK / "inputs").glob("*.json")):
        begun = time.monotonic()
        answers = ask_all(questions.stem, json.loads(questions.read_text("utf-8")), names)
        clean = Cleaner(names)
        for part, record in answers.items():
            keep(target / "answers" / f"{questions.stem}-{part}.json", clean(record))
        print(f"{questions.stem}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    for name, record in (
        ("extraction", extraction),
        ("tools", partial(tools, names)),
        ("commands", commands),
        ("help", helps),
        ("openapi", openapi),
    ):
        begun = time.monotonic()
        made = record()
        keep(target / f"{name}.json", Cleaner(names)(made))
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)


def prepare_environment() -> None:
    """No settings from outside, no terminal, no network; the same folder and width for all."""
    for name in [name for name in os.environ if name.startswith("CLEW_")]:
        del os.environ[name]
    home = WORK / "home"
    home.mkdir()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a process for each command would compile all
    os.environ |= {
        "PYTHONPYCACHEPREFIX": str(WORK / "compiled"),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "COLUMNS": "120",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "TZ": "UTC",
        "HF_HUB_OFFLINE": "1",
        "CLEW_LIMITS__ISOLATION": "none",
    }
    time.tzset()
    os.chdir(home)


def ask_all(corpus: str, questions: list[str], names: dict[str, str]) -> dict[str, Any]:
    """Index a corpus; what each strategy finds, and what is answered without a model."""
    import clew
    from clew.types import NamedStrategy

    found: dict[str, Any] = {name: {} for name in (*STRATEGIES, "ask")}
    with clew.open(WORK / corpus, packs=PACKS if corpus == LIBRARY else ()) as store:
        store.index([WORK / "inputs" / corpus])
        names |= {d.id: f"<{d.source.rpartition('/inputs/')[2]}>" for d in store.documents.list()}
        for question in questions:
            for strategy in STRATEGIES:
                hits = store.search(question, strategy=NamedStrategy(strategy), limit=10).hits
                found[strategy][question] = [
                    [f"{hit.chunk.document_id}#{hit.chunk.ordinal}", hit.score] for hit in hits
                ]
            answer = store.tools.call("ask", {"query": question})
            found["ask"][question] = json.loads(answer.text)
    return found


def extraction() -> dict[str, Any]:
    """Everything in the library's store, with names in place of the ids of rows."""
    rows = [json.loads(line) for line in clew_command("export", "--format", "jsonl").splitlines()]
    entities = {row["id"]: row["name"] for row in rows if row["kind"] == "entity"}
    record: dict[str, Any] = {"documents": {}, "entities": {}, "relations": []}
    for row in rows:
        if row["kind"] == "document":
            wanted = ("title", "media_type", "language", "created_at", "date_source")
            kept = {name: row[name] for name in (*wanted, "metadata", "characters")}
            record["documents"][row["source"]] = {**kept, "passages": []}
        elif row["kind"] == "chunk":
            kept = {name: row[name] for name in ("start", "end", "page", "context", "text")}
            record["documents"][row["source"]]["passages"].append(kept)
        elif row["kind"] == "entity":
            kept = {name: row[name] for name in ("entity_type", "mentions", "salience_score")}
            record["entities"][row["name"]] = {**kept, "aliases": sorted(row["aliases"])}
        elif row["kind"] == "relation":
            ends = entities[row["from_entity_id"]], entities[row["to_entity_id"]]
            values = [row[name] for name in ("weight", "confidence", "valid_from", "valid_until")]
            record["relations"].append([ends[0], row["relation_type"], ends[1], *values])
    record["relations"].sort(key=repr)
    return record


def tools(names: dict[str, str]) -> dict[str, Any]:
    """What every tool returns, called in order on a copy of the library's store.

    The ids of jobs, which are random, are added to `names`.
    """
    import clew

    shutil.copytree(WORK / LIBRARY, WORK / "tools")
    record: dict[str, Any] = {}
    with clew.open(WORK / "tools") as store:
        known = {tool["name"] for tool in store.tools.definitions("mcp", profile="full")}
        record["without arguments here"] = sorted(known - {name for name, _ in TOOLS})

        def call(name: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401
            text = store.tools.call(name, arguments).text
            return json.loads(text) if text.startswith("{") else text

        def entity(name: str) -> int:
            found = call("graph_enhanced_search", {"query": name, "limit": 50})["results"]
            return int(next(one["entity_id"] for one in found if one["entity_name"] == name))

        passage = call("search", {"query": "Who made the hook of crane 4?"})["results"][0]["id"]
        values = {
            "$chunk": passage,
            "$document": passage.partition("#")[0],
            "$first": entity("Ada Ray"),
            "$second": entity("Stone & Sons"),
            "$task": call("tasks_query", {})["tasks"][0]["id"],
        }
        for number, (name, arguments) in enumerate(TOOLS):
            if name not in known:
                continue
            if name == "undo_change" and "audit" in known:
                values["$entry"] = call("audit", {"limit": 1})["entries"][0]["id"]
            told = call(name, fill(arguments, values))
            if name == "add_entity_relationship" and "relationship_id" in told:
                values["$relation"] = told["relationship_id"]
            if isinstance(told, dict) and "job_id" in told:
                values["$job"] = told["job_id"]
                names[told["job_id"]] = "<job>"
                told = {"fields": sorted(told), "ended": ended(call, told["job_id"])}
            record[f"{number:02} {name} {json.dumps(arguments)}"] = told
    return record


def ended(call: Callable[[str, dict[str, Any]], Any], job: str) -> Any:  # noqa: ANN401
    """What is said of a job once it has ended."""
    while (told := call("query_job_status", {"job_id": job}))["status"] in ("queued", "running"):
        time.sleep(0.1)
    return told


def fill(value: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """The value with what its $names stand for."""
    if isinstance(value, dict):
        return {key: fill(one, values) for key, one in value.items()}
    if isinstance(value, list):
        return [fill(one, values) for one in value]
    return values.get(value, value) if isinstance(value, str) else value


def commands() -> dict[str, Any]:
    """What commands print to both streams, and their exit status."""
    lines = [line for line in COMMANDS.splitlines() if line]
    return run_all([[*shlex.split(line), *way] for line in lines for way in ([], ["--json"])])


def helps() -> dict[str, Any]:
    """The help of every command, as far as the help of those above lists them."""
    found: dict[str, Any] = {}
    waiting: list[list[str]] = [[]]
    while waiting:
        told = run_all([[*words, "--help"] for words in waiting])
        found |= told
        waiting = [
            [*words, name]
            for words in waiting
            for name in re.findall(
                r"^  (\w[\w-]*)  +\S",
                told[shlex.join([*words, "--help"])]["out"].partition("Commands")[2],
                re.MULTILINE,
            )
        ]
    return found


def run_all(arguments: list[list[str]]) -> dict[str, Any]:
    """Run commands, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(map(shlex.join, arguments), pool.map(run, arguments), strict=True))


def run(arguments: list[str]) -> dict[str, Any]:
    """Run a command on the library's store."""
    done = subprocess.run(
        [sys.executable, "-m", "clew", *arguments, *store_option(arguments)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    shown: Any = out
    if "--json" in arguments:
        try:
            shown = (
                [json.loads(line) for line in out.splitlines()] if "\n{" in out else json.loads(out)
            )
        except json.JSONDecodeError:
            shown = out
    return {"status": done.returncode, "out": shown, "err": err}


def store_option(arguments: list[str]) -> list[str]:
    """Where the store is; help is printed for none."""
    return [] if "--help" in arguments else ["--store", str(WORK / LIBRARY)]


def clew_command(*arguments: str) -> str:
    """What a command prints that must succeed."""
    told = run(list(arguments))
    if told["status"]:
        raise SystemExit(f"clew {shlex.join(arguments)} failed: {told['err']}")
    return str(told["out"])


def openapi() -> Any:  # noqa: ANN401
    """The description that a server gives of its HTTP API."""
    options = ["serve", "--port", "0", "--insecure", "--store", str(WORK / LIBRARY)]
    server = subprocess.Popen(
        [sys.executable, "-m", "clew", *options], stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stderr is not None
        address = server.stderr.readline().split()[-1]
        base = address.partition("//")[2].partition("/")[0]
        with urllib.request.urlopen(f"http://{base}/api/v1/openapi.json", timeout=30) as answer:
            return json.load(answer)
    finally:
        server.terminate()
        server.communicate()


class Cleaner:
    """Takes out of a record what differs from run to run."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._document = re.compile("|".join(map(re.escape, names)) or "$^")
        self._names = names

    def __call__(self, value: Any) -> Any:  # noqa: ANN401
        """The value without times, durations, ids and places of this run."""
        if isinstance(value, dict):
            return {
                self._text(key): 0 if self._is_duration(key) else self(one)
                for key, one in value.items()
            }
        if isinstance(value, list | tuple):
            return [self(one) for one in value]
        if isinstance(value, float):
            return round(value, 4)
        return self._text(value) if isinstance(value, str) else value

    def _is_duration(self, key: str) -> bool:
        return key.endswith(("_ms", "seconds"))

    def _text(self, text: str) -> str:
        text = text.replace(str(WORK), "<work>")
        text = self._document.sub(lambda match: self._names[match[0]], text)
        today = time.strftime("%Y-%m-%d")
        text = re.sub(
            rf"{today}(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+\d\d:\d\d| UTC)?)?", "<now>", text
        )
        text = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b", "<id>", text)
        return re.sub(r"\b\d+(?:\.\d+)? (?=m?s\b)", "<time> ", text)


def keep(path: Path, record: Any) -> None:  # noqa: ANN401
    """Write a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")


def read_records(folder: Path) -> dict[str, Any]:
    """All records of a folder, by their names."""
    paths = [p for p in sorted(folder.rglob("*.json")) if folder / "inputs" not in p.parents]
    return {str(p.relative_to(folder)): json.loads(p.read_text("utf-8")) for p in paths}


def differences(before: Any, now: Any, place: str = "") -> Iterator[str]:  # noqa: ANN401
    """Each place where two records differ; texts are compared by line."""
    if isinstance(before, str) and isinstance(now, str) and "\n" in before + now:
        before, now = before.split("\n"), now.split("\n")
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*before, *now)):
            at = f"{place} › {key}" if place else key
            if key in before and key in now:
                yield from differences(before[key], now[key], at)
            else:
                yield f"{at}: {'gone' if key in before else 'new'}"
    elif not isinstance(before, list) or not isinstance(now, list):
        if before != now:
            yield f"{place}: {shorten(before)} became {shorten(now)}"
    elif len(before) == len(now):
        for number, pair in enumerate(zip(before, now, strict=True)):
            yield from differences(*pair, f"{place} › {number}")
    else:
        yield from (f"{place}: gone: {shorten(one)}" for one in before if one not in now)
        yield from (f"{place}: new: {shorten(one)}" for one in now if one not in before)
        yield f"{place}: {len(before)} entries became {len(now)}"


def shorten(value: Any) -> str:  # noqa: ANN401
    """A value as it is shown in a difference."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


if __name__ == "__main__":
    raise SystemExit(main())
