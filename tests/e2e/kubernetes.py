"""The pods of the manifests as processes of this machine: the same commands, other ports and folders."""

import json
import os
import re
import secrets
import subprocess

import yaml

from deployments.port import free_port
from tests.kubernetes.manifests import Tree, environment, head, named, port_of, ray_start, workers

from .commands import GONE_S, ROOT, Command, Place, listens, wait_until

HEAD = "127.0.0.4"
NODES = ("127.0.0.2", "127.0.0.3")
"""Loopback addresses are addresses of nodes of their own for Ray; only 127.0.0.1 would become the machine's."""
STARTS = 6
"""How often a node is started at most."""
TOKEN = secrets.token_hex(32)
MASTER_KEY, TRAIN_KEY = "administrator-" + secrets.token_hex(8), "game-cores-" + secrets.token_hex(8)


class Pods:
    """MLflow, the head and two workers, as their manifests start them."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.gcs, self.dashboard, self.mlflow_port = free_port(), free_port(), free_port()
        self.agents = {address: free_port() for address in (HEAD, *NODES)}
        self.keys = place.folder / "keys.yaml"
        self.keys.write_text(
            yaml.safe_dump(
                [
                    {"name": "admin", "key": MASTER_KEY, "admin": True, "purposes": ["evaluate"]},
                    {"name": "cores", "key": TRAIN_KEY},
                ]
            )
        )
        self.changes = [
            f"actors.main.port={place.game_port}",
            f"actors.main.access.keys_file={self.keys}",
            f"tracking.mlflow_uri=http://localhost:{self.mlflow_port}",
            "trainers.main.inputs.0.batch_rows=512",
        ]
        """What the cluster's names and paths are here."""
        self.mlflow = self.start_mlflow()
        wait_until(lambda: listens(self.mlflow_port), lambda: self.mlflow.output, 240)
        self.nodes: dict[str, Command] = {}
        ports = {"port": self.gcs, "dashboard_port": self.dashboard, "ray_client_server_port": free_port()}
        self.start_pod(HEAD, **{name: str(port) for name, port in ports.items()})
        for node in NODES:
            self.start_pod(node, address=f"{HEAD}:{self.gcs}")

    def start_pod(self, node: str, **own: str) -> None:
        """Starts a pod's container until its liveness probe succeeds; one that ends is started again.

        Ray gives a node 30 s to start, which a busy machine may miss.
        """
        self.nodes[node] = self.start_node(self.group(node), node, **own)
        starts = 1

        def alive() -> bool:
            nonlocal starts
            if self.nodes[node].process.poll() is not None:
                assert starts < STARTS, self.told
                self.nodes[node] = self.start_node(self.group(node), node, **own)
                starts += 1
            return self.probes(self.group(node), node, "livenessProbe")

        wait_until(alive, lambda: self.told, 600)

    @property
    def told(self) -> str:
        return "\n".join(command.output[-2000:] for command in self.nodes.values())

    def group(self, node: str) -> Tree:
        return head() if node == HEAD else workers("games")

    def env(self, group: Tree, node: str) -> dict[str, str]:
        """Returns a container's environment, with what the operator and the kubelet add."""
        (container,) = group["template"]["spec"]["containers"]
        own = {"HOME": str(self.place.folder), "SPARRING_HOME": str(self.place.folder / "home"), "POD_IP": node}
        return environment(container, **own) | {
            "RAY_ADDRESS": f"{HEAD}:{self.gcs}",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": TOKEN,
            "RAY_API_SERVER_ADDRESS": f"http://127.0.0.1:{self.dashboard}",
            "RAY_DASHBOARD_ADDRESS": f"http://127.0.0.1:{self.dashboard}",
            "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "1",  # All end together here, so they would wait in vain.
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),  # As an installed product's.
        }

    def start_node(self, group: Tree, node: str, **own: str) -> Command:
        words = ray_start(
            group,
            **own,
            node_ip_address=node,
            dashboard_agent_listen_port=str(self.agents[node]),
            metrics_export_port=str(free_port()),
            object_store_memory=str(256 * 2**20),
            **({"temp_dir": str(self.place.folder / "ray")} if node == HEAD else {}),
        )
        variables = self.env(group, node)
        if node == HEAD:
            del variables["RAY_ADDRESS"]
        return self.place.start(*words, **variables)

    def start_mlflow(self) -> Command:
        (container,) = named("Deployment", "sparring-mlflow")["spec"]["template"]["spec"]["containers"]
        folder, port = self.place.folder / "mlflow", port_of(container, "http")
        folder.mkdir()
        words = [*container["command"], *container["args"]]
        words = [re.sub(rf"\b{port}\b", str(self.mlflow_port), word) for word in words]
        words = [word.replace("/var/lib/mlflow", str(folder)) for word in words]
        return self.place.start(*words, **environment(container, HOME=str(self.place.folder)))

    def deploy(self) -> None:
        """Gives Serve what the operator would give it."""
        config = yaml.safe_load(named("RayService", "sparring")["spec"]["serveConfigV2"])
        config["http_options"]["port"] = self.place.serve_port
        config["applications"][0]["args"]["set"] += self.changes
        path = self.place.folder / "serve.yaml"
        path.write_text(yaml.safe_dump(config))
        done = self.place.run("serve", "deploy", str(path), **self.env(head(), HEAD))
        assert done.returncode == 0, done.stderr

    def job(self, *more: str) -> Command:
        """Starts the RayJob as its submitter does."""
        spec = named("RayJob", "sparring-train")["spec"]
        changes = [word for change in self.changes for word in ("--set", change)]
        environment_json = json.dumps(yaml.safe_load(spec["runtimeEnvYAML"]))
        submit = ("ray", "job", "submit", "--runtime-env-json", environment_json, "--")
        return self.place.start(*submit, *spec["entrypoint"].split(), *changes, *more, **self.env(head(), HEAD))

    def probes(self, group: Tree, node: str, probe: str) -> bool:
        """Returns whether a container's probe succeeds, as the kubelet would ask it."""
        (container,) = group["template"]["spec"]["containers"]
        asked = container[probe]
        if "httpGet" in asked:
            url = f"http://{node}:{self.agents[node]}{asked['httpGet']['path']}"
            assert asked["httpGet"]["port"] == 52365
            words = ["curl", "-fsS", "-m", str(asked["timeoutSeconds"]), url]
        else:
            ports = {36390: self.place.game_port, 8000: self.place.serve_port}
            words = [re.sub(r":(36390|8000)/", lambda m: f":{ports[int(m[1])]}/", w) for w in asked["exec"]["command"]]
        return subprocess.run(words, capture_output=True, timeout=30, check=False).returncode == 0

    def pre_stop(self, node: str) -> str:
        """Runs the hook that a worker runs before its pod ends, and returns what it says."""
        (container,) = workers("games")["template"]["spec"]["containers"]
        command = container["lifecycle"]["preStop"]["exec"]["command"]
        done = self.place.run(*command, timeout_s=150, **self.env(workers("games"), node))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        for command in (*reversed(self.nodes.values()), self.mlflow):
            if command.process.poll() is None:
                command.process.terminate()
        for command in (*reversed(self.nodes.values()), self.mlflow):
            command.process.wait(60)
            wait_until(lambda c=command: not c.left_behind(), lambda c=command: f"{c.left_behind()} end", GONE_S)
