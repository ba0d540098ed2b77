resource "aws_sqs_queue" "consumer" {
  count = local.has_queue ? 1 : 0

  name                       = local.name
  visibility_timeout_seconds = var.visibility_timeout_seconds
  receive_wait_time_seconds  = 20
  message_retention_seconds  = var.message_retention_seconds
  max_message_size           = var.max_message_bytes

  sqs_managed_sse_enabled           = var.queue_kms_key_arn == null ? true : null
  kms_master_key_id                 = var.queue_kms_key_arn
  kms_data_key_reuse_period_seconds = 300

  # A message that cannot be stored is handed out ten times and then set aside, never dropped.
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letter[0].arn
    maxReceiveCount     = 10
  })

  tags = local.tags
}

resource "aws_sqs_queue" "dead_letter" {
  count = local.has_queue ? 1 : 0

  name                      = "${local.name}-dlq"
  message_retention_seconds = 1209600
  max_message_size          = var.max_message_bytes

  sqs_managed_sse_enabled           = var.queue_kms_key_arn == null ? true : null
  kms_master_key_id                 = var.queue_kms_key_arn
  kms_data_key_reuse_period_seconds = 300

  tags = local.tags
}

# Only this tenant's queue may set messages aside here, and only there can they be sent back to. A resource of its own,
# because the two queues would otherwise need each other's ARN to be created.
resource "aws_sqs_queue_redrive_allow_policy" "dead_letter" {
  count = local.has_queue ? 1 : 0

  queue_url = aws_sqs_queue.dead_letter[0].url
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.consumer[0].arn]
  })
}

# The pool's producer serves any number of tenants; a policy attached to its role for each would end at ten. So each queue
# names the role instead. The right stays with a queue that is kept after a move, as long as producers may remember it.
data "aws_iam_policy_document" "queue" {
  count = local.has_queue && local.producer_is_pools ? 1 : 0

  statement {
    sid       = "PooledProducerSends"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.consumer[0].arn]

    principals {
      type        = "AWS"
      identifiers = [local.pooled_producer_role_arn]
    }
  }
}

resource "aws_sqs_queue_policy" "consumer" {
  count = local.has_queue && local.producer_is_pools ? 1 : 0

  queue_url = aws_sqs_queue.consumer[0].url
  policy    = data.aws_iam_policy_document.queue[0].json
}

# The same right on the key, by a grant: neither the key's policy nor the pool's role is this tenant's to change.
resource "aws_kms_grant" "pooled_producer" {
  count = local.has_queue && local.producer_is_pools && var.queue_kms_key_arn != null ? 1 : 0

  name              = "producer-${var.pool_id}-${local.name}"
  key_id            = var.queue_kms_key_arn
  grantee_principal = local.pooled_producer_role_arn
  operations        = ["GenerateDataKey", "Decrypt"]
}

locals {
  pooled_producer_role_arn = "arn:${local.partition}:iam::${local.account}:role/producer-role-${var.pool_id}"
  queue_arn                = var.enable_consumer ? aws_sqs_queue.consumer[0].arn : local.pool_queue_arn

  # Of a dedicated consumer's own queue; without one nobody asks for it.
  dead_letter_arn = var.enable_consumer ? aws_sqs_queue.dead_letter[0].arn : local.pool_queue_arn
}
