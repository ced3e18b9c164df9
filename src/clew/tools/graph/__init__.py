"""The graph memory's tools."""
