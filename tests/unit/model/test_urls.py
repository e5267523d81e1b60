"""Which URLs may be given for a chart repository and for a git repository."""

from __future__ import annotations

import pytest

from ansible_collections.rendimiento.addons.plugins.module_utils.model.urls import (
    chart_repository_fault,
    git_repository_fault,
    is_scp_like,
)

CREDENTIALS = "no credentials in a URL"
NO_CHARTS = "expected an https:// or oci:// URL"
NO_GIT = "expected the URL of a git repository"
QUERY = "no ? and no # in the URL of a git repository"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("https://charts.example.com", ""),
        ("https://charts.example.com:8443/stable/", ""),
        ("oci://ghcr.io/x/charts", ""),
        ("http://localhost:8080/charts", ""),
        ("http://127.0.0.1:8080/charts", ""),
        ("http://[::1]:8080/charts", ""),
        ("https://charts.example.com/x?token=abc", "no ? and no # in the URL of a chart repository"),
        ("https://charts.example.com/x#abc", "no ? and no # in the URL of a chart repository"),
        ("http://charts.example.com", NO_CHARTS),
        ("http://127.0.0.1.example.com", NO_CHARTS),
        ("file:///srv/charts", NO_CHARTS),
        ("charts", NO_CHARTS),
        ("https://", NO_CHARTS),
        ("https://$(touch x)/r", NO_CHARTS),
        ("https://$(touch${IFS}x)/r", NO_CHARTS),
        ("https://x%2ftest/r", NO_CHARTS),
        ("https://x.test\\r", NO_CHARTS),
        ("oci://x;y/r", NO_CHARTS),
        ("oci://x_y-z.test:5000/r", ""),
        ("https://[x", NO_CHARTS),
        ("https://x.test/a b", NO_CHARTS),
        ("https://x.test/a\n", NO_CHARTS),
        ("https://user:hunter2@x.test", CREDENTIALS),
        ("https://hunter2@x.test", CREDENTIALS),
        ("https://:hunter2@x.test", CREDENTIALS),
        ("https://@x.test", CREDENTIALS),
        ("https://user:hun/ter2@x.test", CREDENTIALS),
        ("http://user:hunter2@x.test", CREDENTIALS),
    ],
)
def test_chart_repositories(url: str, problem: str) -> None:
    fault = chart_repository_fault(url)
    assert (fault.problem if fault else "") == problem


@pytest.mark.parametrize(
    ("repo", "problem"),
    [
        ("https://git.example.com/x/y.git", ""),
        ("https://git.example.com/@scope/y", ""),
        ("http://localhost/x", ""),
        ("http://[::1]:80/x", ""),
        ("ssh://git@git.example.com:22/x.git", ""),
        ("ssh://git.example.com/~me/x.git", ""),
        ("git@git.example.com:x/y.git", ""),
        ("my.alias:x/y", ""),
        ("file:///srv/git/x", ""),
        ("/srv/git/x", ""),
        ("./x:y", ""),
        ("http://git.example.com/x", NO_GIT),
        ("git://git.example.com/x", NO_GIT),
        ("git+ssh://git.example.com/x", NO_GIT),
        ("HTTPS://git.example.com/x", NO_GIT),
        ("ftp://git.example.com/x", NO_GIT),
        ("file://srv/git/x", NO_GIT),
        ("file://localhost/srv/git/x", NO_GIT),
        ("ssh://-oProxyCommand=touch+x/y", NO_GIT),
        ("-oProxyCommand=x:y", NO_GIT),
        ("ssh://$(touch x)/r", NO_GIT),
        ("ssh://$(touch${IFS}x)/r", NO_GIT),
        ("ssh://%24%28touch%20x%29/r", NO_GIT),
        ("ssh://`x`/r", NO_GIT),
        ("ssh://git@x;y/r", NO_GIT),
        ("ssh://git@x%00y/r", NO_GIT),
        ("ssh://[::1%25$(x)]/r", NO_GIT),
        ("ssh://$(x)@y.test/r", NO_GIT),
        ("ssh://%24%28x%29@y.test/r", NO_GIT),
        ("ssh://-oProxyCommand=x@y.test/r", NO_GIT),
        ("ssh://%2DoProxyCommand=x@y.test/r", NO_GIT),
        ("https://x\u0430.test/r", NO_GIT),
        ("git@x\u0430.test:r", NO_GIT),
        ("$(x)@y.test:r", NO_GIT),
        ("ssh://me%40corp.test@[fe80::1]:22/r", ""),
        ("ssh://under_score.test/r", ""),
        ("git@-oProxyCommand=x:y", NO_GIT),
        ("--upload-pack=x", NO_GIT),
        ("ext::sh -c x", NO_GIT),
        ("ext::sh", NO_GIT),
        ("fd::17/foo", NO_GIT),
        ("https://x.test\\@y.test/z", NO_GIT),
        ("https://x.test/y\n", NO_GIT),
        ("git@x.test:", NO_GIT),
        ("https://x.test/y?ref=v1", QUERY),
        ("https://x.test/y?token=hunter2", QUERY),
        ("https://x.test/y#main", QUERY),
        ("https://user:hunter2@x.test/y", CREDENTIALS),
        ("https://hunter2@x.test/y", CREDENTIALS),
        ("https://user:hun/ter2@x.test/y", CREDENTIALS),
        ("ssh://git:hunter2@x.test/y", CREDENTIALS),
        ("git:hunter2@x.test:y", CREDENTIALS),
        ("git:hunter2@x.test/y", CREDENTIALS),
    ],
)
def test_git_repositories(repo: str, problem: str) -> None:
    fault = git_repository_fault(repo)
    assert (fault.problem if fault else "") == problem
    assert fault is None or "hunter2" not in fault.hint


@pytest.mark.parametrize(
    ("repo", "expected"),
    [
        ("git@x.test:y", True),
        ("alias:y", True),
        ("/srv/x:y", False),
        ("./x:y", False),
        ("x", False),
        ("https://x.test/y", False),
        ("ssh://git@x.test/y", False),
    ],
)
def test_scp_like(repo: str, expected: bool) -> None:
    assert is_scp_like(repo) is expected
