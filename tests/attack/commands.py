"""Garbage on the command line: one line and the code 2, whatever is asked for."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.attack.kills import ENVIRONMENT
from tests.attack.outcome import Outcome

WORDS = [
    "train",
    "distribute",
    "stream",
    "reproduce",
    "audit",
    "sample",
    "plot",
    "inspect",
    "check",
    "verify",
    "six6",
    "grid",
    "lines",
    "sets",
    "bits",
    "syn",
    "custom",
    "trian",
    "gird",
    "--steps",
    "--batch",
    "--seeds",
    "--out",
    "--resume",
    "--seed",
    "--dynamics",
    "--loss",
    "--p-b",
    "--replay",
    "--problem",
    "--hidden-layers",
    "--latent-size",
    "--claim",
    "--count",
    "--max-states",
    "--parameters",
    "--help",
    "gru",
    "srwm",
    "markov",
    "tb",
    "db",
    "fm",
    "lifted",
    "uniform",
    ".",
    "..",
    "/",
    "~",
    "-",
    "--",
    "=",
    ",",
    ":",
    "a:b",
    ".:.",
    "..:x",
    "builtins:int",
    "os:system",
    "json:loads",
    "reference.problems:Grid",
    "nowhere:It",
    "runs/none",
    "-1",
    "0",
    "1",
    "3.5",
    "nan",
    "inf",
    "1e400",
    "1_000",
    "true",
    "None",
    "$HOME",
    "{}",
    "[]",
    "10000000000000",
    "99999999999999999999999",
]
# Those would train for minutes, or write outside of the scratch folder.
TOO_LONG = {"verify", "reproduce", "~", "/"}
SECONDS = 60.0


def attacks(rng: random.Random, scratch: Path) -> Iterator[Outcome]:
    """Commands without end."""
    while True:
        words = [rng.choice(WORDS) for _ in range(rng.randrange(1, 6))]
        if rng.random() < 0.3:
            words.insert(0, rng.choice(["train", "sample", "inspect", "check", "plot", "audit"]))
        if rng.random() < 0.1:
            words.append(rng.choice(["é", "x" * 5_000, "\udcff", "a\nb", ""]))
        if words[0] in TOO_LONG:
            continue
        yield attack(words, scratch)


def attack(words: list[str], scratch: Path) -> Outcome:
    """One command."""
    if words[0] in ("train", "distribute", "stream"):
        words = [*words, "--steps", "1", "--batch", "4"]
    story = f"pdai {words!r:.300}"
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pdai", *map(os.fsencode, words)],
            cwd=scratch,
            env=ENVIRONMENT,
            capture_output=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Outcome("hung", f"{story}: no end in {SECONDS:.0f} s")
    told = done.stderr.decode(errors="replace")
    if "Traceback" in told or done.returncode not in (0, 2):
        return Outcome("foreign error", f"{story}: code {done.returncode}\n{told[-1500:]}")
    return Outcome("refused" if done.returncode else "answered rightly")
