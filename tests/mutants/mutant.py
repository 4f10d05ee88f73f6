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
        """The line with the change in it."""
        return self._line.decode().strip()

    def is_in(self, text: str) -> bool:
        """Whether the change begins in this part of its line, which finds it when lines move."""
        part = text.encode()
        place = self.begin - sum(map(len, self._lines[: self.line - 1]))
        return part in self._line[max(0, place + 1 - len(part)) : place + len(part)]

    @property
    def _lines(self) -> list[bytes]:
        return (ROOT / self.file).read_bytes().splitlines(keepends=True)

    @property
    def _line(self) -> bytes:
        return self._lines[self.line - 1]

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

    A setting is a number with a name of its own: an option with its default, an argument with its
    default, or a NAME in capitals, of one number or several. It is a choice, and a test of it would
    say the same number again.
    """
    match node:
        case ast.AnnAssign(value=ast.Constant()) if not _is_flag(node):
            return
        case ast.Assign(targets=[target], value=value) if _is_setting(target, value):
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
            given = (*node.args.defaults, *filter(None, node.args.kw_defaults))
            yield from (value for value in given if not _is_number(value))
            yield from node.body
        case ast.arg():
            return
        case _:
            yield from ast.iter_child_nodes(node)


def _is_setting(target: ast.expr, value: ast.expr) -> bool:
    """Whether a value is made of numbers alone, and has a name in capitals."""
    names = [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]
    parts = [node for node in ast.walk(value) if isinstance(node, ast.expr)]
    made = ast.Constant | ast.Tuple | ast.UnaryOp | ast.BinOp
    return all(map(str.isupper, names)) and all(isinstance(node, made) for node in parts)


def _is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def _is_flag(node: ast.AnnAssign) -> bool:
    """Whether it says of a class, and not of what is chosen, that something is so."""
    is_truth = isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool)
    return is_truth and "ClassVar" in ast.unparse(node.annotation)
