"""The decision process of a space: which choices make a schedule, and in what order."""
