"""A graph that classifies, retrieves, judges and retrieves again; plain functions decide."""

from tempfile import TemporaryDirectory
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

import clew
from clew.integrations.langgraph import ClewStore

TEXTS = """The Tower of Vell was finished in 1820. Ada Morn built its great clock.
Ada Morn came from Lisse. She was an apprentice of Piet Oss.
Piet Oss kept a workshop by the canal for thirty years.
The clock of the town hall of Brun was built by its apprentices.
Where the tower of Orrin stood, a builder found a clock."""
State = TypedDict("State", {"question": str, "strategy": Any, "sure": float}, total=False)

with TemporaryDirectory() as folder, clew.open(folder) as store:
    memory = ClewStore(store, fields=["text"])
    for number, text in enumerate(TEXTS.splitlines()):
        memory.put(("notes",), str(number), {"text": text})

    def classify(state: State) -> dict[str, Any]:
        return {"strategy": "keyword" if '"' in state["question"] else "vector"}

    def retrieve(state: State) -> dict[str, Any]:
        result = store.search(state["question"], strategy=state["strategy"], limit=3)
        print(state["strategy"], *(hit.chunk.text for hit in result), sep="\n  ")
        return {"sure": result.confidence or 0.0}

    def judge(state: State) -> dict[str, Any]:
        enough = state["sure"] > 0.5 or state["strategy"] == "graph"
        return {"strategy": "" if enough else "graph"}

    builder = StateGraph(State).add_sequence([classify, retrieve, judge])
    builder.add_edge(START, "classify")
    builder.add_conditional_edges("judge", lambda state: "retrieve" if state["strategy"] else END)
    graph = builder.compile(store=memory)
    graph.invoke(State(question="What did the teacher of the maker of the clock of Vell keep?"))
