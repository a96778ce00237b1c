"""Features of loop nests: what cost models compute from."""
