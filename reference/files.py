"""Files: read whole, without following links or waiting for pipes; written whole, or not at all.

What comes from outside is data: a link in somebody's folder may lead anywhere, a pipe may never
end, an archive may claim more than the machine can hold.
"""

import errno
import io
import json
import math
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from reference.errors import InputError, shown

# What Windows does not have is 0 there.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
_KINDS: dict[str, Callable[[int], bool]] = {
    "a symbolic link": stat.S_ISLNK,
    "a folder": stat.S_ISDIR,
    "a pipe": stat.S_ISFIFO,
    "a socket": stat.S_ISSOCK,
    "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
}
# What to do about an error of the system.
_ADVICE = {
    errno.ENOSPC: "free some space there; what is on disk is kept, and a run goes on with --resume",
    errno.EDQUOT: "free some space there; what is on disk is kept, and a run goes on with --resume",
    errno.EFBIG: "files may be no larger: raise the limit (ulimit -f)",
    errno.EROFS: "copy it to where you can write, or choose another place with --out",
    errno.EACCES: "choose another place, or change who may read and write this one",
    errno.EPERM: "choose another place, or change who may read and write this one",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOENT: "give one that exists, in a folder that exists",
    errno.EMFILE: "more files are open than allowed: raise the limit (ulimit -n)",
    errno.ELOOP: "it is a symbolic link, which is not followed here: put a file in its place",
    errno.EISDIR: "it is a folder: move it away, or name a file",
    errno.ENOTDIR: "what holds it is no folder: name a place in one",
    errno.EEXIST: "move away what is there",
}


def refusal(error: OSError, path: Path | str | None, doing: str = "used") -> InputError:
    """An error of the system as one line: which file, why, and what to do.

    Args:
        error: what the system raised.
        path: of the file or folder; None to take the one that the error names, if it names one.
        doing: what cannot be done with it, such as "written".
    """
    name = error.filename if path is None else str(path)
    what = "a file" if name is None else repr(str(name))
    if len(what) > 300:
        what = f"{what[:150]}...{what[-150:]}"
    why = error.strerror or str(error) or type(error).__name__
    advice = _ADVICE.get(error.errno or 0, "look at what the system says of it, and try again")
    return InputError(f"{what} cannot be {doing} ({why}): {advice}")


def memory_of_machine() -> int:
    """Bytes of memory that this process may have: those of the machine, or fewer in a container."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**34  # where the system does not tell
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        limit = ""
    return min(physical, int(limit)) if limit.isdigit() else physical


def kind_of(path: Path) -> str:
    """What a path is, its links not followed: "a file", "a symbolic link", ...; "" if nothing.

    Raises:
        InputError: if the system refuses to tell.
    """
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError) as error:
        raise _as_refusal(error, path, "looked at") from None
    return next((name for name, holds in _KINDS.items() if holds(mode)), "a file")


def read_file(path: Path, most: int | None = None, *, follow: bool = False) -> bytes:
    """The content of a file.

    Args:
        path: of the file.
        most: how many bytes it may have; by default an eighth of the memory of the machine.
        follow: whether it may be a link, as the user gave its name.

    Raises:
        InputError: if it is a link, a pipe, a device or a folder, too large, or cannot be read.
    """
    most = memory_of_machine() // 8 if most is None else most
    try:
        if (not follow and path.is_symlink()) or not stat.S_ISREG(path.stat().st_mode):
            raise InputError(
                f"{str(path)!r} is {_kind_at_end(path, follow)}, which is not read: put a file in "
                "its place"
            )
        descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | (0 if follow else _NO_LINK))
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            # Asked again of what is open: what has a name may be exchanged meanwhile.
            if not stat.S_ISREG(found.st_mode):
                raise InputError(f"{str(path)!r} is no file: put one in its place")
            if found.st_size > most:
                raise InputError(
                    f"{str(path)!r} has {found.st_size:,} bytes, but at most {most:,} are read: it "
                    "is damaged, or no file of this kind"
                )
            return file.read(most)
    except (OSError, ValueError) as error:
        raise _as_refusal(error, path, "read") from None


def _kind_at_end(path: Path, follow: bool) -> str:
    return kind_of(path.resolve() if follow else path)


def _as_refusal(error: Exception, path: Path | None, doing: str) -> InputError:
    if isinstance(error, InputError):
        return error
    if isinstance(error, OSError):
        return refusal(error, path, doing)
    # Of a name that no file can have, such as one with a zero byte.
    return InputError(f"{shown(str(path))} cannot be {doing} ({error}): choose another name")


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file so that a kill, or a failure of power, leaves either the old or the new one.

    What is there is replaced by renaming: a link is not followed, and nothing outside the folder
    changes.

    Raises:
        InputError: if it cannot be written; what was there is as it was.
    """
    partial = partial_of(path)
    try:
        partial.unlink(missing_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise _as_refusal(error, path, "written") from None
    sync_folder(path.parent)


@contextmanager
def appending(path: Path) -> Iterator[TextIO]:
    """A file, made if there is none, to the end of which the body writes text.

    Raises:
        InputError: if it is a link, a pipe or a device, or cannot be written.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK | _NO_WAIT
    try:
        descriptor = os.open(path, flags, 0o666)
    except (OSError, ValueError) as error:
        raise _as_refusal(error, path, "written") from None
    with open(descriptor, "a", encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(f"{str(path)!r} is {kind_of(path)}, which is not written to")
        yield file


def append_to_file(path: Path, text: str, *, last: bool = False) -> None:
    """Adds text at the end of a file, which is made if there is none.

    Args:
        path: of the file.
        text: what is added.
        last: whether to wait until all of the file is on disk.

    Raises:
        InputError: if it is a link, a pipe or a device, or cannot be written.
    """
    try:
        with appending(path) as file:
            file.write(text)
            file.flush()
            if last:
                os.fsync(file.fileno())
    except OSError as error:
        raise refusal(error, path, "written") from None


def partial_of(path: Path) -> Path:
    """Where this process, and no other, writes what is to be renamed."""
    return path.with_name(f"{path.name}.{os.getpid()}.partial")


def sync_folder(folder: Path) -> None:
    """Has the system write down which files a folder has, where it can be asked to."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def parsed_json(text: bytes | str) -> Any:
    """What JSON says.

    Raises:
        ValueError: if it is none, or nested too deep.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def load_arrays(path: Path, *names: str, follow: bool = False) -> list[np.ndarray[Any, Any]]:
    """Arrays of a NumPy archive (.npz), of numbers or strings: nothing is unpickled.

    Args:
        path: of the archive.
        names: of the arrays.
        follow: whether it may be a link.

    Raises:
        ValueError: if it is no such archive, lacks an array, or claims arrays larger than what it
            holds, or than an eighth of the machine's memory; in words that may follow the name.
    """
    content = read_file(path, follow=follow)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return [_array(archive, name) for name in names]
    except InputError:
        raise
    except Exception as error:
        # Of damaged bytes, the readers of Python and NumPy raise a dozen kinds, which grow.
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        raise ValueError(text or type(error).__name__) from None


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray[Any, Any]:
    member = archive.getinfo(f"{name}.npy")
    if member.file_size > memory_of_machine() // 8:
        raise ValueError(f"its array {name!r} would have {member.file_size:,} bytes")
    data = archive.read(member)
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"its array {name!r} is of an unknown version, {version}")
    shape, by_columns, kind = read(file)
    if kind.hasobject:
        raise ValueError(f"its array {name!r} holds objects of Python, which are not loaded")
    held, claimed = len(data) - file.tell(), math.prod(shape) * kind.itemsize
    if min(shape, default=0) < 0 or held != claimed:
        raise ValueError(f"its array {name!r} claims {claimed:,} bytes, but has {held:,}")
    flat = np.frombuffer(data, kind, math.prod(shape), file.tell())
    return flat.reshape(shape, order="F" if by_columns else "C")
