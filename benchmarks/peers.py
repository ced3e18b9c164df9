"""Other systems that make a graph of texts, with a model that answers at once: what they do beside.

    PEER/bin/python benchmarks/peers.py SYSTEM BEIR_FOLDER... [--passages 2000] [--neo4j ADDRESS]

It needs nothing of Clew but for `clew` itself, so that each system runs in an environment of its
own (`uv pip install lightrag-hku`, `llama-index-core`, `txtai[graph]`, `hipporag` with `pyarrow`,
`neo4j-graphrag`). The last needs an empty Neo4j with APOC (`scripts/neo4j_server.py start --apoc`),
whose processor time is not counted. In place of a language model stands a rule: the names in a
text, each in a relation with the next. The embedding of a text is the sum of vectors drawn for its
words. So the times are what a system does around its models, not what it costs with them; what it
finds is not compared.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import re
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

DIMENSION = 384
WORDS = np.random.default_rng(7).standard_normal((8192, DIMENSION)).astype(np.float32)
ASKED = 20
"""Questions."""
_NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+){0,2}")

Ask = Callable[[str], object]


def main() -> None:
    """Index, ask, and print the times of one system."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("system", choices=sorted(SYSTEMS))
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--passages", type=int, default=2000)
    parser.add_argument("--neo4j", default="bolt://127.0.0.1:7687", help="an empty server")
    given = parser.parse_args()
    os.environ["NEO4J"] = given.neo4j
    rows = chain.from_iterable(_rows(folder, "corpus") for folder in given.folders)
    texts = [f"{row.get('title', '')}\n{row['text']}" for row in islice(rows, given.passages)]
    questions = [row["text"] for row in islice(_rows(given.folders[0], "queries"), ASKED)]
    package, run = SYSTEMS[given.system]
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        run(f"{package} {version(package)}", Path(folder), texts, questions)


def report(name: str, index: Callable[[], Ask], questions: Sequence[str], passages: int) -> None:
    """Print processor time and time of indexing, and of questions the medians."""
    indexed = _timed(index)
    ask: Ask = indexed[2]
    ask(questions[0])
    spent = [_timed(partial(ask, question)) for question in questions]
    print(
        f"{name}: {passages} passages indexed in {indexed[0]:.1f} s of the processor,"
        f" {indexed[1]:.1f} s; a question p50 {_p50(spent, 0):.1f} ms of the processor,"
        f" {_p50(spent, 1):.1f} ms; the first answer has {len(str(ask(questions[0])))} characters"
    )


class Embedder:
    """What Clew embeds with."""

    name, dimension, max_tokens = "drawn", DIMENSION, 256

    def embed_documents(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - an array
        """(n, DIMENSION) float32."""
        return vectors_of(texts)

    def embed_query(self, text: str) -> Any:  # noqa: ANN401 - an array
        """(DIMENSION,) float32."""
        return vectors_of([text])[0]

    def count_tokens(self, text: str) -> int:
        """About as many as WordPiece makes."""
        return len(text) // 4


def run_clew(name: str, folder: Path, texts: Sequence[str], questions: Sequence[str]) -> None:
    """Clew, which asks no language model; reading, recognising and ranking are its own."""
    import clew

    # In this process, so that its processor time is all that is spent.
    os.environ["CLEW_LIMITS__ISOLATION"] = "none"
    with clew.open(folder, embedder=Embedder()) as engine:

        def index() -> Ask:
            documents = [clew.Document(source=str(i), text=text) for i, text in enumerate(texts)]
            engine.add_documents(documents)
            return partial(engine.search, strategy="graph")

        report(name, index, questions, len(texts))


def run_lightrag(name: str, folder: Path, texts: Sequence[str], questions: Sequence[str]) -> None:
    """LightRAG with its files, asked for the context alone; it is told the question's names."""
    from lightrag import LightRAG, QueryParam
    from lightrag.utils import EmbeddingFunc, Tokenizer

    class Characters:
        def encode(self, content: str) -> list[int]:
            return [ord(character) for character in content[::4]]

        def decode(self, tokens: list[int]) -> str:
            return "".join(map(chr, tokens))

    async def model(prompt: str, **_: object) -> str:
        found = names_of(prompt.rpartition("---Input Text---")[2])
        lines = [f"entity<|#|>{one}<|#|>Other<|#|>{one}" for one in found]
        lines += [f"relation<|#|>{a}<|#|>{b}<|#|>beside<|#|>{a}, {b}" for a, b in pairwise(found)]
        return "\n".join([*lines, "<|COMPLETE|>"])

    async def embed(texts: Sequence[str], **_: object) -> Any:  # noqa: ANN401 - an array
        return vectors_of(texts)

    rag = LightRAG(
        working_dir=str(folder),
        llm_model_func=model,
        embedding_func=EmbeddingFunc(embedding_dim=DIMENSION, max_token_size=8192, func=embed),
        tokenizer=Tokenizer("characters", Characters()),
        entity_extract_max_gleaning=0,
        vector_db_storage_cls_kwargs={"cosine_better_than_threshold": -1.0},
    )
    logging.getLogger("lightrag").setLevel(logging.ERROR)
    loop = asyncio.new_event_loop()

    async def insert() -> None:
        await rag.initialize_storages()
        await rag.ainsert(list(texts))

    def ask(question: str) -> object:
        given = {"only_need_context": True, "enable_rerank": False, "top_k": 40}
        keywords = names_of(question) or [question]
        param = QueryParam(mode="mix", ll_keywords=keywords, hl_keywords=keywords, **given)
        return loop.run_until_complete(rag.aquery(question, param=param))

    def index() -> Ask:
        loop.run_until_complete(insert())
        return ask

    report(name, index, questions, len(texts))


def run_llamaindex(name: str, folder: Path, texts: Sequence[str], questions: Sequence[str]) -> None:
    """LlamaIndex's property graph in memory, with its extractor of paths and both retrievers."""
    from llama_index.core import Document, PropertyGraphIndex, Settings
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.indices.property_graph import SimpleLLMPathExtractor
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

    class Model(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(context_window=8192)

        def complete(
            self,
            prompt: str,
            formatted: bool = False,
            **_: Any,  # noqa: ANN401 - its own
        ) -> CompletionResponse:
            found = names_of(prompt.rpartition("Text:")[2])
            triples = "\n".join(f"({a}, beside, {b})" for a, b in pairwise(found))
            return CompletionResponse(text=triples if triples else "^".join(found))

        def stream_complete(
            self,
            prompt: str,
            formatted: bool = False,
            **_: Any,  # noqa: ANN401 - its own
        ) -> Any:  # noqa: ANN401 - its own type
            yield self.complete(prompt)

    class Drawn(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return list(vectors_of([text])[0].tolist())

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    Settings.llm, Settings.embed_model = Model(), Drawn()

    def index() -> Ask:
        made = PropertyGraphIndex.from_documents(
            [Document(text=text) for text in texts],
            kg_extractors=[SimpleLLMPathExtractor(llm=Settings.llm)],
        )
        return made.as_retriever(include_text=True).retrieve

    report(name, index, questions, len(texts))


def run_txtai(name: str, folder: Path, texts: Sequence[str], questions: Sequence[str]) -> None:
    """Txtai's graph of near passages, kept on disk and asked for a path through it."""
    from txtai import Embeddings

    made = Embeddings(
        method="external", transform=vectors_of, content=True, graph={"approximate": False}
    )

    def ask(question: str) -> object:
        found = made.search(question, 10, graph=True)
        return [found.attribute(node, "text") for node in found.scan()]

    def index() -> Ask:
        made.index(list(texts))
        made.save(str(folder / "index"))
        return ask

    report(name, index, questions, len(texts))


def run_hipporag(name: str, folder: Path, texts: Sequence[str], questions: Sequence[str]) -> None:
    """HippoRAG 2 with its files; its filter of facts keeps what it is shown."""
    from hipporag import HippoRAG as package
    from hipporag.utils.config_utils import BaseConfig

    class Drawn:
        def __init__(self, **_: object) -> None:
            pass

        def batch_encode(self, texts: Sequence[str] | str, **_: object) -> Any:  # noqa: ANN401
            return vectors_of([texts] if isinstance(texts, str) else texts)

    class Model:
        def infer(self, messages: Sequence[dict[str, str]], **_: object) -> Any:  # noqa: ANN401
            said = messages[-1]["content"]
            if "fact_before_filter ## ]]" in said:
                facts = said.rpartition("fact_before_filter ## ]]")[2].partition("\n\nRespond")[0]
                reply = f"[[ ## fact_after_filter ## ]]\n{facts.strip()}"
            else:
                found = names_of(said.replace("Paragraph:", ""))
                triples = [[a, "beside", b] for a, b in pairwise(found)]
                key = "triples" if "named_entities" in said else "named_entities"
                reply = json.dumps({key: triples if key == "triples" else found})
            usage = {"prompt_tokens": 0, "completion_tokens": 0, "finish_reason": "stop"}
            return reply, usage, False

    module = sys.modules["hipporag.HippoRAG"]
    vars(module)["_get_embedding_model_class"] = lambda **_: Drawn
    vars(module)["_get_llm_class"] = lambda _: Model()
    made = package(BaseConfig(save_dir=str(folder), llm_name="rule", embedding_model_name="drawn"))

    def index() -> Ask:
        made.index(list(texts))
        return lambda question: made.retrieve([question], num_to_retrieve=10)

    report(name, index, questions, len(texts))


def run_neo4j(name: str, folder: Path, texts: Sequence[str], questions: Sequence[str]) -> None:
    """neo4j-graphrag's pipeline of a text each, entities merged by name at the end."""
    import neo4j
    from neo4j_graphrag.components.resolver import SinglePropertyExactMatchResolver
    from neo4j_graphrag.embeddings.base import Embedder as Base
    from neo4j_graphrag.experimental.pipeline.kg_builder import SimpleKGPipeline
    from neo4j_graphrag.indexes import create_vector_index
    from neo4j_graphrag.llm import LLMInterface, LLMResponse
    from neo4j_graphrag.retrievers import VectorCypherRetriever

    class Drawn(Base):  # type: ignore[misc]
        def embed_query(self, text: str) -> list[float]:
            return list(vectors_of([text])[0].tolist())

    class Model(LLMInterface):  # type: ignore[misc]
        def invoke(self, input: str, *_: object, **__: object) -> Any:  # noqa: ANN401
            found = names_of(input.rpartition("Input text:")[2])
            number = {one: str(i) for i, one in enumerate(found)}
            nodes = [
                {"id": number[one], "label": "Thing", "properties": {"name": one}} for one in found
            ]
            beside = [
                {
                    "type": "BESIDE",
                    "start_node_id": number[a],
                    "end_node_id": number[b],
                    "properties": {},
                }
                for a, b in pairwise(found)
            ]
            return LLMResponse(content=json.dumps({"nodes": nodes, "relationships": beside}))

        async def ainvoke(self, input: str, *_: object, **__: object) -> Any:  # noqa: ANN401
            return self.invoke(input)

    logging.getLogger("neo4j").setLevel(logging.ERROR)
    driver = neo4j.GraphDatabase.driver(os.environ["NEO4J"])
    pipeline = SimpleKGPipeline(
        llm=Model("rule"),
        driver=driver,
        embedder=Drawn(),
        from_file=False,
        schema="FREE",
        perform_entity_resolution=False,
    )
    loop = asyncio.new_event_loop()

    def index() -> Ask:
        create_vector_index(driver, "texts", "Chunk", "embedding", DIMENSION, "cosine")
        for text in texts:
            loop.run_until_complete(pipeline.run_async(text=text))
        loop.run_until_complete(SinglePropertyExactMatchResolver(driver).run())
        driver.execute_query("CALL db.awaitIndexes()")
        follow = """
            OPTIONAL MATCH (node)<-[:FROM_CHUNK]-(one)-[tie]-(other)-[:FROM_CHUNK]->(far)
            RETURN node.text AS text, score, collect(DISTINCT far.text)[..10] AS beside
        """
        retriever = VectorCypherRetriever(driver, "texts", follow, Drawn())
        return lambda question: retriever.search(query_text=question, top_k=10)

    report(name, index, questions, len(texts))


SYSTEMS = {
    "clew": ("clew", run_clew),
    "hipporag": ("hipporag", run_hipporag),
    "lightrag": ("lightrag-hku", run_lightrag),
    "llamaindex": ("llama-index-core", run_llamaindex),
    "neo4j": ("neo4j-graphrag", run_neo4j),
    "txtai": ("txtai", run_txtai),
}
"""The package and what runs it."""


def names_of(text: str) -> list[str]:
    """Names in the order of the text, each once, ten at most."""
    return list(dict.fromkeys(_NAME.findall(text)))[:10]


def vectors_of(texts: Sequence[str]) -> Any:  # noqa: ANN401 - an array
    """(n, DIMENSION) float32, unit length; texts of the same words are near each other."""
    numbers = [[zlib.crc32(word.encode()) % len(WORDS) for word in text.split()] for text in texts]
    found = np.array([WORDS[some or [0]].sum(axis=0) for some in numbers])
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _p50(spent: Sequence[tuple[float, float, Any]], which: int) -> float:
    return 1000 * statistics.median(one[which] for one in spent)


def _timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Processor time and time, in seconds, and what came of it."""
    started = time.process_time(), time.perf_counter()
    result = work()
    return time.process_time() - started[0], time.perf_counter() - started[1], result


if __name__ == "__main__":
    main()
