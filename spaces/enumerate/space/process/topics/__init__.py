"""What each kind of decision is about: one file a topic."""
