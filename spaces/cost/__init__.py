"""Features of loop nests, and cost models over batches of them."""
