"""Communities and topics."""
