resource "aws_dynamodb_table" "consumer" {
  # checkov:skip=CKV_AWS_119:Encrypted at rest with DynamoDB's own key; a customer key would need rights on it in every role that touches the table.
  count = local.has_table ? 1 : 0

  name         = local.name
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "tenant_id"
  range_key    = "message_id"

  deletion_protection_enabled = var.deletion_protection

  attribute {
    name = "tenant_id"
    type = "S"
  }

  attribute {
    name = "message_id"
    type = "S"
  }

  # Records carry the attribute only where the consumer's RECORD_TTL_DAYS is set.
  ttl {
    attribute_name = "expires_at"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  tags = local.tags
}

locals {
  table_arn = var.enable_consumer ? aws_dynamodb_table.consumer[0].arn : local.pool_table_arn
}
