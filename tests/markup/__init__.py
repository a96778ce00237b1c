"""The drawings and the markup of pages and cards."""
