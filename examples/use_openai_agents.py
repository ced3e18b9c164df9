"""The tools of a store for OpenAI Agents, and what one gives to an agent that calls it.

python examples/use_openai_agents.py
"""

import asyncio
import json
from tempfile import TemporaryDirectory

from agents import Agent
from agents.tool_context import ToolContext

import clew
from clew.integrations.openai_agents import clew_tools

TEXTS = {
    "tower": "Ada Morn built the great clock of the Tower of Vell in 1820.",
    "morn": "Ada Morn came from Lisse. She was an apprentice of Piet Oss.",
}

with TemporaryDirectory() as folder, clew.open(folder, namespace="anna") as store:
    for source, text in TEXTS.items():
        store.add(text, source=source)

    agent = Agent(name="Librarian", tools=list(clew_tools(store, ["find_paths", "search"])))
    # With a key: Runner.run_sync(agent, "How are the tower and Piet Oss tied?")
    tool = clew_tools(store, ["find_paths"])[0]
    arguments = json.dumps({"source": "Tower of Vell", "target": "Piet Oss"})
    context = ToolContext(
        context=None, tool_name=tool.name, tool_call_id="1", tool_arguments=arguments
    )

    async def call() -> None:
        print(agent.name, "reads", await tool.on_invoke_tool(context, arguments))

    asyncio.run(call())
