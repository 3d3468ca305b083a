"""Patches change what they name and nothing else."""

from app.wire.merge_patch import merge_patch
from tests.kubernetes.patches import strategically_merged

POD = {
    "containers": [{"name": "a", "image": "a:1", "args": ["-x"]}, {"name": "b", "image": "b:1"}],
    "hostNetwork": True,
}


def test_a_merge_patch_replaces_lists_and_removes_what_is_null() -> None:
    assert merge_patch(POD, {"containers": [{"name": "c"}], "hostNetwork": None}) == {"containers": [{"name": "c"}]}
    assert merge_patch({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}, "d": {"e": None}}) == {"a": {"b": 3, "c": 2}, "d": {}}


def test_a_strategic_patch_changes_items_by_their_names() -> None:
    patch = {
        "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
        "containers": [{"image": "a:2", "name": "a"}],
    }
    assert strategically_merged(POD, patch)["containers"] == [
        {"name": "b", "image": "b:1"},
        {"name": "a", "image": "a:2", "args": ["-x"]},
    ]


def test_a_strategic_patch_removes_items_and_keeps_only_what_it_retains() -> None:
    patch = {"containers": [{"$patch": "delete", "name": "b"}]}
    assert [one["name"] for one in strategically_merged(POD, patch)["containers"]] == ["a"]
    volume = {"volumes": [{"name": "data", "emptyDir": {}}]}
    change = {"volumes": [{"$retainKeys": ["name", "secret"], "name": "data", "secret": {"secretName": "s"}}]}
    assert strategically_merged(volume, change) == {"volumes": [{"name": "data", "secret": {"secretName": "s"}}]}


def test_a_strategic_patch_replaces_other_lists_and_what_says_so() -> None:
    assert strategically_merged({"args": ["a", "b"]}, {"args": ["c"]}) == {"args": ["c"]}
    assert strategically_merged({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}) == {"a": {"c": 2}}
