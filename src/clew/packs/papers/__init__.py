"""A library of research: papers that cite each other."""
