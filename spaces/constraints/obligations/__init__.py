"""What must be shown about loop nests for every size: obligations, and their decision."""
