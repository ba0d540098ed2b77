# One role an app, with exactly the calls that the app makes on exactly the resources that it makes them on.
# SendMessageBatch and DeleteMessageBatch are authorised by the names of the single calls.

resource "aws_iam_role" "app" {
  for_each = local.dedicated_apps

  name               = "${each.key}-role-${var.tenant_id}"
  description        = "Taken on by the service account ${var.tenant_id}-${each.key} in the namespace ${var.tenant_id}"
  assume_role_policy = data.aws_iam_policy_document.trust[each.key].json
  tags               = local.tags

  lifecycle {
    precondition {
      condition     = var.enable_irsa || var.enable_pod_identity
      error_message = "Nobody could take on the role ${each.key}-role-${var.tenant_id}: set enable_irsa or enable_pod_identity."
    }
  }
}

resource "aws_iam_role_policy" "app" {
  for_each = local.dedicated_apps

  name   = each.key
  role   = aws_iam_role.app[each.key].name
  policy = local.app_policies[each.key]
}

locals {
  app_policies = {
    producer = data.aws_iam_policy_document.producer.json
    consumer = data.aws_iam_policy_document.consumer.json
    payments = data.aws_iam_policy_document.payments.json
  }

  # A pool looks up where each of its tenants is registered; a tenant's own deployment reads its own parameter alone.
  registrations = local.is_pool ? "arn:${local.partition}:ssm:${local.region}:${local.account}:parameter/*/consumer_sqs" : aws_ssm_parameter.queue.arn

  # Keys of the one queue that the environment's apps use.
  sends_encrypted    = var.queue_kms_key_arn == null ? [] : [["kms:Decrypt", "kms:GenerateDataKey"]]
  receives_encrypted = var.queue_kms_key_arn == null ? [] : [["kms:Decrypt"]]
}

data "aws_iam_policy_document" "producer" {
  statement {
    sid       = "FindQueue"
    actions   = ["ssm:GetParameters"]
    resources = [local.registrations]
  }

  statement {
    sid       = "Send"
    actions   = ["sqs:SendMessage"]
    resources = [local.queue_arn]
  }

  dynamic "statement" {
    for_each = local.sends_encrypted

    content {
      sid       = "Encrypt"
      actions   = statement.value
      resources = [var.queue_kms_key_arn]
    }
  }
}

data "aws_iam_policy_document" "consumer" {
  statement {
    sid       = "FindQueueAndTable"
    actions   = ["ssm:GetParameters"]
    resources = [aws_ssm_parameter.queue.arn, aws_ssm_parameter.table.arn]
  }

  statement {
    sid       = "Drain"
    actions   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"]
    resources = [local.queue_arn]
  }

  # How much waits and how much was set aside, for the metrics.
  statement {
    sid       = "Watch"
    actions   = ["sqs:GetQueueAttributes"]
    resources = [local.queue_arn, local.dead_letter_arn]
  }

  statement {
    sid       = "Store"
    actions   = concat(["dynamodb:BatchWriteItem"], var.record_reads ? ["dynamodb:Query"] : [])
    resources = [local.table_arn]
  }

  dynamic "statement" {
    for_each = local.receives_encrypted

    content {
      sid       = "Decrypt"
      actions   = statement.value
      resources = [var.queue_kms_key_arn]
    }
  }
}

data "aws_iam_policy_document" "payments" {
  statement {
    sid       = "FindQueueAndTable"
    actions   = ["ssm:GetParameters"]
    resources = [local.registrations, aws_ssm_parameter.table.arn]
  }

  statement {
    sid       = "Send"
    actions   = ["sqs:SendMessage"]
    resources = [local.queue_arn]
  }

  statement {
    sid       = "ClaimAndRead"
    actions   = ["dynamodb:GetItem", "dynamodb:PutItem"]
    resources = [local.table_arn]

    # On a table that others share, a tenant's own deployment reaches its own rows only.
    dynamic "condition" {
      for_each = local.is_pool || var.enable_consumer ? [] : [var.tenant_id]

      content {
        test     = "ForAllValues:StringEquals"
        variable = "dynamodb:LeadingKeys"
        values   = [condition.value]
      }
    }
  }

  dynamic "statement" {
    for_each = local.sends_encrypted

    content {
      sid       = "Encrypt"
      actions   = statement.value
      resources = [var.queue_kms_key_arn]
    }
  }
}
