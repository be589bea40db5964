"""Requests that the OpenAPI document allows, and others that it does not: every answer is one that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from bosket.service.app import make_app
from tests.service.studies import MEDIA_TYPE, reports, study

schemathesis.serializer.alias(MEDIA_TYPE, "application/octet-stream")
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OPERATIONS = {
    *("submit_reports", "list_tasks", "get_task", "get_results", "export_reports", "close_task", "open_second_phase"),
    *("list_batches", "subtract_batch", "issue_tokens", "revoke_token", "health", "ready", "metrics"),
}


def press(folder: Path, *, examples: int) -> None:
    """As many examples of each operation, with an admin token and without."""
    with study(folder, min_batch=5) as s:
        s.send(reports(s.plan, 30))
        app = make_app(s.collector, ends_it=False)
        api = schemathesis.openapi.from_asgi("/v1/openapi.json", app)
        seen = set()
        for found in api.get_all_operations():
            operation = found.ok()  # type: ignore[union-attr]  # our own document is sound
            seen.add(operation.definition.raw["operationId"])
            tokens = st.sampled_from([{}, s.bearer()])

            @settings(
                max_examples=examples,
                phases=[Phase.generate],
                deadline=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(), is_shop=st.booleans(), headers=tokens)
            def conforms(case: schemathesis.Case[Any], is_shop: bool, headers: dict[str, str]) -> None:
                if is_shop and "task_id" in case.path_parameters:
                    case.path_parameters["task_id"] = "shop"
                case.call_and_validate(headers=headers, checks=CHECKS)

            conforms()
        assert seen == OPERATIONS
        assert s.client.get("/ready").status_code == 200, "and it is still well"


@pytest.mark.slow
def test_a_few_requests_of_each_operation(tmp_path: Path) -> None:
    press(tmp_path, examples=2)


@pytest.mark.slow
def test_many_requests_of_each_operation(tmp_path: Path) -> None:
    press(tmp_path, examples=60)
