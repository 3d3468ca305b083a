"""The way in which kubectl says what is to change in an object of one of Kubernetes' own kinds."""

from typing import Any, Final

from .manifests import Tree

MERGE_KEYS: Final = {
    "containers": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "port"),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "conditions": ("type",),
}
"""Lists whose items are changed one by one in a strategic patch, and what tells items apart; others are replaced."""
RETAINED: Final = "$retainKeys"
ORDER: Final = "$setElementOrder/"
DIRECTIVE: Final = "$patch"


def strategically_merged(current: Any, patch: Any) -> Any:
    """Returns what a strategic merge patch makes of a value of one of Kubernetes' own kinds."""
    if not isinstance(patch, dict):
        return patch
    result = dict(current) if isinstance(current, dict) and patch.get(DIRECTIVE) != "replace" else {}
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        if value is None:
            result.pop(name, None)
        elif isinstance(value, list) and name in MERGE_KEYS:
            order = patch.get(ORDER + name)
            result[name] = _merged_items(result.get(name) or [], value, MERGE_KEYS[name], order)
        else:
            result[name] = strategically_merged(result.get(name), value)
    if RETAINED in patch:
        result = {name: value for name, value in result.items() if name in patch[RETAINED]}
    return result


def _merged_items(current: list[Tree], patch: list[Tree], keys: tuple[str, ...], order: Any) -> list[Tree]:
    def name(item: Tree) -> Any:
        return next((item[key] for key in keys if key in item), None)

    items = {name(item): item for item in current}
    for change in patch:
        if change.get(DIRECTIVE) == "delete":
            items.pop(name(change), None)
        else:
            items[name(change)] = strategically_merged(items.get(name(change)), change)
    first = [name(item) for item in order or () if name(item) in items]
    return [items[one] for one in dict.fromkeys([*first, *items])]
