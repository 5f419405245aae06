"""Recipes: how long rendering one takes, and listing five hundred."""

import json
import string
from collections.abc import Iterator
from functools import partial
from itertools import cycle

from bench.figure import Goal, Row
from bench.figures.listing import p95_ms
from bench.stage import Stage
from bench.timing import percentile, seconds
from clusterra.adapters.template_files import shipped, template_files
from clusterra.adapters.yaml_text import read_yaml
from clusterra.core.templates.read import read_template
from clusterra.core.templates.render import Context, render
from clusterra.core.templates.template import TemplateKind

TIMES = 600
MANY = 500
LISTED, LISTED_EVERY = 200, 0.05
CONTEXT = Context(user_email="ana@lab.example", cluster_id="c", run_id="r", files="/files")


def rendering(_: Stage) -> Iterator[Row]:
    """Render each of our own recipes in turn, beside Python's own templates with the same text."""
    files = [*template_files(shipped())]
    ours = [read_template(read_yaml(each.text)) for each in files]
    ours = [each for each in ours if each.kind is TemplateKind.BATCH]
    plain = [string.Template(each.document["script"]) for each in ours]
    taken = [
        seconds(partial(render, recipe, CONTEXT))
        for recipe, _ in zip(cycle(ours), range(TIMES), strict=False)
    ]
    beside = [
        seconds(partial(text.safe_substitute, {}))
        for text, _ in zip(cycle(plain), range(TIMES), strict=False)
    ]
    yield Row(
        name="template-render",
        what="p95 of rendering a recipe of ours",
        ours=percentile(taken, 95) * 1e3,
        unit="ms",
        beside=percentile(beside, 95) * 1e3,
        beside_what="the same texts through Python's string.Template, which checks nothing",
        goal=Goal(bound=2),
    )


def listing(stage: Stage) -> Iterator[Row]:
    """List five hundred, imported by copying one of ours under as many names."""
    plane = stage.small.plane
    text = next(each.text for each in template_files(shipped()) if "python-step" in each.name)
    files = [
        {"name": f"{n}.yaml", "text": text.replace("id: python-step", f"id: recipe-{n:03}", 1)}
        for n in range(MANY)
    ]
    with plane.client() as client:
        body = json.dumps({"files": files}).encode()
        brought = client.send(client.request("POST", "/v1/templates/import", body))
        report = json.loads(brought.body)
        if report["loaded"] != MANY:
            raise RuntimeError(brought.body.decode()[:500])
        health = p95_ms(client, ["/healthz"], LISTED, LISTED_EVERY)
        ours = p95_ms(client, ["/v1/templates"], LISTED, LISTED_EVERY)
    yield Row(
        name="template-list",
        what="p95 of listing 500 recipes",
        ours=ours,
        unit="ms",
        beside=health,
        beside_what="p95 of /healthz of the same server",
        goal=Goal(bound=20),
    )
