"""Run folders: trained, resumed and sampled."""
