# What the module has to know of its surroundings, and what follows from the flags.

data "aws_partition" "current" {}
data "aws_caller_identity" "current" {}
data "aws_region" "current" {}

locals {
  partition = data.aws_partition.current.partition
  account   = data.aws_caller_identity.current.account_id
  region    = data.aws_region.current.name

  is_pool = startswith(var.tenant_id, "pool-")
  name    = "consumer-${var.tenant_id}"
  tags    = merge(var.tags, { tenant_id = var.tenant_id, managed_by = "tenant-apps" })

  # Whatever is not dedicated is the pool's: its queue and table, and its producer's role in the queue policy.
  uses_pool         = !local.is_pool && !(var.enable_producer && var.enable_consumer)
  producer_is_pools = !local.is_pool && !var.enable_producer
}

# An empty answer instead of an error when the pool is not there: the precondition on the parameters says it in words, and
# a tenant can still be destroyed after its pool.
data "aws_ssm_parameters_by_path" "pool" {
  count = local.uses_pool ? 1 : 0
  path  = "/${var.pool_id}"
}

locals {
  # ARNs are no secrets, though the provider marks every parameter's value as one.
  pool_parameters = local.uses_pool ? nonsensitive(zipmap(
    data.aws_ssm_parameters_by_path.pool[0].names,
    data.aws_ssm_parameters_by_path.pool[0].values,
  )) : {}
  pool_queue_arn = lookup(local.pool_parameters, "/${var.pool_id}/consumer_sqs", "")
  pool_table_arn = lookup(local.pool_parameters, "/${var.pool_id}/consumer_ddb", "")
}

# The queue and table of a tenant that has moved to the pool. Flags alone cannot tell such a tenant from one that was
# always pooled, so the account is asked; a tenant with a dedicated consumer needs no asking.
data "aws_sqs_queues" "own" {
  count             = var.enable_consumer ? 0 : 1
  queue_name_prefix = local.name
}

data "aws_dynamodb_tables" "own" {
  count = var.enable_consumer ? 0 : 1
}

data "aws_ssm_parameters_by_path" "own" {
  count = var.drop_dedicated_resources ? 1 : 0
  path  = "/${var.tenant_id}"
}

data "aws_dynamodb_table" "own" {
  count = var.drop_dedicated_resources && local.table_exists ? 1 : 0
  name  = local.name
}

locals {
  queue_exists = anytrue([for url in flatten(data.aws_sqs_queues.own[*].queue_urls) : endswith(url, "/${local.name}")])
  table_exists = contains(flatten(data.aws_dynamodb_tables.own[*].names), local.name)

  # Kept until somebody says drop: Terraform cannot see whether a queue or a table is empty.
  keeps_queue = local.queue_exists && !var.drop_dedicated_resources
  keeps_table = local.table_exists && !var.drop_dedicated_resources
  has_queue   = var.enable_consumer || local.keeps_queue
  has_table   = var.enable_consumer || local.keeps_table

  registered_on    = var.drop_dedicated_resources ? nonsensitive(data.aws_ssm_parameters_by_path.own[0].values) : []
  still_registered = anytrue([for arn in local.registered_on : endswith(arn, ":${local.name}") || endswith(arn, ":table/${local.name}")])
  still_protected  = anytrue(data.aws_dynamodb_table.own[*].deletion_protection_enabled)
}
