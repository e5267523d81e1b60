"""The one tree of exceptions: everything the core can say went wrong, and what to do about it.

A core function returns or raises one of these; it never prints and never exits. The modules and the
action plugins turn an ``AddonError`` into one failed result, without a traceback.
"""

from __future__ import annotations

import re

from .wording import printable


class AddonError(Exception):
    """Something that a person has to know about, in one line.

    :param message: what is wrong, a clause without a final full stop.
    :param addon: name of the add-on it is about, empty when it concerns the whole run.
    :param subject: the file, field or object it is about, such as ``addons/x.yaml`` or ``Deployment web/api``.
    :param hint: what the reader can do about it, a clause without a final full stop.
    """

    def __init__(self, message: str, *, addon: str = "", subject: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.addon = addon
        self.subject = subject
        self.hint = hint

    def __str__(self) -> str:
        parts = [f"add-on {self.addon}"] if self.addon else []
        if self.subject:
            parts.append(self.subject)
        parts.append(self.message)
        text = ": ".join(parts)
        end = "" if self.hint.endswith("?") else "."
        return printable(f"{text}. {_sentence(self.hint)}{end}" if self.hint else text)

    def about(self, *, addon: str = "", subject: str = "") -> AddonError:
        """The same error with the add-on or the subject filled in where they were not known yet."""
        self.addon = self.addon or addon
        self.subject = self.subject or subject
        return self


class RepositoryError(AddonError):
    """The gitops repository, its revision or a path in it can't be read."""


class CacheError(AddonError):
    """The cache folder can't be used, or another run holds what is in it for too long."""


class DefinitionError(AddonError):
    """A definition file breaks a rule; the message names the field."""


class DocumentError(AddonError):
    """Text that should be YAML or JSON is not, or says something that can't be meant."""


class ObjectError(AddonError):
    """A Kubernetes object in a source has no identity, or a shape that can't be applied."""


class RenderError(AddonError):
    """A source can't be rendered."""


class PlanError(AddonError):
    """A plan can't be made, or may not be carried out as it stands."""


class GraphError(AddonError):
    """The object graph has an unknown blocker, a duplicate node or a cycle."""


class RunDirectoryError(AddonError):
    """The run directory is missing, unreadable, or written by another version."""


class BootstrapError(AddonError):
    """The cluster lacks what ``rendimiento.addons.bootstrap`` puts there."""


class LockError(AddonError):
    """Another run holds the add-on's lock, or this run lost it."""


class ReadinessError(AddonError):
    """Objects did not become ready in time, or can't any more."""


class ClusterError(AddonError):
    """The API server can't be used.

    :ivar outcome_unknown: the request may have been carried out although no answer says so.
    """

    outcome_unknown = False


class UnreachableError(ClusterError):
    """No answer from the API server."""


class CredentialError(ClusterError):
    """No usable credentials, or the API server does not accept them (401)."""


def _sentence(text: str) -> str:
    """With a capital, unless it begins with an identifier, which would become another one."""
    first = re.match(r"[a-z]+(-[a-z]+)*(?=[ ,;:]|$)", text)
    return f"{text[0].upper()}{text[1:]}" if first else text
