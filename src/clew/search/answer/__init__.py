"""From ranked passages to an answer: hits, explanations, context, citations."""
