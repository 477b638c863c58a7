"""Runs against the sidecar at $TANDEM_REGISTRY, whose registry is empty. The Go test of cmd/registry starts both."""

import json
import os
import threading
import time
import unittest

import tandem_registry
from tandem_registry import EndpointRegistry, RegistryError, RunFailedError


def later(do, *args):
    timer = threading.Timer(0.2, do, args)
    timer.start()
    return timer


class TestRegistry(unittest.TestCase):
    def test_1_set_and_get(self):
        registry = EndpointRegistry(job_id=os.environ["TANDEM_RUN"], namespace="ignored")
        registry.create(owner="ignored")
        self.assertIsNone(registry.get_nowait("a"))
        registry.set("a", "http://10.0.0.1:1/?x=1&y=ü")
        self.assertEqual(registry.get("a"), "http://10.0.0.1:1/?x=1&y=ü")
        self.assertEqual(registry.get_nowait("a"), "http://10.0.0.1:1/?x=1&y=ü")
        registry.set("vllm_base_urls", json.dumps(["http://10.0.0.2:1/v1"]))
        registry.join("vllm_base_urls", "http://10.0.0.1:1/v1")
        self.assertEqual(json.loads(registry.get("vllm_base_urls")), ["http://10.0.0.1:1/v1", "http://10.0.0.2:1/v1"])
        registry.leave("vllm_base_urls", "http://10.0.0.1:1/v1")
        registry.delete("a")
        self.assertEqual(registry.list(), {"vllm_base_urls": '["http://10.0.0.2:1/v1"]'})

    def test_2_get_waits(self):
        registry = EndpointRegistry()
        timer = later(registry.set, "late", "1")
        self.assertEqual(registry.get("late", timeout=20, poll_interval=2.0), "1")
        timer.join()

    def test_3_get_times_out(self):
        began = time.monotonic()
        with self.assertRaisesRegex(TimeoutError, "key 'never' did not appear within 0.3 s"):
            EndpointRegistry().get("never", timeout=0.3)
        self.assertLess(time.monotonic() - began, 5)

    def test_4_a_long_wait_is_several_requests(self):
        one_wait, tandem_registry._ONE_WAIT = tandem_registry._ONE_WAIT, 0.1
        registry = EndpointRegistry()
        timer = later(registry.set, "later", "1")
        try:
            self.assertEqual(registry.get("later", timeout=20), "1")
        finally:
            tandem_registry._ONE_WAIT = one_wait
            timer.join()

    def test_5_refusals(self):
        with self.assertRaises(RegistryError) as caught:
            EndpointRegistry().set("a b", "x")
        self.assertEqual(caught.exception.code, "bad_key")
        with self.assertRaisesRegex(ValueError, "is not the run of this pod"):
            EndpointRegistry(job_id="another")
        with self.assertRaisesRegex(RegistryError, "want http"):
            EndpointRegistry(url="ftp://x").list()

    def test_6_no_sidecar(self):
        patience, tandem_registry._START_PATIENCE = tandem_registry._START_PATIENCE, 0.2
        try:
            for url in ("http://127.0.0.1:1", "unix:/nowhere"):
                with self.assertRaisesRegex(RegistryError, "no sidecar listens"):
                    EndpointRegistry(url=url).list()
        finally:
            tandem_registry._START_PATIENCE = patience

    def test_7_failure(self):
        registry = EndpointRegistry()
        timer = later(registry.signal_error, "CUDA out of memory")
        with self.assertRaisesRegex(RunFailedError, "run failed: CUDA out of memory"):
            registry.get("never", timeout=20)
        timer.join()
        registry.signal_error("a consequence")
        self.assertEqual(registry.get_nowait("error"), "CUDA out of memory")
        with self.assertRaises(RunFailedError):
            registry.get_nowait("vllm_base_urls")


if __name__ == "__main__":
    unittest.main()
