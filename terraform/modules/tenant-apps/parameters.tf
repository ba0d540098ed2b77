# The tenant's registration: the services find its queue and table by these two parameters, and a pool serves only
# tenants that have them. A pooled tenant is registered on the pool's queue and table.

resource "aws_ssm_parameter" "queue" {
  # checkov:skip=CKV2_AWS_34:An ARN is no secret, and reading it must not need a key.
  # checkov:skip=CKV_AWS_337:The same.
  name           = "/${var.tenant_id}/consumer_sqs"
  description    = "ARN of the queue that takes events of ${var.tenant_id}"
  type           = "String"
  insecure_value = local.queue_arn
  tags           = local.tags

  lifecycle {
    precondition {
      condition     = !local.is_pool || var.enable_consumer
      error_message = "${var.tenant_id} is a pool: its queue and table are what pooled tenants share, so enable_consumer must be true."
    }

    precondition {
      condition     = !local.uses_pool || can(regex("^arn:${local.partition}:sqs:${local.region}:${local.account}:[A-Za-z0-9_-]+$", local.pool_queue_arn))
      error_message = "${var.tenant_id} uses ${var.pool_id}, but the parameter /${var.pool_id}/consumer_sqs holds ${local.pool_queue_arn == "" ? "nothing" : "'${local.pool_queue_arn}'"} instead of the ARN of a queue in ${local.region} of account ${local.account}. Apply the pool first, or correct pool_id."
    }

    precondition {
      condition     = !(var.drop_dedicated_resources && var.enable_consumer)
      error_message = "drop_dedicated_resources is the last step of a move to the pool and must not be true while enable_consumer is: remove it."
    }

    precondition {
      condition     = !(var.drop_dedicated_resources && local.still_registered)
      error_message = "${var.tenant_id} is still registered on its own queue and table. Apply enable_consumer = false first, move what they hold, then set drop_dedicated_resources = true."
    }

    precondition {
      condition     = !(var.drop_dedicated_resources && local.still_protected)
      error_message = "The table ${local.name} is protected. Apply deletion_protection = false first, then set drop_dedicated_resources = true."
    }
  }
}

resource "aws_ssm_parameter" "table" {
  # checkov:skip=CKV2_AWS_34:An ARN is no secret, and reading it must not need a key.
  # checkov:skip=CKV_AWS_337:The same.
  name           = "/${var.tenant_id}/consumer_ddb"
  description    = "ARN of the table that holds records of ${var.tenant_id}"
  type           = "String"
  insecure_value = local.table_arn
  tags           = local.tags

  lifecycle {
    precondition {
      condition     = !local.uses_pool || can(regex("^arn:${local.partition}:dynamodb:${local.region}:${local.account}:table/[A-Za-z0-9_.-]+$", local.pool_table_arn))
      error_message = "${var.tenant_id} uses ${var.pool_id}, but the parameter /${var.pool_id}/consumer_ddb holds ${local.pool_table_arn == "" ? "nothing" : "'${local.pool_table_arn}'"} instead of the ARN of a table in ${local.region} of account ${local.account}. Apply the pool first, or correct pool_id."
    }
  }
}
