# No provider block: region, credentials and endpoints come from the environment of whoever runs the module (AWS_REGION,
# AWS_ENDPOINT_URL, the runner's service account), so that the same files serve any account, partition or emulator.
terraform {
  # Nothing here needs a newer language: tofu-controller's runners carry Terraform 1.5, OpenTofu begins at 1.6.
  required_version = ">= 1.5.7"

  required_providers {
    aws = {
      source = "hashicorp/aws"
      # From this line on the provider waits out the minute in which SQS refuses a deleted queue's name.
      version = "~> 5.100"
    }
  }
}
