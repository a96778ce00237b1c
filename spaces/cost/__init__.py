"""Cost models, which compute prices from features of loop nests, many at once."""
