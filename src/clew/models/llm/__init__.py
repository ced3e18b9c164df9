"""Language models: `client.py` asks, over a provider; what it is told is kept, counted, checked."""
