"""Endpoints of a tandem run, for Python.

Drop-in for NeMo-RL's endpoint registry class: the same methods, but it asks the registry sidecar of the pod
($TANDEM_REGISTRY) instead of the API server. So it needs neither the `kubernetes` package nor a token, waits instead of
polling, and raises as soon as another part of the run has failed.

    registry = EndpointRegistry()
    registry.set("gym_head_server", "http://10.0.0.7:9090")
    urls = json.loads(registry.get("vllm_base_urls", timeout=3600))

One file, standard library only: copy it next to your code. Python 3.8 or later.
"""

import http.client
import json
import os
import socket
import time
import urllib.parse

__all__ = ["EndpointRegistry", "K8sEndpointRegistry", "RegistryError", "RunFailedError"]

_START_PATIENCE = 30.0  # how long the sidecar may take to listen
_ONE_WAIT = 300.0  # how long one request waits; the next goes on waiting
_ANSWER_PATIENCE = 60.0  # how long a request that does not wait may take


class RegistryError(RuntimeError):
    """What the sidecar refused. `code` is one of those in docs/registry.md."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class RunFailedError(RegistryError):
    """Another part of the run has failed; the message says why."""


class EndpointRegistry:
    """The endpoints of the run that this pod belongs to.

    job_id and namespace are accepted because NeMo-RL's class wants them. The sidecar knows both; a job_id that is not
    the run's name ($TANDEM_RUN) is refused, because it would mean another run.
    """

    def __init__(self, job_id=None, namespace=None, url=None):
        run = os.environ.get("TANDEM_RUN")
        if job_id and run and job_id != run:
            raise ValueError(f"job_id {job_id!r} is not the run of this pod, {run!r}")
        del namespace
        self._url = url or os.environ.get("TANDEM_REGISTRY")
        if not self._url:
            raise RegistryError("unavailable", "TANDEM_REGISTRY is not set: no registry sidecar in this pod")

    def create(self, owner=None):
        """Check that the registry is there. `tandem up` has made it, with its owner."""
        del owner
        self._ask("GET", "/v1/endpoints")

    def set(self, key, value):
        """Write a key. It is written, whoever writes at the same time, when this returns."""
        self._ask("PUT", _path(key), body=value)

    def get(self, key, timeout=600.0, poll_interval=None):
        """Wait for a key and return its value.

        Raises TimeoutError after `timeout` seconds and RunFailedError as soon as the run has failed. Nothing polls;
        poll_interval is accepted because NeMo-RL's class has it.
        """
        del poll_interval
        deadline = time.monotonic() + timeout
        while True:
            left = max(deadline - time.monotonic(), 0.001)
            wait = min(left, _ONE_WAIT)
            try:
                query = f"?wait={int(wait * 1000) or 1}ms"
                return self._ask("GET", _path(key) + query, patience=wait + _ANSWER_PATIENCE, start=left)["value"]
            except RegistryError as error:
                if error.code != "timeout":
                    raise
                if wait == left:
                    raise TimeoutError(f"key {key!r} did not appear within {timeout} s: {error}") from error

    def get_nowait(self, key):
        """Return the value of a key, or None. Raises RunFailedError when the run has failed."""
        try:
            return self._ask("GET", _path(key))["value"]
        except RegistryError as error:
            if error.code == "not_found":
                return None
            raise

    def signal_error(self, message):
        """Report that the run has failed. The first message of a run stays."""
        self._ask("POST", "/v1/fail", body=message)

    def join(self, key, member):
        """Add a member to the JSON list of a key."""
        self._ask("POST", _path(key) + "/members", body=member)

    def leave(self, key, member):
        """Remove a member from the JSON list of a key."""
        self._ask("DELETE", _path(key) + "/members", body=member)

    def delete(self, key):
        """Remove a key."""
        self._ask("DELETE", _path(key))

    def list(self):
        """Return all keys and values."""
        return {one["key"]: one["value"] for one in self._ask("GET", "/v1/endpoints")["endpoints"]}

    def _ask(self, method, path, body=None, patience=_ANSWER_PATIENCE, start=_START_PATIENCE):
        status, raw = self._send(method, path, body, patience, time.monotonic() + min(start, _START_PATIENCE))
        try:
            answer = json.loads(raw)
        except ValueError:
            answer = {"code": "unavailable", "message": f"the sidecar answers {status}: {raw[:200]!r}"}
        if status == 200:
            return answer
        error = RunFailedError if answer.get("code") == "failed" else RegistryError
        raise error(answer.get("code", "unavailable"), answer.get("message", ""))

    def _send(self, method, path, body, patience, start_deadline):
        while True:
            connection = _connect(self._url, patience)
            try:
                connection.connect()
            except (ConnectionRefusedError, FileNotFoundError) as error:
                if time.monotonic() > start_deadline:
                    raise RegistryError("unavailable", f"{self._url}: no sidecar listens: {error}") from error
                time.sleep(0.1)
                continue
            try:
                connection.request(method, path, body=None if body is None else body.encode("utf-8"))
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException) as error:
                raise RegistryError("unavailable", f"{self._url}: {method} {path}: {error!r}") from error
            finally:
                connection.close()


K8sEndpointRegistry = EndpointRegistry


def _path(key):
    return "/v1/endpoints/" + urllib.parse.quote(key, safe="")


def _connect(url, timeout):
    if url.startswith("unix:"):
        return _UnixConnection(url[len("unix:") :], timeout)
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise RegistryError("unavailable", f"{url!r}: want http://HOST:PORT or unix:PATH")
    return http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=timeout)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
