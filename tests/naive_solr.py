"""Solr's learning-to-rank module in plain loops, from its documented arithmetic: all is float32."""

import numpy as np


def naive_scores(store, model, rows):
    """The score of each row; its values are in the order in which the store names their fields."""
    return np.array([_score(store, model, row) for row in rows], np.float32)


def goes_left(node, value):
    """A comparison of Solr's trees; the slack is added when the model is loaded."""
    threshold = np.float32(np.float32(node["threshold"]) + np.float32(1e-6))
    return bool(np.float32(value) <= threshold)


def normalized(entry, value):
    """What the model sees of a feature's value."""
    if "norm" not in entry:
        return np.float32(value)
    params = entry["norm"]["params"]
    if "std" in params:
        centred = np.float32(np.float32(value) - np.float32(params["avg"]))
        return np.float32(centred / np.float32(params["std"]))
    least, most = np.float32(params["min"]), np.float32(params["max"])
    with np.errstate(over="ignore"):
        return np.float32(np.float32(np.float32(value) - least) / np.float32(most - least))


def _score(store, model, row):
    fields = []
    for feature in store:
        field = feature["params"].get("field")
        if field is not None and field not in fields:
            fields.append(field)
    values = {}
    for entry in model["features"]:
        (feature,) = (each for each in store if each["name"] == entry["name"])
        if feature["class"].endswith("ValueFeature") and "value" in feature["params"]:
            value = feature["params"]["value"]
        else:
            value = row[fields.index(feature["params"]["field"])]
            if np.isnan(value):
                value = feature["params"].get("defaultValue", "0")
        values[entry["name"]] = normalized(entry, value)
    total = np.float32(0)
    if "layers" in model["params"]:
        return _output(model["params"]["layers"], list(values.values()))
    if "weights" in model["params"]:
        for entry in model["features"]:
            weight = np.float32(model["params"]["weights"][entry["name"]])
            total = np.float32(total + np.float32(values[entry["name"]] * weight))
        return total
    for tree in model["params"]["trees"]:
        node = tree["root"]
        while "feature" in node:
            node = node["left"] if goes_left(node, values[node["feature"]]) else node["right"]
        total = np.float32(
            total + np.float32(np.float32(tree["weight"]) * np.float32(node["value"]))
        )
    return total


def _output(layers, inputs):
    for layer in layers:
        outputs = []
        for weights, bias in zip(layer["matrix"], layer["bias"], strict=True):
            total = np.float32(bias)
            for weight, value in zip(weights, inputs, strict=True):
                total = np.float32(total + np.float32(np.float32(weight) * value))
            outputs.append(np.float32(0) if layer["activation"] == "relu" and total < 0 else total)
        inputs = outputs
    (score,) = inputs
    return score
