"""The price of a nest on a GPU."""
