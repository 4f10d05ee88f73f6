"""Errors that a user's input can cause."""


class InputError(ValueError):
    """Input that breaks a rule; the message names the object, the value, the rule and the fix."""


class TooLargeError(InputError):
    """An instance that exact enumeration cannot hold; the message says how large it got."""
