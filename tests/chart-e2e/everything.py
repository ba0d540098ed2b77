"""Values of a premium tenant with every optional object of the chart."""

from releases import Releases


def everything_on(releases: Releases, tenant: str) -> dict:
    values = releases.values("premium", tenant)
    values["resourceQuota"] = {"enabled": True}
    values["limitRange"] = {"enabled": True}
    values["podMonitor"] = {"enabled": True, "labels": {"release": "prometheus"}}
    values["infra"] = {"vars": {"cluster_name": "production", "retention_days": 14, "zones": ["a", "b"]}}
    apps = values["apps"]
    apps["producer"]["autoscaling"] = {"enabled": True, "minReplicas": 3, "maxReplicas": 6}
    apps["producer"]["podLabels"] = {"team": "plane"}
    apps["producer"]["podAnnotations"] = {"example.com/build": "123"}
    apps["producer"]["extraEnv"] = [{"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "more", "key": "secret"}}}]
    apps["consumer"]["keda"] = {
        "enabled": True,
        "queueURL": f"https://sqs.eu-west-1.amazonaws.com/123456789012/consumer-{tenant}",
    }
    apps["payments"] = {"enabled": True, "ingress": {"enabled": True}, "imagePullSecrets": ["registry"]}
    return values
