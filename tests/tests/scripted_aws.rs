//! The scripted AWS, seen through the SDK that the services use.

mod scripted_aws_parts;
