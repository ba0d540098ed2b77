output "producer" {
  description = "The dedicated producer: irsa_role is its role's ARN, empty where the pool's producer serves the tenant."
  value       = { irsa_role = var.enable_producer ? aws_iam_role.app["producer"].arn : "" }
}

output "consumer" {
  description = "The dedicated consumer: irsa_role is its role's ARN, empty where the pool's consumer serves the tenant."
  value       = { irsa_role = var.enable_consumer ? aws_iam_role.app["consumer"].arn : "" }
}

output "payments" {
  description = "The dedicated payments: irsa_role is its role's ARN, empty where the pool's payments serves the tenant."
  value       = { irsa_role = var.enable_payments ? aws_iam_role.app["payments"].arn : "" }
}

output "queue" {
  description = "The queue that the tenant is registered on. The URLs (for scaling on its depth, and to look into the dead-letter queue) are empty where it is the pool's."
  value = {
    arn             = local.queue_arn
    dedicated       = var.enable_consumer
    url             = var.enable_consumer ? aws_sqs_queue.consumer[0].url : ""
    dead_letter_arn = var.enable_consumer ? aws_sqs_queue.dead_letter[0].arn : ""
    dead_letter_url = var.enable_consumer ? aws_sqs_queue.dead_letter[0].url : ""
  }
}

output "table" {
  description = "The table that the tenant is registered on."
  value = {
    arn       = local.table_arn
    dedicated = var.enable_consumer
  }
}

output "kept" {
  description = "The queue and table that were the tenant's own before it moved to the pool and wait for drop_dedicated_resources; empty where there are none."
  value = {
    queue_url       = local.keeps_queue ? aws_sqs_queue.consumer[0].url : ""
    dead_letter_url = local.keeps_queue ? aws_sqs_queue.dead_letter[0].url : ""
    table_arn       = local.keeps_table ? aws_dynamodb_table.consumer[0].arn : ""
  }
}
