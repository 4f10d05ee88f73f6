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
                longest_path                                         residual-tv-bound
    lifts       LiftedDAG, lift, Dynamics                            def:pointeddag
                Additive, Forgetful, History, Table                  a phi of one's own, none, all
    policies    ForwardPolicy, BackwardPolicy, BackwardKernel        p_F, p_B, and p_B unnormalised
    marginals   marginal, marginal_by_trajectories, path_sums        eq:marginal
                mass                                                 total backward mass of x
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
                markov_projection                                    markov-projection
                h_transform                                          h-transform
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
import types
import typing

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
from reference.fields.field import FLOAT64 as FLOAT64
from reference.fields.field import RATIONAL as RATIONAL
from reference.fields.field import Field as Field
from reference.fields.field import gamma as gamma
from reference.inspection import Inspection as _Inspection
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
from reference.policies import EdgeWeights as _EdgeWeights
from reference.policies import ForwardPolicy as ForwardPolicy
from reference.problems import Problem as Problem
from reference.problems import enumerate_dag as enumerate_dag
from reference.problems import enumerate_rewards as enumerate_rewards
from reference.solve import flows as flows
from reference.solve import forward_from_backward as forward_from_backward
from reference.solve import forward_from_law as forward_from_law
from reference.solve import h_transform as h_transform
from reference.solve import markov_projection as markov_projection

# The package offers the names above; names private to this module begin with "_".
_LAZY = {"BALL": "reference.fields.balls", "Symbolic": "reference.fields.symbolic"}
__all__ = [
    *(n for n, v in globals().items() if n[0] != "_" and not isinstance(v, types.ModuleType)),
    *_LAZY,
]

if typing.TYPE_CHECKING:
    from reference.fields.balls import BALL as BALL
    from reference.fields.symbolic import Symbolic as Symbolic


def __getattr__(name: str) -> typing.Any:
    """Imports `BALL` and `Symbolic` when they are first used: FLINT and sympy load slowly."""
    if name not in _LAZY:
        raise AttributeError(f"module 'reference' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def _show(function: str) -> typing.Any:
    """A method that calls a function of `reference.show`, which loads matplotlib."""
    return lambda self: getattr(importlib.import_module("reference.show"), function)(self)


for _kind in (PointedDAG, LiftedDAG, _EdgeWeights, _Inspection):
    for _name in ("html", "svg"):
        setattr(_kind, f"_repr_{_name}_", _show(_name))
