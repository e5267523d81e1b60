"""What can go wrong, as one tree of exceptions; only `__main__` turns them into text and an exit code."""

from __future__ import annotations


class LocalClusterError(Exception):
    """Base of everything this package raises on purpose. Its text is meant for people."""


class FolderError(LocalClusterError):
    """The folder cannot hold a cluster."""


class ToolchainError(LocalClusterError):
    """There is no usable Go toolchain."""


class BuildError(LocalClusterError):
    """A program could not be built."""


class StartError(LocalClusterError):
    """A component did not come up. The text ends with the last lines of its log."""


class StopError(LocalClusterError):
    """A process is still there after SIGKILL."""


class RequestError(LocalClusterError):
    """The API server refused a request of this package."""
