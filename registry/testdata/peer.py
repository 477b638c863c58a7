"""What a client that knows nothing of tandem does: read the ConfigMap, change a key, patch the whole object back, and
try again at once when another writer was faster; read by polling. As an endpoint registry in Python does it, over the
`kubernetes` package. Usage: peer.py KUBECONFIG NAMESPACE NAME set KEY VALUE | get KEY | create"""

import sys

from kubernetes import client, config
from kubernetes.client.rest import ApiException


def main(kubeconfig, namespace, name, verb, key=None, value=None):
    config.load_kube_config(config_file=kubeconfig)
    api = client.CoreV1Api()
    if verb == "create":
        meta = client.V1ObjectMeta(name=name)
        api.create_namespaced_config_map(namespace, client.V1ConfigMap(metadata=meta, data={}))
    elif verb == "get":
        print((api.read_namespaced_config_map(name, namespace).data or {})[key])
    elif verb == "set":
        for _ in range(5):
            found = api.read_namespaced_config_map(name, namespace)
            found.data = {**(found.data or {}), key: value}
            try:
                api.patch_namespaced_config_map(name, namespace, found)
                return
            except ApiException as error:
                if error.status != 409:
                    raise
        raise RuntimeError("another writer was faster five times")


main(*sys.argv[1:])
