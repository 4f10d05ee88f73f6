"""Small changes of `fast`, drawn at random; do the tests notice? See `__main__`."""
