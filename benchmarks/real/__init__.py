"""Real documents and questions: what is found, and what is read into the graph."""
