"""What is computed: Funcs, domains, images and parameters, frozen into a Pipeline."""
