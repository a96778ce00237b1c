"""Planted bugs: small changes of the library, each of which some test must notice."""
