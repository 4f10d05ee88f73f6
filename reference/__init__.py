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

Besides: the network's matrix (eq:ASRWM) in `reference.srwm`, the divergence of two states' laws
(eq:max_kl) and the price of forgetting (fig:setsa) in `reference.expressivity.memory`. Linear
policies (prop:lines), graph networks (prop:temporal_gnns) and the stochastic lift (def:cldag) are
with the claims that need them: `verify.lib.linear`, `verify.lib.gnn`, `verify.lib.stochastic`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reference.balance import cb_residuals as cb_residuals
    from reference.balance import db_residuals as db_residuals
    from reference.balance import fm_residuals as fm_residuals
    from reference.balance import log_tb_residuals as log_tb_residuals
    from reference.balance import subtb_residuals as subtb_residuals
    from reference.balance import tb_residuals as tb_residuals
    from reference.combination import Sampler as Sampler
    from reference.combination import aggregated_residuals as aggregated_residuals
    from reference.combination import check_clients as check_clients
    from reference.combination import product_rewards as product_rewards
    from reference.combination import streaming_residuals as streaming_residuals
    from reference.dag import PointedDAG as PointedDAG
    from reference.dag import Trajectory as Trajectory
    from reference.dag import pointed_dag as pointed_dag
    from reference.errors import InputError as InputError
    from reference.errors import TooLargeError as TooLargeError
    from reference.fields.balls import BALL as BALL
    from reference.fields.field import FLOAT64 as FLOAT64
    from reference.fields.field import RATIONAL as RATIONAL
    from reference.fields.field import Field as Field
    from reference.fields.field import gamma as gamma
    from reference.fields.symbolic import Symbolic as Symbolic
    from reference.lifted import Additive as Additive
    from reference.lifted import Dynamics as Dynamics
    from reference.lifted import Forgetful as Forgetful
    from reference.lifted import History as History
    from reference.lifted import LiftedDAG as LiftedDAG
    from reference.lifted import Table as Table
    from reference.lifted import lift as lift
    from reference.marginals import longest_path as longest_path
    from reference.marginals import marginal as marginal
    from reference.marginals import marginal_by_trajectories as marginal_by_trajectories
    from reference.marginals import mass as mass
    from reference.marginals import path_sums as path_sums
    from reference.metrics import Estimate as Estimate
    from reference.metrics import fcs as fcs
    from reference.metrics import fcs_estimate as fcs_estimate
    from reference.metrics import kl_divergence as kl_divergence
    from reference.metrics import normalize as normalize
    from reference.metrics import total_variation as total_variation
    from reference.metrics import uniform_batches as uniform_batches
    from reference.objectives import Objective as Objective
    from reference.objectives import cb_objective as cb_objective
    from reference.objectives import optimal_log_z as optimal_log_z
    from reference.objectives import tb_objective as tb_objective
    from reference.policies import BackwardKernel as BackwardKernel
    from reference.policies import BackwardPolicy as BackwardPolicy
    from reference.policies import ForwardPolicy as ForwardPolicy
    from reference.problems import Problem as Problem
    from reference.problems import enumerate_dag as enumerate_dag
    from reference.problems import enumerate_rewards as enumerate_rewards
    from reference.solve import flows as flows
    from reference.solve import forward_from_backward as forward_from_backward
    from reference.solve import forward_from_law as forward_from_law
    from reference.solve import h_transform as h_transform
    from reference.solve import markov_projection as markov_projection

# Where each name is from, in the order of the table above.
_FROM = {
    "reference.problems": ("Problem", "enumerate_dag", "enumerate_rewards"),
    "reference.fields.balls": ("BALL",),
    "reference.fields.field": ("FLOAT64", "RATIONAL", "Field", "gamma"),
    "reference.fields.symbolic": ("Symbolic",),
    "reference.errors": ("InputError", "TooLargeError"),
    "reference.dag": ("PointedDAG", "Trajectory", "pointed_dag"),
    "reference.marginals": (
        "longest_path",
        "marginal",
        "marginal_by_trajectories",
        "mass",
        "path_sums",
    ),
    "reference.lifted": (
        "Additive",
        "Dynamics",
        "Forgetful",
        "History",
        "LiftedDAG",
        "Table",
        "lift",
    ),
    "reference.policies": ("BackwardKernel", "BackwardPolicy", "ForwardPolicy"),
    "reference.solve": (
        "flows",
        "forward_from_backward",
        "forward_from_law",
        "h_transform",
        "markov_projection",
    ),
    "reference.balance": (
        "fm_residuals",
        "db_residuals",
        "subtb_residuals",
        "tb_residuals",
        "log_tb_residuals",
        "cb_residuals",
    ),
    "reference.objectives": ("Objective", "cb_objective", "optimal_log_z", "tb_objective"),
    "reference.metrics": (
        "Estimate",
        "fcs",
        "fcs_estimate",
        "kl_divergence",
        "normalize",
        "total_variation",
        "uniform_batches",
    ),
    "reference.combination": (
        "Sampler",
        "aggregated_residuals",
        "check_clients",
        "product_rewards",
        "streaming_residuals",
    ),
}
__all__ = [name for names in _FROM.values() for name in names]


def __getattr__(name: str) -> Any:
    """What the front offers, imported when first asked for: a command line needs little of it."""
    for module, names in _FROM.items():
        if name in names:
            found = globals()[name] = getattr(importlib.import_module(module), name)
            return found
    raise AttributeError(f"module 'reference' has no attribute {name!r}")
