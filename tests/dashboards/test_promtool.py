"""Prometheus' own checker is content with config, rules and queries, and each alert fires when it should."""

from pathlib import Path

import pytest
import yaml

from tests.dashboards.boards import ALERT_TESTS, ALERTS, FOLDER, panel_queries, rules
from tests.dashboards.prometheus import needs_promtool, promtool

pytestmark = [needs_promtool, pytest.mark.slow]


def test_config_and_rules_are_what_prometheus_takes() -> None:
    assert f"{len(rules())} rules found" in promtool("check", "rules", str(ALERTS))
    promtool("check", "config", str(FOLDER / "prometheus.yml"))


def test_each_query_of_a_chart_is_one(tmp_path: Path) -> None:
    queries = panel_queries()
    as_rules = [{"record": f"panel:{at}", "expr": query.expr} for at, query in enumerate(queries)]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": as_rules}]}))
    assert f"{len(queries)} rules found" in promtool("check", "rules", str(tmp_path / "panels.yml"))


def test_each_alert_is_quiet_first_and_fires_later_with_what_it_says() -> None:
    tests = yaml.safe_load(ALERT_TESTS.read_text())["tests"]
    tried = {case["alertname"]: case["exp_alerts"] for test in tests for case in test["alert_rule_test"]}
    assert set(tried) == {rule["alert"] for rule in rules()}
    assert all(tried.values())  # The last case of each fires.
    assert "SUCCESS" in promtool("test", "rules", str(ALERT_TESTS))


def test_each_alert_says_what_to_do_and_how_urgent_it_is() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert set(rule["annotations"]) == {"runbook", "summary", "description"}
