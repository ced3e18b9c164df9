"""The document tools."""
