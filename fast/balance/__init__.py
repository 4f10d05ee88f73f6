"""Balance conditions along trajectories: their terms, residuals, losses and gradients."""
