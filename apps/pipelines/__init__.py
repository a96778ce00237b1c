"""The pipelines of the literature that come with the library, and the steps that they share."""
