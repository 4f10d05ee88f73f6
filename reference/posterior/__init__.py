"""Posteriors over graphs and over sets of regressors: scores, exact sums over DAGs, problems."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
