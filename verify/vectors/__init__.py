"""Language-neutral test vectors: exact cases as JSON, for other libraries to test themselves."""

from verify.vectors.folder import make_files, write_vectors

__all__ = ["make_files", "write_vectors"]
