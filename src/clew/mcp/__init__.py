"""Serving assistants over the Model Context Protocol, on standard input and output and on HTTP."""
