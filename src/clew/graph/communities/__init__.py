"""Communities and topics of the entity graph, with extractive reports."""
