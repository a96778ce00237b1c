"""Pages about schedules, searches and studies: HTML files that need nothing from elsewhere."""
