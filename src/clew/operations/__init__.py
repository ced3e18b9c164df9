"""What can be done with a store: one table of tools, served over MCP and by hand alike."""
