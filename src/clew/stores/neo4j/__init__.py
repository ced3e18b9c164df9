"""Stores on a Neo4j server, each one a namespace of its database."""
