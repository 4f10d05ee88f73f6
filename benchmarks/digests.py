"""Results of training, bit by bit: `python benchmarks/digests.py write FILE`, or `check`.

A digest of all that the last checkpoint of a run holds, for short runs that together use every
loss, backward policy and way of training, and most dynamics. They are equal before and after a
change that is not to change any number, on one machine with one version of every package.
"""

import hashlib
import io
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from pdai.cli import main

COMMON = "--steps 60 --evaluations 1 --law-samples 4096 --batch 32 --parameters 12000"
RUNS = {
    "tb-gru": f"train lines {COMMON} --dynamics gru --loss tb",
    "tb-huber-lstm": f"train lines {COMMON} --dynamics lstm --loss tb --penalty huber",
    "log_variance-srwm": f"train lines {COMMON} --dynamics srwm --loss log_variance --skip",
    "srwm-options": f"train lines {COMMON} --dynamics srwm --loss db --heads 2 --rotation haar "
    "--link softmax --write-key k --erase after --normalize --latent-scale 0.5 --slow-scale 2",
    "db-rnn": f"train lines {COMMON} --dynamics rnn --loss db --activation tanh",
    "subtb-gru-reset": f"train grid {COMMON} --side 5 --dynamics gru --loss subtb "
    "--subtb-lambda 0.8 --reset --penalty log-cosh",
    "fm-markov": f"train grid {COMMON} --side 5 --dynamics markov --loss fm",
    "tb-markov-grid": f"train grid {COMMON} --side 5 --dynamics markov --loss tb --temperature 2",
    "db-markov-tree": f"train syn {COMMON} --length 3 --dynamics markov --loss db",
    "linear": f"train lines {COMMON} --dynamics linear --loss tb --encoding affine",
    "linear-markov": f"train lines {COMMON} --dynamics linear-markov --loss log_variance",
    "temporal-gcn": "train graphs --steps 60 --evaluations 1 --batch 32",
    "gcn": "train graphs --steps 60 --evaluations 1 --batch 32 --dynamics gcn --loss log_variance",
    "learned p_b": f"train sets {COMMON} --items 6 --size 3 --dynamics gru --p-b learned",
    "lifted p_b": f"train sets {COMMON} --items 6 --size 3 --dynamics gru --p-b lifted --loss db",
    "replay": f"train sets {COMMON} --items 6 --size 3 --replay reward --replay-capacity 100",
    "two seeds": f"train grid {COMMON} --side 5 --seeds 2 --seed 3 --replay uniform --loss tb",
    "float64": f"train lines {COMMON} --precision float64 --schedule constant",
    "custom": f"train custom {COMMON} --problem reference.problems:BitSequences.minimal",
    "stochastic": f"train lines {COMMON} --parameters 8679 --dynamics gaussian --seeds 2",
    "reparameterised": f"train lines {COMMON} --parameters 8679 --dynamics gaussian --epsilon 0 "
    "--gradient reparameterised",
    "aggregate": f"distribute sets {COMMON} --items 5 --size 2 --clients 2 "
    "--client-dynamics gru markov",
    "stream": f"stream sets {COMMON} --items 5 --size 2 --chunks 2",
}


def digest(checkpoint: Path) -> str:
    """A checksum of a checkpoint's arrays, in whatever order they are stored."""
    _, _, payload = checkpoint.read_bytes().partition(b"\n")
    stream, checksums = io.BytesIO(payload), []
    while stream.tell() < len(payload):
        array = np.load(stream, allow_pickle=False)
        checksums.append(
            f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"
        )
    return hashlib.sha256("\n".join(sorted(checksums)).encode()).hexdigest()[:16]


def digests(names: list[str]) -> dict[str, str]:
    """The digest of every checkpoint of every run, by the run's name and folder."""
    checksums = {}
    for name in names or RUNS:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            try:
                main([*RUNS[name].split(), "--out", str(out)])
            except SystemExit as error:
                print(f"{name}: exit {error.code}", file=sys.stderr)
            for path in sorted(out.rglob("checkpoint.eqx")):
                place = path.parent.relative_to(out).as_posix()
                checksums[f"{name} {place}"] = digest(path)
    return checksums


if __name__ == "__main__":
    action, path, *names = sys.argv[1:]
    now = digests(names)
    if action == "write":
        Path(path).write_text(json.dumps(now, indent=2) + "\n")
    else:
        before = json.loads(Path(path).read_text())
        chosen = {
            key: value
            for key, value in before.items()
            if not names or key.rpartition(" ")[0] in names
        }
        changed = [key for key in chosen if now.get(key) != chosen[key]]
        for key in changed:
            print(f"changed: {key}: {before[key]} -> {now.get(key)}")
        print(f"{len(chosen) - len(changed)} of {len(chosen)} digests are equal")
        sys.exit(bool(changed))
