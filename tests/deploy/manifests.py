"""Reads deploy/kubernetes as `kubectl kustomize` renders it, as far as those files need: resources,
namespace, and config maps made of files (under their plain names, without the hash)."""
import pathlib


def documents(text):
    """The YAML documents of a text. A key that is there twice is an error, as the API server has it."""
    import yaml

    class Strict(yaml.SafeLoader):
        def construct_mapping(self, node, deep=False):
            keys = [self.construct_object(key, deep) for key, _ in node.value]
            assert len(keys) == len(set(keys)), f"a key is there twice: {node.start_mark}"
            return super().construct_mapping(node, deep)

    return list(yaml.load_all(text, Strict))


def render(folder):
    folder = pathlib.Path(folder)
    (kustomization,) = documents((folder / "kustomization.yaml").read_text())
    objects = [found for name in kustomization["resources"]
               for found in documents((folder / name).read_text())]
    for made in kustomization.get("configMapGenerator", []):
        data = {name: (folder / name).read_text() for name in made["files"]}
        objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": made["name"]},
                        "data": data})
    for found in objects:
        if found["kind"] != "Namespace":
            found["metadata"]["namespace"] = kustomization["namespace"]
    return objects


class Manifests:
    """The objects, by kind and name, and what the tests ask of them."""

    def __init__(self, objects):
        self.objects = objects

    def all(self, kind):
        return [found for found in self.objects if found["kind"] == kind]

    def one(self, kind, name="dpledger"):
        (found,) = [found for found in self.all(kind) if found["metadata"]["name"] == name]
        return found

    @property
    def set(self):
        return self.one("StatefulSet")["spec"]

    @property
    def pod(self):
        return self.set["template"]["spec"]

    @property
    def server(self):
        (container,) = self.pod["containers"]
        return container

    @property
    def config(self):
        """The flags of the config file: name -> text of the value."""
        text = self.one("ConfigMap", "dpledger-config")["data"]["server.toml"]
        lines = [line.split("=", 1) for line in text.splitlines() if line and line[0] != "#"]
        return {name.strip(): value.strip().strip('"') for name, value in lines}
