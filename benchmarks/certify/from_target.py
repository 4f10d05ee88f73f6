"""Trains a sampler on a full replay buffer of exact samples of the target.

    python benchmarks/certify/from_target.py FOLDER TASK [start RUN] [OPTION VALUE]...

Half of each batch is drawn backwards from them, so that no mode has to be found first; ends of the
sampler's own trajectories replace the oldest. The options are those of `pdai train`, by name, and
`start`, an earlier run whose sampler training begins with. The task must be too large to enumerate,
and have an exact answer; with `replay none` there are no samples, and it may be any. What the run
is, a certificate says.
"""

import ast
import sys
from pathlib import Path
from typing import Any

import jax

from fast.environments.interface import encode_all
from fast.runs.checkpoints import save_checkpoint
from fast.runs.folder import create_run, load_config
from fast.runs.frozen import arithmetic, load_trained, tables_digest
from fast.runs.job import resume
from fast.runs.setup import set_up
from fast.sampling.replay import Buffer
from fast.training.compose import configure

SAMPLES = 200_000


def begin(folder: Path, task: str, start: str | None, options: dict[str, Any]) -> None:
    """Writes a run folder at step 0, with a full buffer if the run has one."""
    if options.setdefault("replay", "uniform") != "none":
        options = {"replay_capacity": SAMPLES, **options}
    config = configure(task, out=folder, **options)
    with arithmetic(config.run.precision):
        setup = set_up(config)
        create_run(config, setup.policies(setup.initial)[0], tables_digest(setup.environment))
        state = setup.initial
        if options["replay"] != "none":
            assert setup.closed_form is not None
            states = encode_all(setup.environment, setup.closed_form.sample(SAMPLES, 1))
            logs = jax.jit(jax.vmap(setup.environment.log_reward))(states)
            added = setup.initial.step + SAMPLES
            states, logs = jax.tree.map(lambda leaf: leaf[None], (states, logs))
            state = state._replace(buffer=Buffer(states, logs, added))
        if start is not None:
            state = state._replace(sampler=load_trained(load_config(Path(start)))[1].sampler)
        save_checkpoint(folder, state, 0.0)


def value(text: str) -> Any:
    """A number, or a word."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


if __name__ == "__main__":
    out, name, *rest = sys.argv[1:]
    options = {k: value(v) for k, v in zip(rest[::2], rest[1::2], strict=True)}
    begin(Path(out), name, options.pop("start", None), options)
    resume(Path(out))
