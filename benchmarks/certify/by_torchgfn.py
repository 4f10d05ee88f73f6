"""torchgfn's samplers, trained and certified: run by the Python of its environment."""

from typing import Any

import torch
from cases import Case, report
from worker_torchgfn import Torchgfn

import pdai
from pdai.adapters.torchgfn import sampler
from reference.certificates.statement import Certificate


def certified(worker: Torchgfn, case: Case) -> Certificate:
    """The code of a user of torchgfn; the samplers trained with the uniform `p_B`."""
    made = sampler(worker.env, worker.gflownet, problem=case.problem, label=case.label)
    return pdai.certify(made, case.problem, regime="Z", log_z=case.log_z)


def logits(worker: Torchgfn, cells: Any) -> Any:
    """Rows of `p_F` on a hypergrid."""
    with torch.no_grad():
        return worker.gflownet.pf(worker.env.states_from_tensor(torch.as_tensor(cells))).double()


if __name__ == "__main__":
    report(Torchgfn(), certified, logits)
