variable "tenant_id" {
  description = "The environment to make resources for: a tenant's id, or a pool (pool-1 to pool-9999)."
  type        = string
  nullable    = false

  # The rule is the services' and the chart's own: the id becomes a header value, a namespace, a path in SSM and part of role names.
  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$", var.tenant_id))
    error_message = "tenant_id must be 1 to 40 characters, small letters a-z, digits and dashes, starting with a letter and not ending with a dash (acme, acme-2)."
  }

  validation {
    condition     = !strcontains(var.tenant_id, "--")
    error_message = "tenant_id must not contain two dashes in a row."
  }

  validation {
    condition     = !startswith(var.tenant_id, "aws") && !startswith(var.tenant_id, "ssm")
    error_message = "tenant_id must not start with aws or ssm: Parameter Store refuses such names."
  }

  validation {
    condition     = var.tenant_id != "default" && !startswith(var.tenant_id, "kube-") && !startswith(var.tenant_id, "flux-")
    error_message = "tenant_id must not be default or start with kube- or flux-: it becomes a namespace, and those are the cluster's own."
  }

  validation {
    condition     = !startswith(var.tenant_id, "pool-") || can(regex("^pool-[1-9][0-9]{0,3}$", var.tenant_id))
    error_message = "A tenant_id that starts with pool- names a pool and must be pool-1 to pool-9999."
  }
}

variable "enable_producer" {
  description = "Whether the producer is dedicated to this environment: it gets a role of its own."
  type        = bool
  default     = false
  nullable    = false
}

variable "enable_consumer" {
  description = "Whether the consumer is dedicated to this environment: it gets a role of its own, and the environment a queue and a table."
  type        = bool
  default     = false
  nullable    = false
}

variable "enable_payments" {
  description = "Whether payments is dedicated to this environment: it gets a role of its own."
  type        = bool
  default     = false
  nullable    = false
}

variable "pool_id" {
  description = "The pool that runs what is not dedicated. Without effect for a pool itself and where producer and consumer are dedicated."
  type        = string
  default     = "pool-1"
  nullable    = false

  validation {
    condition     = can(regex("^pool-[1-9][0-9]{0,3}$", var.pool_id))
    error_message = "pool_id must be pool-1 to pool-9999."
  }
}

variable "deletion_protection" {
  description = "Whether DynamoDB refuses to delete the table. Where it is true, destroying the environment fails at its table until it was set to false and applied."
  type        = bool
  default     = true
  nullable    = false
}

variable "drop_dedicated_resources" {
  description = "The second step of a move to the pool: delete the queue and table that were kept when enable_consumer became false. Refused before the first step was applied, and while the table is protected."
  type        = bool
  default     = false
  nullable    = false
}

variable "cluster_name" {
  description = "The EKS cluster whose service accounts take on the roles. Looked up unless oidc_provider_arn is given."
  type        = string
  default     = "eks-saas-gitops"
  nullable    = false
}

variable "enable_irsa" {
  description = "Whether the roles trust the cluster's OIDC provider (IAM roles for service accounts)."
  type        = bool
  default     = true
  nullable    = false
}

variable "oidc_provider_arn" {
  description = "ARN of the cluster's IAM OIDC provider. Null: found by cluster_name."
  type        = string
  default     = null

  validation {
    condition     = var.oidc_provider_arn == null || can(regex("^arn:[a-z-]+:iam::[0-9]{12}:oidc-provider/.+$", var.oidc_provider_arn))
    error_message = "oidc_provider_arn must look like arn:aws:iam::123456789012:oidc-provider/ISSUER, the issuer without https://."
  }
}

variable "enable_pod_identity" {
  description = "Whether the roles trust EKS Pod Identity and are associated with the service accounts in cluster_name."
  type        = bool
  default     = false
  nullable    = false
}

variable "record_reads" {
  description = "Whether the consumer may answer GET /consumer/messages (its setting RECORD_READS=on): adds dynamodb:Query."
  type        = bool
  default     = false
  nullable    = false
}

variable "queue_kms_key_arn" {
  description = "KMS key of the queue that the environment uses: its own queue is encrypted with it; on the pool's queue, say the pool's key. Null: keys managed by SQS."
  type        = string
  default     = null

  validation {
    condition     = var.queue_kms_key_arn == null || can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/.+$", var.queue_kms_key_arn))
    error_message = "queue_kms_key_arn must be the ARN of a key (arn:aws:kms:eu-west-1:123456789012:key/ID); an alias cannot be named in an IAM policy."
  }
}

variable "max_message_bytes" {
  description = "Largest message that the queue takes, body and attributes, in bytes. MAX_MESSAGE_BYTES of the services must not exceed it."
  type        = number
  default     = 262144
  nullable    = false

  validation {
    condition     = var.max_message_bytes >= 1024 && var.max_message_bytes <= 262144 && floor(var.max_message_bytes) == var.max_message_bytes
    error_message = "max_message_bytes must be a whole number from 1024 to 262144, the most that this version of the AWS provider can set."
  }
}

variable "visibility_timeout_seconds" {
  description = "How long a received message stays hidden, in seconds: the default of the queue. The consumer sends its own VISIBILITY_TIMEOUT with each receive."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = var.visibility_timeout_seconds >= 1 && var.visibility_timeout_seconds <= 43200 && floor(var.visibility_timeout_seconds) == var.visibility_timeout_seconds
    error_message = "visibility_timeout_seconds must be a whole number from 1 to 43200."
  }
}

variable "message_retention_seconds" {
  description = "How long the queue keeps a message that nobody reads, in seconds. The dead-letter queue keeps its messages 14 days, counted from when they were first sent."
  type        = number
  default     = 345600
  nullable    = false

  validation {
    condition     = var.message_retention_seconds >= 60 && var.message_retention_seconds <= 1209600 && floor(var.message_retention_seconds) == var.message_retention_seconds
    error_message = "message_retention_seconds must be a whole number from 60 to 1209600 (14 days)."
  }
}

variable "tags" {
  description = "Tags for everything that can carry them, beside tenant_id and managed_by."
  type        = map(string)
  default     = {}
  nullable    = false
}
