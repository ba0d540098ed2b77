"""What a user reads: the README, the schema and values.yaml say the same."""

import json

import yaml

import values_table
from conftest import CHART


def test_the_readme_has_the_table_of_todays_values():
    readme = (CHART / "README.md").read_text()
    assert values_table.with_table(readme) == readme


def leaves(values, path=()):
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, key))
        else:
            yield ".".join((*path, key))


def test_every_value_has_exactly_one_row():
    rows = [path for path, *_ in values_table.rows()]
    assert len(rows) == len(set(rows)) > 100
    for leaf in leaves(yaml.safe_load((CHART / "values.yaml").read_text())):
        assert len([row for row in rows if leaf == row or leaf.startswith(row + ".")]) == 1, leaf


def schema_paths(node, schema, path=()):
    for key, child in values_table._properties(node, schema).items():
        below = values_table._properties(child, schema)
        if below:
            yield from schema_paths(child, schema, (*path, key))
        else:
            yield ".".join((*path, key))


def test_every_value_that_the_schema_knows_is_documented():
    schema = json.loads((CHART / "values.schema.json").read_text())
    rows = [path for path, *_ in values_table.rows()]
    for path in schema_paths(schema, schema):
        if path.startswith("apps."):
            path = path.replace(path.split(".")[1], "X", 1).replace("apps.X", "appDefaults")
        assert [row for row in rows if path == row or path.startswith(row + ".")], path


def test_each_key_that_users_have_is_a_value():
    rows = {path for path, *_ in values_table.rows()}
    per_app = """enabled imagePullSecrets replicaCount image.repository image.pullPolicy image.tag serviceAccount.create podAnnotations
        podSecurityContext securityContext service.type service.port resources autoscaling.enabled autoscaling.minReplicas
        autoscaling.maxReplicas autoscaling.targetCPUUtilizationPercentage autoscaling.targetMemoryUtilizationPercentage affinity envId
        ingress.enabled ingress.className ingress.pathType ingress.annotations ingress.tls""".split()
    expected = {f"appDefaults.{key}" for key in per_app}
    expected |= {"awsAccountId", "tenantId", "global.nodeSelector", "global.tolerations", "infra.tfVersion"}
    assert expected <= rows
    assert {"apps.producer.enabled", "apps.consumer.enabled", "apps.payments.enabled", "apps.payments.ingress.enabled"} <= rows
