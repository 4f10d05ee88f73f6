"""Exact, plain-Python ground truth for samplers on pointed DAGs and their lifts.

>>> from reference import FLOAT64, RATIONAL, BackwardPolicy, History, lift, marginal
>>> from reference import forward_from_backward, pointed_dag
>>> diamond = pointed_dag({"o": ["a", "b"], "a": ["c"], "b": ["c"], "c": ["x", "y"],
...                        "x": [], "y": []})
>>> lifted = lift(diamond, History())
>>> len(diamond.labels), len(lifted.dag.labels)
(6, 7)
>>> p_b = BackwardPolicy.uniform(lifted.dag, RATIONAL)
>>> p_f, z = forward_from_backward(p_b, {"x": 1, "y": 2})
>>> marginal(p_f)
(Fraction(1, 3), Fraction(2, 3))

In the order of the paper::

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
    combining   LiftedSampler, check_clients, product_rewards
                aggregated_residuals                                 prop:apx:dist
                streaming_residuals                                  prop:apx:sm

Besides: the network's matrix (eq:ASRWM) in `reference.srwm`, the divergence of two states' laws
(eq:max_kl) and the price of forgetting (fig:setsa) in `reference.expressivity.memory`. With the
claims that need them are linear policies (eq:linear_rec, prop:lines) in `verify.lib.linear`, graph
networks (eq:graphss, eq:pdgraphss, prop:temporal_gnns) in `verify.lib.gnn`, and the stochastic lift
(def:cldag) in `verify.lib.stochastic`.
"""

import lazy_loader

# The names stand in the stub beside this file; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
