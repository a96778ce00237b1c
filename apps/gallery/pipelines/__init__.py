"""A pipeline of the gallery in each file."""
