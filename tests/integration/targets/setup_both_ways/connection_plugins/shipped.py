"""Connection of the tests: this machine under another name, so that an action ships its module instead of running it.

The module then goes the whole way of a remote one: packed with its imports, copied, run by another interpreter.
"""

from __future__ import annotations

from ansible.plugins.connection.local import Connection as LocalConnection

DOCUMENTATION = """
name: shipped
short_description: The local connection, for modules that are to be shipped
version_added: 0.1.0
description:
  - Does what P(ansible.builtin.local#connection) does. The action plugins of this collection run in-process only if the
    connection is that one.
author:
  - The rendimiento.addons authors (@rendimiento)
extends_documentation_fragment:
  - connection_pipelining
options:
  become_success_timeout:
    description: As of P(ansible.builtin.local#connection).
    type: int
    default: 10
  become_strip_preamble:
    description: As of P(ansible.builtin.local#connection).
    type: bool
    default: true
"""


class Connection(LocalConnection):  # type: ignore[misc]
    transport = "shipped"
