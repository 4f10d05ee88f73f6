"""Run folders: trained, resumed, audited and sampled."""
