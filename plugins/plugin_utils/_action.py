"""The one base of the collection's action plugins: the same entry point as the module, inside the controller process.

In-process a step costs milliseconds where a shipped module costs a third of a second, and it can show progress. That is
only right where the module would run on this very machine as this very user: connection local, no become.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, ClassVar

# Imported here once, by the controller: workers are forked from it and pay nothing (an import per task is dear).
try:
    import jsonpatch  # noqa: F401
    import jsonschema  # noqa: F401
    import kubernetes  # noqa: F401
    import yaml  # noqa: F401
except ImportError:
    pass

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator, ValidationResult
from ansible.module_utils.common.parameters import remove_values
from ansible.module_utils.errors import UnsupportedError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..module_utils.cluster.kubeconfig_files import VAULT_HEADER, refuse_content
from ..module_utils.entry_points.interruption import interruptible
from ..module_utils.entry_points.invocation import EntryPoint, Invocation, failed
from ..module_utils.entry_points.module import missing_library
from ..module_utils.entry_points.options import FILE_OPTIONS
from ..module_utils.model.errors import AddonError

display = Display()


class AddonAction(ActionBase):
    """:cvar ENTRY_POINT: the file in ``module_utils/entry_points`` that this action calls."""

    ENTRY_POINT: ClassVar[EntryPoint]
    CONSTRAINTS: ClassVar[dict[str, Any]] = {}

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        try:
            refuse_content(self._task.args.get("kubeconfig") or "")
        except AddonError as error:
            return self._refused_secret(error)
        if self._play_context.become or self._connection.transport != "local":
            result: dict[str, Any] = self._execute_module(task_vars=task_vars)
        else:
            result = self._run_here()
        # Shown here, readable, and not once more inside of a failed task's result.
        for line in result.pop("report", []):
            display.display(line)
        return result

    def _refused_secret(self, error: AddonError) -> dict[str, Any]:
        """Before anything logs the arguments; of a loop, the items are not shown either: each may be such a secret."""
        if self._task.loop is not None:
            display.error(str(error), wrap_text=False)
        return {**self._failed(str(error)), "_ansible_no_log": self._task.loop is not None}

    def _failed(self, message: str) -> dict[str, Any]:
        return failed(self.ENTRY_POINT, self._task.args, message)

    def _run_here(self) -> dict[str, Any]:
        missing = missing_library()
        if missing:
            return self._failed(missing)
        environment: dict[str, str] = {}
        self._compute_environment_string(environment)
        os.environ.update(environment)
        # Ansible's tagged strings stay outside of the core: one round trip leaves plain ones.
        arguments = json.loads(json.dumps(self._task.args))
        validator = ArgumentSpecValidator(self.ENTRY_POINT.ARGUMENT_SPEC, **self.CONSTRAINTS)
        validated = validator.validate(arguments)
        if validated.error_messages:
            return self._masked({"failed": True, "msg": self._refusal(validated)}, validated)
        try:
            decrypted = self._decrypted(validated.validated_parameters)
        except AnsibleError as error:
            return self._masked(self._failed(str(error)), validated)
        invocation = Invocation(
            check=bool(self._task.check_mode),
            diff=bool(self._task.diff),
            progress=display.display,
            process=os.getppid(),
            decrypted=decrypted,
        )
        parameters = validated.validated_parameters
        try:
            with interruptible(parameters.get("run")):
                result = self.ENTRY_POINT.call(parameters, invocation).to_ansible()
        except AddonError as error:
            result = self._failed(str(error))
        twice = [f"Both option {one['option']} and its alias {one['alias']} are set." for one in validated._warnings]
        warnings = [*twice, *result.get("warnings", [])]
        return self._masked({**result, "warnings": warnings} if warnings else result, validated)

    def _decrypted(self, parameters: dict[str, Any]) -> dict[str, str]:
        """The plain text of encrypted files that options name, in memory alone.

        :raises AnsibleError: there is no password that opens one.
        """
        named = [path for name in FILE_OPTIONS for path in (parameters.get(name) or "").split(os.pathsep)]
        texts: dict[str, str] = {}
        for path in filter(None, named):
            file = Path(path).expanduser().absolute()
            if file.is_file() and os.access(file, os.R_OK) and file.read_bytes().startswith(VAULT_HEADER.encode()):
                try:
                    texts[path] = str(self._loader.get_text_file_contents(str(file)))
                except AnsibleError as error:
                    raise AnsibleError(f"{path}: can't be decrypted: {error.message}") from None
        return texts

    def _refusal(self, validated: ValidationResult) -> str:
        """What is wrong with the arguments, in the words in which a module says it."""
        unsupported = f"Unsupported parameters for ({self._task.resolved_action}) module: "
        return "; ".join(
            f"{unsupported if isinstance(error, UnsupportedError) else ''}{error}" for error in validated.errors
        )

    @staticmethod
    def _masked(result: dict[str, Any], validated: ValidationResult) -> dict[str, Any]:
        masked: dict[str, Any] = remove_values(result, validated._no_log_values)
        return masked
