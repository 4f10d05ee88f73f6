"""The problems of `reference.problems` as array code; each file here registers its own."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
