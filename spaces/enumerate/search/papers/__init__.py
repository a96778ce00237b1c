"""The search strategies of papers, each on its own."""
