"""Pages about schedules and studies, also as a browser shows them."""
