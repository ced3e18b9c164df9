"""What a question asks for: terms, seed entities, period, filters, strategy."""
