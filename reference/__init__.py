"""Exact, plain-Python ground truth for samplers on pointed DAGs and their lifts.

>>> from reference import FLOAT64, RATIONAL, BackwardPolicy, History, lift, marginal
>>> from reference import forward_from_backward, pointed_dag
>>> diamond = pointed_dag({"o": ["a", "b"], "a": ["c"], "b": ["c"], "c": ["x", "y"],
...                        "x": [], "y": []})
>>> lifted = lift(diamond, History())
>>> len(diamond.labels), len(lifted.dag.labels)
(6, 7)
>>> rewards = tuple(map(RATIONAL.convert, (1, 2)))
>>> p_b = BackwardPolicy.uniform(lifted.dag, RATIONAL)
>>> p_f, z = forward_from_backward(p_b, rewards)
>>> marginal(p_f)
(Fraction(1, 3), Fraction(2, 3))
"""

from typing import TYPE_CHECKING, Any

from reference.balance import (
    cb_residuals,
    db_residuals,
    fm_residuals,
    log_tb_residuals,
    subtb_residuals,
    tb_residuals,
)
from reference.combination import (
    Sampler,
    aggregated_residuals,
    check_clients,
    product_rewards,
    streaming_residuals,
)
from reference.dag import PointedDAG, Trajectory, pointed_dag
from reference.errors import InputError, TooLargeError
from reference.fields.field import FLOAT64, RATIONAL, Field, gamma
from reference.lifted import Additive, Dynamics, Forgetful, History, LiftedDAG, Table, lift
from reference.marginals import (
    longest_path,
    marginal,
    marginal_by_trajectories,
    mass,
    path_sums,
)
from reference.metrics import (
    Estimate,
    fcs,
    fcs_estimate,
    kl_divergence,
    normalize,
    total_variation,
    uniform_batches,
)
from reference.objectives import Objective, cb_objective, optimal_log_z, tb_objective
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy
from reference.problems import Problem, enumerate_dag, enumerate_rewards
from reference.solve import (
    flows,
    forward_from_backward,
    forward_from_law,
    h_transform,
    markov_projection,
)

if TYPE_CHECKING:
    from reference.fields.balls import BALL as BALL
    from reference.fields.symbolic import Symbolic as Symbolic

__all__ = [
    "BALL",
    "FLOAT64",
    "RATIONAL",
    "Additive",
    "BackwardKernel",
    "BackwardPolicy",
    "Dynamics",
    "Estimate",
    "Field",
    "Forgetful",
    "ForwardPolicy",
    "History",
    "InputError",
    "LiftedDAG",
    "Objective",
    "PointedDAG",
    "Problem",
    "Sampler",
    "Symbolic",
    "Table",
    "TooLargeError",
    "Trajectory",
    "aggregated_residuals",
    "cb_objective",
    "cb_residuals",
    "check_clients",
    "db_residuals",
    "enumerate_dag",
    "enumerate_rewards",
    "fcs",
    "fcs_estimate",
    "flows",
    "fm_residuals",
    "forward_from_backward",
    "forward_from_law",
    "gamma",
    "h_transform",
    "kl_divergence",
    "lift",
    "log_tb_residuals",
    "longest_path",
    "marginal",
    "marginal_by_trajectories",
    "markov_projection",
    "mass",
    "normalize",
    "optimal_log_z",
    "path_sums",
    "pointed_dag",
    "product_rewards",
    "streaming_residuals",
    "subtb_residuals",
    "tb_objective",
    "tb_residuals",
    "total_variation",
    "uniform_batches",
]


def __getattr__(name: str) -> Any:
    """`BALL` and `Symbolic`, imported when first asked for: flint and sympy load slowly."""
    if name == "BALL":
        from reference.fields.balls import BALL

        return BALL
    if name == "Symbolic":
        from reference.fields.symbolic import Symbolic

        return Symbolic
    raise AttributeError(f"module 'reference' has no attribute {name!r}")
