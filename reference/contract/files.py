"""The one module that opens files: regular files are read, outputs appear whole or not at all.

An output replaces a link at its path and never follows it; a pipe, a device or a folder there is
refused.
"""

import errno
import hashlib
import io
import json
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from reference.contract.errors import InputError, shown

_KINDS: dict[str, Callable[[int], bool]] = {
    "a symbolic link": stat.S_ISLNK,
    "a folder": stat.S_ISDIR,
    "a pipe": stat.S_ISFIFO,
    "a socket": stat.S_ISSOCK,
    "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
}
_FULL = "free some space there; what is on disk is kept, and a run goes on with --resume"
_FORBIDDEN = "choose another place, or change who may read and write this one"
_ADVICE = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "files may be no larger: raise the limit (ulimit -f)",
    errno.EROFS: "copy it to where you can write, or choose another place with --out",
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOENT: "check the path, and the folder that it is in",
    errno.EMFILE: "more files are open than allowed: raise the limit (ulimit -n)",
    errno.ENOTDIR: "what holds it is no folder: name a place in one",
    errno.EEXIST: "move away what is there",
}


def refusal(error: OSError, path: Path | str | None, doing: str = "used") -> InputError:
    """An error of the system as one line: the file, the reason, the remedy.

    Args:
        error: the error.
        path: the file or folder; for None that in the error, if any.
        doing: the participle of the failed operation, such as "written".
    """
    name = error.filename if path is None else str(path)
    what = "a file" if name is None else repr(str(name))
    if len(what) > 300:
        what = f"{what[:150]}...{what[-150:]}"
    why = error.strerror or str(error) or type(error).__name__
    advice = _ADVICE.get(error.errno or 0, "look at what the system says of it, and try again")
    return InputError(f"{what} cannot be {doing} ({why}): {advice}")


def memory_of_machine() -> int:
    """Bytes of memory of the machine, or of the container if it is limited to fewer."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**34  # unknown on this system
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        limit = ""
    return min(physical, int(limit)) if limit.isdigit() else physical


def memory_in_use() -> int:
    """Bytes of memory of this process; 0 if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def kind_of(path: Path, *, follow: bool = False) -> str:
    """The kind of a path: "a file", "a symbolic link", ...; "" if nothing is there.

    Raises InputError if the system refuses to say.
    """
    try:
        mode = (path.stat() if follow else path.lstat()).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise refusal(error, path) from None
    except ValueError as error:
        # Raised for a name with a zero byte, for example.
        raise InputError(
            f"{shown(str(path))} cannot be used ({error}): choose another name"
        ) from None
    return next((name for name, holds in _KINDS.items() if holds(mode)), "a file")


def _check_kind(path: Path, rule: str, *, follow: bool) -> None:
    kind = kind_of(path, follow=follow)
    if kind not in ("", "a file"):
        raise InputError(f"{str(path)!r} is {kind}, which is not {rule}")


@contextmanager
def _naming(path: Path, doing: str) -> Iterator[None]:
    """Turns an error of the system about `path` in the body into an `InputError`."""
    try:
        yield
    except OSError as error:
        if error.filename not in (None, str(path), str(partial_of(path))):
            raise
        raise refusal(error, path, doing) from None


@contextmanager
def reading(path: Path, *, follow: bool = False) -> Iterator[BinaryIO]:
    """Opens a file for the body to read; it may be a link if `follow`, as the user gave its name.

    Raises InputError if it is a link, a pipe, a device or a folder, or cannot be read.
    """
    _check_kind(path, "read: put a file in its place", follow=follow)
    with _naming(path, "read"), path.open("rb") as file:
        yield file


def read_file(path: Path, most: int | None = None, *, follow: bool = False) -> bytes:
    """The content of a file; raises InputError as `reading` does, or if it is too long.

    Args:
        path: the file.
        most: the most bytes; by default an eighth of the memory.
        follow: whether it may be a link.
    """
    most = memory_of_machine() // 8 if most is None else most
    with reading(path, follow=follow) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise InputError(
                f"{str(path)!r} has {size:,} bytes, but at most {most:,} are read: it is damaged, "
                "or no file of this kind"
            )
        return file.read(most)


def check_output(path: Path) -> None:
    """Refuses a place where no file can be written, before any work is lost.

    Raises InputError if its folder does not exist, or a pipe, a device or a folder is in its place,
    or at the end of a link there.
    """
    _check_kind(path, "written to: name a file", follow=True)
    if not path.absolute().parent.is_dir():
        raise InputError(
            f"{str(path)!r} cannot be written, as its folder does not exist: name a file in a "
            "folder that exists"
        )


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Opens a new file for the body to write, which then replaces the old one, if any.

    A kill, or a failure of power, leaves either the old file or the new one. A link is replaced by
    renaming, and not followed: nothing outside the folder changes. Raises InputError as
    `check_output` does, or if it cannot be written; the old file is then unchanged.
    """
    check_output(path)
    partial = partial_of(path)
    with _naming(path, "written"):
        try:
            partial.unlink(missing_ok=True)
            with partial.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    sync_folder(path.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Writes a whole file, as `replacing` does, with its errors."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def appending(path: Path) -> Iterator[TextIO]:
    """Opens a file, perhaps a new one, for appending text; raises InputError if it is no file."""
    _check_kind(path, "written to: name a file", follow=False)
    with _naming(path, "written"), path.open("a", encoding="utf-8") as file:
        yield file


def append_to_file(path: Path, text: str, *, last: bool = False) -> None:
    """Appends text to a file, as `appending` does.

    Args:
        path: the file.
        text: the text.
        last: whether to wait for the disk.
    """
    with appending(path) as file:
        file.write(text)
        file.flush()
        if last:
            os.fsync(file.fileno())


def partial_of(path: Path) -> Path:
    """The temporary file of this process for a path, renamed when it is complete."""
    return path.with_name(f"{path.name}.{os.getpid()}.partial")


class InFolder:
    """An object that is read from a folder, also after the working directory has changed."""

    def __init__(self, folder: Path):
        self._given_name, self._absolute = folder, folder.absolute()

    @property
    def folder(self) -> Path:
        """The folder, as it was named while that leads there."""
        return self._given_name if self._given_name.absolute() == self._absolute else self._absolute


def sync_folder(folder: Path) -> None:
    """Writes the entries of a folder to disk, where the system can be asked to."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sha256(content: bytes) -> str:
    """The SHA-256 digest of a content, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def parsed_json(text: bytes | str) -> Any:
    """The content of a JSON text; raises ValueError if it is none, or has a key twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Of two values of a key, JSON takes the last.
        if len(entries := dict(pairs)) < len(pairs):
            raise ValueError("a key stands twice in one object")
        return entries

    try:
        return json.loads(text, object_pairs_hook=once)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def load_arrays(path: Path, *names: str, follow: bool = False) -> list[np.ndarray[Any, Any]]:
    """Arrays of a NumPy archive (.npz), of numbers or strings: nothing is unpickled.

    Raises ValueError if the file, perhaps a link, is no such archive, or lacks an array; the
    message may follow the file's name.
    """
    content = read_file(path, follow=follow)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # Reading a whole member compares its checksum.
            members = [io.BytesIO(archive.read(f"{name}.npy")) for name in names]
        return [np.lib.format.read_array(member, allow_pickle=False) for member in members]
    except Exception as error:
        # On damaged bytes, Python and NumPy raise a dozen kinds of errors.
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        raise ValueError(text or type(error).__name__) from None
