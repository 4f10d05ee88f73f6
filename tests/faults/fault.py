"""A mistake to make on purpose, and the test that must see it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Fault:
    """One edit of one file.

    Attributes:
        name: how it is called on the command line.
        mistake: what people do wrong, in a sentence.
        file: the file that has it.
        text: the right source text, which occurs in the file exactly once.
        replacement: the wrong one.
        test: the node id of the test that must fail.
        seen_as: how that test fails: by an "assertion", or, for a rule that the project itself
            checks (an environment against its problem), by a "refusal", an `InputError`.
    """

    name: str
    mistake: str
    file: str
    text: str
    replacement: str
    test: str
    seen_as: Literal["assertion", "refusal"] = "assertion"

    def apply(self, root: Path) -> None:
        """Makes the edit in the copy of the project at `root`.

        Raises:
            ValueError: if the text does not occur in the file exactly once.
        """
        path = root / self.file
        source = path.read_text()
        if (count := source.count(self.text)) != 1:
            raise ValueError(f"{self.name}: its text occurs {count} times in {self.file}, not once")
        path.write_text(source.replace(self.text, self.replacement))
