"""Everything that an assistant may call: one table of tools, served over MCP and by hand alike."""
