# Who may take on the roles: the one service account TENANT-APP in the namespace TENANT, by IRSA, by Pod Identity or both.

locals {
  # Role names have 64 characters: consumer-role- and the longest tenant id make 54, so that nothing is ever cut.
  dedicated_apps = toset(compact([
    var.enable_producer ? "producer" : "",
    var.enable_consumer ? "consumer" : "",
    var.enable_payments ? "payments" : "",
  ]))
  has_roles         = length(local.dedicated_apps) > 0
  looks_up_provider = local.has_roles && var.enable_irsa && var.oidc_provider_arn == null
}

data "aws_eks_cluster" "this" {
  count = local.looks_up_provider || (local.has_roles && var.enable_pod_identity) ? 1 : 0
  name  = var.cluster_name
}

data "aws_iam_openid_connect_provider" "cluster" {
  count = local.looks_up_provider ? 1 : 0
  url   = data.aws_eks_cluster.this[0].identity[0].oidc[0].issuer
}

locals {
  oidc_provider_arn = local.looks_up_provider ? data.aws_iam_openid_connect_provider.cluster[0].arn : var.oidc_provider_arn
  # What follows oidc-provider/ in the ARN is the prefix of the token's claims in a condition.
  oidc_issuer = local.oidc_provider_arn == null ? "" : regex("oidc-provider/(.+)$", local.oidc_provider_arn)[0]
}

data "aws_iam_policy_document" "trust" {
  for_each = local.dedicated_apps

  dynamic "statement" {
    for_each = var.enable_irsa ? [local.oidc_provider_arn] : []

    content {
      sid     = "ServiceAccountToken"
      actions = ["sts:AssumeRoleWithWebIdentity"]

      principals {
        type        = "Federated"
        identifiers = [statement.value]
      }

      condition {
        test     = "StringEquals"
        variable = "${local.oidc_issuer}:sub"
        values   = ["system:serviceaccount:${var.tenant_id}:${var.tenant_id}-${each.key}"]
      }

      condition {
        test     = "StringEquals"
        variable = "${local.oidc_issuer}:aud"
        values   = ["sts.amazonaws.com"]
      }
    }
  }

  dynamic "statement" {
    for_each = var.enable_pod_identity ? [data.aws_eks_cluster.this[0].arn] : []

    content {
      sid     = "PodIdentity"
      actions = ["sts:AssumeRole", "sts:TagSession"]

      principals {
        type        = "Service"
        identifiers = ["pods.eks.amazonaws.com"]
      }

      condition {
        test     = "StringEquals"
        variable = "aws:RequestTag/eks-cluster-arn"
        values   = [statement.value]
      }

      condition {
        test     = "StringEquals"
        variable = "aws:RequestTag/kubernetes-namespace"
        values   = [var.tenant_id]
      }

      condition {
        test     = "StringEquals"
        variable = "aws:RequestTag/kubernetes-service-account"
        values   = ["${var.tenant_id}-${each.key}"]
      }
    }
  }
}

resource "aws_eks_pod_identity_association" "app" {
  for_each = var.enable_pod_identity ? local.dedicated_apps : toset([])

  cluster_name    = var.cluster_name
  namespace       = var.tenant_id
  service_account = "${var.tenant_id}-${each.key}"
  role_arn        = aws_iam_role.app[each.key].arn
  tags            = local.tags
}
