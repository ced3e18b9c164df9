"""Files of elements within elements: YAML, JSON, and what is said in their fields."""
