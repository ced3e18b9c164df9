"""What the protocol's conformance suite calls; `python -m tests.mcp_fixtures` is `clew` with it.

Names, texts and shapes are those of `@modelcontextprotocol/conformance`.
"""
