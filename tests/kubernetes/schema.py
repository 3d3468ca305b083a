"""JSON Schemas of the kinds and fields that the manifests use; a field that is not listed is an error.

Names, types and required fields are those of Kubernetes' API and of KubeRay's ``ray.io/v1``.
"""

from typing import Any, Final, TypeAlias

Schema: TypeAlias = dict[str, Any]


def closed(*required: str, **properties: Schema) -> Schema:
    """Returns an object with these fields and no others; ``_`` at the end of a name keeps it apart from Python's."""
    fields = {name.rstrip("_"): schema for name, schema in properties.items()}
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def listed(item: Schema, least: int = 1) -> Schema:
    return {"type": "array", "items": item, "minItems": least}


def matching(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


def one_of(*values: object) -> Schema:
    return {"enum": list(values)}


TEXT: Final[Schema] = {"type": "string", "minLength": 1}
FLAG: Final[Schema] = {"type": "boolean"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
PORT: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": 65535}
NAME: Final = matching(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
PORT_NAME: Final = matching(r"[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?")
QUANTITY: Final = matching(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
QUANTITIES: Final[Schema] = {"type": "object", "additionalProperties": QUANTITY, "minProperties": 1}
LABELS: Final[Schema] = {
    "type": "object",
    "additionalProperties": matching(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?"),
    "minProperties": 1,
}
TEXTS: Final[Schema] = {"type": "object", "additionalProperties": {"type": "string"}}
METADATA: Final = closed("name", name=NAME, labels=LABELS)
SELECTOR: Final = closed("matchLabels", matchLabels=LABELS)

_EXEC = closed("command", command=listed(TEXT))
_PROBE = {
    **closed(
        exec=_EXEC,
        httpGet=closed("path", "port", path=matching("/.*"), port={"anyOf": [PORT, PORT_NAME]}),
        initialDelaySeconds=COUNT,
        periodSeconds={**COUNT, "minimum": 1},
        timeoutSeconds={**COUNT, "minimum": 1},
        failureThreshold={**COUNT, "minimum": 1},
    ),
    "oneOf": [{"required": ["exec"]}, {"required": ["httpGet"]}],
}
_ENV = {
    **closed(
        "name",
        name=matching("[A-Za-z_][A-Za-z0-9_]*"),
        value={"type": "string"},
        valueFrom=closed("fieldRef", fieldRef=closed("fieldPath", fieldPath=one_of("status.podIP"))),
    ),
    "oneOf": [{"required": ["value"]}, {"required": ["valueFrom"]}],
}
_CONTAINER = closed(
    "name",
    "image",
    "resources",
    "securityContext",
    name=PORT_NAME | {"pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"},
    image=matching(r"[a-z0-9./_-]+:[A-Za-z0-9_.-]+"),
    command=listed(TEXT),
    args=listed(TEXT),
    env=listed(_ENV),
    ports=listed(closed("containerPort", name=PORT_NAME, containerPort=PORT)),
    resources=closed("requests", "limits", requests=QUANTITIES, limits=QUANTITIES),
    livenessProbe=_PROBE,
    readinessProbe=_PROBE,
    lifecycle=closed("preStop", preStop=closed("exec", exec=_EXEC)),
    securityContext=closed(
        "allowPrivilegeEscalation",
        "readOnlyRootFilesystem",
        "capabilities",
        allowPrivilegeEscalation=FLAG,
        readOnlyRootFilesystem=FLAG,
        capabilities=closed("drop", drop=listed(TEXT)),
    ),
    volumeMounts=listed(closed("name", "mountPath", name=NAME, mountPath=matching("/.*"), readOnly=FLAG)),
)
_VOLUME = {
    **closed(
        "name",
        name=NAME,
        persistentVolumeClaim=closed("claimName", claimName=NAME),
        secret=closed("secretName", secretName=NAME, defaultMode=COUNT),
        configMap=closed("name", name=NAME),
        emptyDir=closed(sizeLimit=QUANTITY),
    ),
    "minProperties": 2,
    "maxProperties": 2,
}
POD: Final = closed(
    "containers",
    "securityContext",
    containers=listed(_CONTAINER),
    volumes=listed(_VOLUME),
    restartPolicy=one_of("Never", "Always", "OnFailure"),
    automountServiceAccountToken=FLAG,
    terminationGracePeriodSeconds=COUNT,
    securityContext=closed(
        "runAsNonRoot",
        "seccompProfile",
        runAsNonRoot=FLAG,
        runAsUser=COUNT,
        runAsGroup=COUNT,
        fsGroup=COUNT,
        seccompProfile=closed("type", type=one_of("RuntimeDefault")),
    ),
)
TEMPLATE: Final = closed("metadata", "spec", metadata=closed("labels", labels=LABELS), spec=POD)


def _kind(api: str, kind: str, spec: Schema, body: str = "spec") -> Schema:
    head = {"apiVersion": {"const": api}, "kind": {"const": kind}, "metadata": METADATA}
    return closed("apiVersion", "kind", "metadata", body, **head, **{body: spec})


_SERVICE = closed(
    "selector",
    "ports",
    selector=LABELS,
    ports=listed(closed("port", name=PORT_NAME, port=PORT, targetPort={"anyOf": [PORT, PORT_NAME]})),
    clusterIP=one_of("None"),
    publishNotReadyAddresses=FLAG,
)
_DEPLOYMENT = closed(
    "selector",
    "template",
    replicas=COUNT,
    strategy=closed("type", type=one_of("Recreate", "RollingUpdate")),
    selector=SELECTOR,
    template=TEMPLATE,
)
_PEER = {**closed(podSelector=SELECTOR, namespaceSelector={"type": "object", "maxProperties": 0}), "minProperties": 1}
_PEER_PORT = closed("port", port=PORT, protocol=one_of("TCP", "UDP"))
_POLICY = closed(
    "podSelector",
    "policyTypes",
    podSelector=SELECTOR,
    policyTypes=listed(one_of("Ingress", "Egress")),
    ingress=listed(closed(from_=listed(_PEER), ports=listed(_PEER_PORT))),
)
_BACKEND = closed("service", service=closed("name", "port", name=NAME, port=closed("name", name=PORT_NAME)))
_PATH = closed(
    "path", "pathType", "backend", path=matching("/.*"), pathType=one_of("Prefix", "Exact"), backend=_BACKEND
)
_INGRESS = closed(
    "rules",
    tls=listed(closed("hosts", "secretName", hosts=listed(NAME), secretName=NAME)),
    rules=listed(closed("host", "http", host=NAME, http=closed("paths", paths=listed(_PATH)))),
)
_BUDGET = {
    **closed("selector", maxUnavailable=COUNT, minAvailable=COUNT, selector=SELECTOR),
    "oneOf": [{"required": ["maxUnavailable"]}, {"required": ["minAvailable"]}],
}
_CLAIM = closed(
    "accessModes",
    "resources",
    accessModes=listed(one_of("ReadWriteOnce", "ReadWriteMany")),
    storageClassName=NAME,
    resources=closed("requests", requests=QUANTITIES),
)
_GROUP = {"rayStartParams": TEXTS, "template": TEMPLATE}
_WORKERS = closed(
    "groupName",
    "minReplicas",
    "maxReplicas",
    "rayStartParams",
    "template",
    groupName=NAME,
    replicas=COUNT,
    minReplicas=COUNT,
    maxReplicas=COUNT,
    **_GROUP,
)
_CLUSTER = closed(
    "headGroupSpec",
    "rayVersion",
    rayVersion=matching(r"\d+\.\d+\.\d+"),
    authOptions=closed("mode", "secretName", mode=one_of("token"), secretName=NAME),
    headGroupSpec=closed("rayStartParams", "template", **_GROUP),
    workerGroupSpecs=listed(_WORKERS),
)
_RAY_SERVICE = closed(
    "serveConfigV2",
    "rayClusterConfig",
    upgradeStrategy=closed("type", type=one_of("NewCluster", "None")),
    rayClusterDeletionDelaySeconds=COUNT,
    excludeHeadPodFromServeSvc=FLAG,
    serveConfigV2=TEXT,
    rayClusterConfig=_CLUSTER,
)
_RAY_JOB = closed(
    "entrypoint",
    "clusterSelector",
    clusterSelector=closed("ray.io/cluster", **{"ray.io/cluster": TEXT}),
    submissionMode=one_of("K8sJobMode", "HTTPMode"),
    backoffLimit={"const": 0},  # The operator refuses more together with a clusterSelector.
    entrypoint=TEXT,
    runtimeEnvYAML=TEXT,
    submitterPodTemplate=TEMPLATE,
)

KINDS: Final[dict[str, Schema]] = {
    "ConfigMap": _kind("v1", "ConfigMap", TEXTS, "data"),
    "Deployment": _kind("apps/v1", "Deployment", _DEPLOYMENT),
    "Ingress": _kind("networking.k8s.io/v1", "Ingress", _INGRESS),
    "NetworkPolicy": _kind("networking.k8s.io/v1", "NetworkPolicy", _POLICY),
    "PersistentVolumeClaim": _kind("v1", "PersistentVolumeClaim", _CLAIM),
    "PodDisruptionBudget": _kind("policy/v1", "PodDisruptionBudget", _BUDGET),
    "RayJob": _kind("ray.io/v1", "RayJob", _RAY_JOB),
    "RayService": _kind("ray.io/v1", "RayService", _RAY_SERVICE),
    "Service": _kind("v1", "Service", _SERVICE),
}
