"""The stochastic lift: finite kernels, axioms and lemmas decided, Gaussian latents."""
