"""What users give and get: errors, numbers and functions of theirs, files, modules, text."""
