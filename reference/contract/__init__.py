"""The door for users: errors; their numbers, functions, files and modules; texts for them."""
