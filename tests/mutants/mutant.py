"""One change of one file, and all that there are."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.mutants.operators import WORDING, alternatives, called

ROOT = Path(__file__).parents[2]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Mutant(NamedTuple):
    """One change of one file.

    Attributes:
        file: relative to the root of the project.
        line: where the change is, from 1.
        begin: of the text that is replaced, in bytes from the beginning of the file.
        before: that text.
        after: what stands in its place.
        within: the functions around it, the innermost first, as "file:first line".
    """

    file: str
    line: int
    begin: int
    before: str
    after: str
    within: tuple[str, ...]

    def apply(self, root: Path) -> None:
        """Makes the change in the copy of the project at `root`."""
        path, source = root / self.file, (ROOT / self.file).read_bytes()
        end = self.begin + len(self.before.encode())
        path.write_bytes(source[: self.begin] + self.after.encode() + source[end:])

    def undo(self, root: Path) -> None:
        """Puts the file back as it was."""
        (root / self.file).write_bytes((ROOT / self.file).read_bytes())

    @property
    def text(self) -> str:
        """The line with the change in it, which finds it again when other lines move."""
        source = (ROOT / self.file).read_text().splitlines()
        return source[self.line - 1].strip()

    def __str__(self) -> str:
        change = " ".join(f"{self.before}  ->  {self.after}".split())
        return f"{self.file}:{self.line}: {self.text}\n    {change}"


def mutants_of(file: str) -> list[Mutant]:
    """All mutants of a file."""
    source = (ROOT / file).read_bytes()
    begins = [0]
    for text in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(text))
    found = []
    tree = ast.parse(source)
    conditions = {id(test) for node in ast.walk(tree) for test in _conditions(node)}
    for node, within in _expressions(tree, ()):
        begin = begins[node.lineno - 1] + node.col_offset
        end = begins[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = source[begin:end].decode()
        for other in alternatives(node, id(node) in conditions):
            after, around = f"({ast.unparse(other)})", tuple(f"{file}:{n}" for n in within)
            found.append(Mutant(file, node.lineno, begin, before, after, around))
    return found


def _conditions(node: ast.AST) -> Sequence[ast.expr]:
    match node:
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.comprehension(ifs=tests):
            return tests
    return ()


def _expressions(
    node: ast.AST, within: tuple[int, ...]
) -> Iterator[tuple[ast.expr, tuple[int, ...]]]:
    """The expressions that count, with the first lines of the functions around them."""
    if isinstance(node, Function):
        decorators = getattr(node, "decorator_list", ())
        within = (min(node.lineno, *(d.lineno for d in decorators), node.lineno), *within)
    if isinstance(node, ast.expr):
        yield node, within
    for child in _children(node):
        yield from _expressions(child, within)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What is below a node, without types, texts, what is raised, and the values of settings.

    A setting is an annotated name that has a constant, such as an option with its default: it is
    a choice, and a test of it would say the same number again.
    """
    match node:
        case ast.AnnAssign(value=ast.Constant()):
            return
        case ast.Raise() | ast.JoinedStr() | ast.Assert():
            return
        case ast.Call() if called(node) in WORDING:
            return
        case ast.AnnAssign(value=value):
            yield from (value,) if value else ()
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.ClassDef():
            yield from node.body
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body)
        case ast.arg():
            return
        case _:
            yield from ast.iter_child_nodes(node)
