"""Serving over HTTP: limits of connections, callers and requests."""
