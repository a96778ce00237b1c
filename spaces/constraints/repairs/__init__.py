"""The nearest legal schedule: edits of one decision each, and the search for the fewest."""
