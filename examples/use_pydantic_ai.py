"""An agent of Pydantic AI with the tools of a store. A function stands in for the language model.

python examples/use_pydantic_ai.py
"""

from tempfile import TemporaryDirectory

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import clew
from clew.integrations.pydantic_ai import clew_toolset

TEXTS = {
    "tower": "Ada Morn built the great clock of the Tower of Vell in 1820.",
    "morn": "Ada Morn came from Lisse. She was an apprentice of Piet Oss.",
}


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    last = messages[-1].parts[-1]
    if not isinstance(last, ToolReturnPart):
        question = {"source": "Tower of Vell", "target": "Piet Oss"}
        return ModelResponse([ToolCallPart("find_paths", question)])
    return ModelResponse([TextPart(f"They are tied: {last.model_response_str()}")])


with TemporaryDirectory() as folder, clew.open(folder, namespace="anna") as store:
    for source, text in TEXTS.items():
        store.add(text, source=source)

    # With a real model: Agent("openai:gpt-5", …)
    tools = clew_toolset(store, ["search", "find_paths"])
    print(Agent(FunctionModel(model), toolsets=[tools]).run_sync("How are they tied?").output)
