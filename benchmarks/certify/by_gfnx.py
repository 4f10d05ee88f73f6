"""gfnx's samplers, trained and certified: run by the Python of its environment."""

from typing import Any

import jax
import jax.numpy as jnp
from cases import Case, report
from worker_gfnx import Gfnx

import pdai
from pdai.adapters.gfnx import sampler
from reference.certificates.statement import Certificate


def certified(worker: Gfnx, case: Case) -> Certificate:
    """The code of a user of gfnx; the samplers trained with the uniform `p_B`."""
    parameters = worker.state[1]["network"]
    logits = jax.vmap(lambda observation: worker.logits(parameters, observation))
    made = sampler(worker.env, worker.env_params, logits, problem=case.problem, label=case.label)
    return pdai.certify(made, case.problem, regime="Z", log_z=case.log_z)


def logits(worker: Gfnx, cells: Any) -> Any:
    """Rows of `p_F` on a hypergrid."""
    states = worker.env.get_init_state(len(cells)).replace(state=jnp.asarray(cells))
    parameters = worker.state[1]["network"]
    seen = worker.env.get_obs(states, worker.env_params)
    return jax.vmap(lambda observation: worker.logits(parameters, observation))(seen)


if __name__ == "__main__":
    report(Gfnx(), certified, logits)
