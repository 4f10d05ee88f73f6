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

In the order of the paper:

    problems    Problem, enumerate_dag, enumerate_rewards
    numbers     Field, RATIONAL, FLOAT64, BALL, Symbolic, gamma
    errors      InputError, TooLargeError
    DAGs        PointedDAG, Trajectory, pointed_dag                  def:normalpointeddag
                longest_path                                         bounds on trajectories (N5)
    lifts       LiftedDAG, lift, Dynamics                            def:pointeddag
                Additive, Forgetful, History, Table                  a phi of one's own, none, all
    policies    ForwardPolicy, BackwardPolicy, BackwardKernel        p_F, p_B, and p_B unnormalised
    marginals   marginal, marginal_by_trajectories, path_sums        eq:marginal
                mass                                                 what balance needs of p_B
    flows       flows                                                def:flows
    balance     fm_residuals                                         def:flows
                subtb_residuals                                      eq:conditionsa
                db_residuals                                         eq:conditionsa, j = i + 1
                tb_residuals, log_tb_residuals                       col:tb
                cb_residuals                                         col:cb
    losses      Objective, tb_objective, cb_objective                col:objectives
                optimal_log_z                                        col:objectives
    solutions   forward_from_backward                                col:tb
                forward_from_law                                     p_F of a law of trajectories
                markov_projection                                    N1
                h_transform                                          N3
    metrics     normalize, total_variation, kl_divergence
                fcs, fcs_estimate, Estimate, uniform_batches         eq:fcsa
    combining   Sampler, check_clients, product_rewards
                aggregated_residuals                                 prop:apx:dist
                streaming_residuals                                  prop:apx:sm

Beside these: the network's matrix (eq:ASRWM) in `reference.srwm`, the divergence of two states'
laws (eq:max_kl) and what memory is worth (fig:setsa) in `reference.expressivity.memory`, linear
policies (prop:lines) in `reference.expressivity.linear`, graph networks (prop:temporal_gnns) in
`reference.expressivity.gnn`, the stochastic lift (def:cldag) in `reference.stochastic`.
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

__all__ = [  # noqa: RUF022, in the order of the table above
    # A problem, its numbers, its errors.
    "Problem",
    "enumerate_dag",
    "enumerate_rewards",
    "BALL",
    "FLOAT64",
    "RATIONAL",
    "Field",
    "Symbolic",
    "gamma",
    "InputError",
    "TooLargeError",
    # Pointed DAGs: def:normalpointeddag.
    "PointedDAG",
    "Trajectory",
    "pointed_dag",
    "longest_path",
    # Lifts: def:pointeddag.
    "Additive",
    "Dynamics",
    "Forgetful",
    "History",
    "LiftedDAG",
    "Table",
    "lift",
    # Policies and marginals: eq:marginal.
    "BackwardKernel",
    "BackwardPolicy",
    "ForwardPolicy",
    "marginal",
    "marginal_by_trajectories",
    "mass",
    "path_sums",
    # Balance: def:flows, eq:conditionsa, col:tb, col:cb.
    "flows",
    "fm_residuals",
    "db_residuals",
    "subtb_residuals",
    "tb_residuals",
    "log_tb_residuals",
    "cb_residuals",
    # Expected losses: col:objectives.
    "Objective",
    "cb_objective",
    "optimal_log_z",
    "tb_objective",
    # What balance forces: col:tb, N1, N3.
    "forward_from_backward",
    "forward_from_law",
    "h_transform",
    "markov_projection",
    # Metrics: eq:fcsa.
    "Estimate",
    "fcs",
    "fcs_estimate",
    "kl_divergence",
    "normalize",
    "total_variation",
    "uniform_batches",
    # Combination: prop:apx:dist, prop:apx:sm.
    "Sampler",
    "aggregated_residuals",
    "check_clients",
    "product_rewards",
    "streaming_residuals",
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
