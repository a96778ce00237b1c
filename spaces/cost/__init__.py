"""Features of loop nests, and the cost models that compute prices from them, many at once."""
