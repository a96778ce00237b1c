"""The algorithm: Funcs, domains, images and parameters, frozen into a Pipeline."""
