"""Says what OmegaConf makes of YAML texts: one JSON object per line in, one per line out.

In:  {"yaml": TEXT, "set": {...}} or {"file": PATH, "overrides": [...]}, both with "only": [KEY...] where not all keys matter
Out: {"keys": {KEY: VALUE or null for an error}} or {"error": MESSAGE}
Values say their type: ["int", "1"], ["float", "1.0"], ["str", "x"], ["bool", true], ["none"], ["list", ...], ["dict", [[K, V]...]].
"""

import io
import json
import os
import sys
import warnings

from omegaconf import DictConfig, ListConfig, OmegaConf

warnings.simplefilter("ignore")
OmegaConf.register_new_resolver("add", lambda a, b: a + b)
OmegaConf.register_new_resolver("mul", lambda a, b: a * b)
OmegaConf.register_new_resolver("div", lambda a, b: a / b)
OmegaConf.register_new_resolver("max", lambda a, b: max(a, b))


def typed(value):
    if isinstance(value, (DictConfig, ListConfig)):
        value = OmegaConf.to_container(value, resolve=True, throw_on_missing=True)
    if value is None:
        return ["none"]
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, (int, float, str)):
        return [type(value).__name__, value if isinstance(value, str) else repr(value)]
    if isinstance(value, dict):
        return ["dict", [[typed(k), typed(v)] for k, v in value.items()]]
    if isinstance(value, (list, tuple)):
        return ["list", [typed(v) for v in value]]
    raise TypeError(type(value))


def resolved(config, key):
    try:
        value = config[key]
        return typed(value)
    except Exception:
        return None


def overlay(base, over):
    for key in [k for k in over.keys() if not OmegaConf.is_missing(over, k)]:
        if isinstance(over._get_node(key), DictConfig) and over[key].get("_override_", False):
            over[key].pop("_override_")
            base.pop(key, None)
    return OmegaConf.merge(base, over)


def recipe(path):
    config = OmegaConf.load(path)
    if "defaults" not in config:
        return config
    parents = config.pop("defaults")
    base = OmegaConf.create({})
    for parent in [parents] if isinstance(parents, str) else parents:
        base = overlay(base, recipe(os.path.join(os.path.dirname(path), parent)))
    return overlay(base, config)


def override(config, overrides):
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.core.override_parser.overrides_parser import OverridesParser

    OmegaConf.set_struct(config, True)
    ConfigLoaderImpl._apply_overrides_to_config(OverridesParser.create().parse_overrides(overrides), config)


bases = {}


def text(own, base):
    if not base:
        return OmegaConf.load(io.StringIO(own))
    if base not in bases:
        bases[base] = OmegaConf.to_container(OmegaConf.load(io.StringIO(base)))
    return OmegaConf.create({**bases[base], **OmegaConf.to_container(OmegaConf.load(io.StringIO(own)))})


def answer(question):
    if question.get("file"):
        config = recipe(question["file"])
        override(config, question.get("overrides") or [])
    else:
        config = text(question["yaml"], question.get("base"))
        if question.get("set"):
            config = OmegaConf.merge(config, question["set"])
    only = question.get("only")
    return {"keys": {str(key): resolved(config, key) for key in config.keys() if not only or key in only}}


for line in sys.stdin:
    try:
        out = answer(json.loads(line))
    except Exception as error:
        out = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(out), flush=True)
