"""A step's failure is its add-on's outcome, whatever it is."""

from __future__ import annotations

import re

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.errors import AddonError, RenderError
from ansible_collections.rendimiento.addons.plugins.module_utils.model.objects import ObjectKey
from ansible_collections.rendimiento.addons.plugins.module_utils.steps.failures import failure_kept
from tests.unit.steps.made_run import MadeRun


def test_an_error_is_kept_and_goes_on(run: MadeRun) -> None:
    error = RenderError("is broken", subject="a.yaml")
    with pytest.raises(RenderError) as caught, failure_kept(run.add("web").session, "web"):
        raise error
    assert caught.value is error
    outcome = run.directory.outcome("web")
    assert (outcome.phase, outcome.error) == ("Error", "add-on web: a.yaml: is broken")


def test_what_nobody_expected_is_the_add_ons_error_and_tells_no_secret(run: MadeRun) -> None:
    with pytest.raises(AddonError) as caught, failure_kept(run.add("web").session, "web"):
        ObjectKey.from_json(["s3cret"])
    assert isinstance(caught.value.__cause__, ValueError)
    message = str(caught.value)
    assert re.fullmatch(
        r"add-on web: failed unexpectedly \(ValueError in model/objects.py:[0-9]+\)\. "
        r"Report it as a fault of rendimiento.addons\.",
        message,
    )
    outcome = run.directory.outcome("web")
    assert (outcome.phase, outcome.error) == ("Error", message)


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_the_end_of_the_process_is_no_failure(run: MadeRun, ending: type[BaseException]) -> None:
    with pytest.raises(ending), failure_kept(run.add("web").session, "web"):
        raise ending
    assert run.directory.outcome("web").error == ""
