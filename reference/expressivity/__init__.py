"""What linear and 1-WL policies can express, with and without memory of the path."""
