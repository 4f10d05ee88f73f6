"""Tables, pictures, progress and pages of runs."""
