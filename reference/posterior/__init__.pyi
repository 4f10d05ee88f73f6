from .networks import Network as Network
from .regression_priors import HyperGPrior as HyperGPrior
from .regression_priors import ZellnerPrior as ZellnerPrior
from .structure import StructureLearning as StructureLearning
from .variables import Selection as Selection
from .variables import VariableSelection as VariableSelection
