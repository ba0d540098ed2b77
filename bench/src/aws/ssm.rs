//! Parameters by rule, so that ten thousand tenants cost no memory: `/ENVIRONMENT/consumer_sqs` and `/ENVIRONMENT/consumer_ddb`.
//!
//! Environments are `silo`, `pool-N`, `own-NNNNNNN` (a tenant with a queue of its own) and `basic-NNNNNNN` (one that shares
//! the queue of `pool-1`); all others are unknown.

use serde::Deserialize;
use serde_json::{Value, json};

use super::cloud::{Cloud, Failure, Outcome};

/// The digits of a tenant's number.
const DIGITS: usize = 7;

/// What the parameter of this name holds.
fn value(name: &str) -> Option<String> {
    let (environment, parameter) = name.strip_prefix('/')?.split_once('/')?;
    let numbered = |prefix: &str| {
        let number = environment.strip_prefix(prefix);
        number.is_some_and(|number| number.len() == DIGITS && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let pooled = numbered("basic-");
    if !(pooled || numbered("own-") || environment == "silo" || environment.starts_with("pool-")) {
        return None;
    }
    let place = if pooled { "pool-1" } else { environment };
    match parameter {
        "consumer_sqs" => Some(super::arn("sqs", &format!("consumer-{place}"))),
        "consumer_ddb" => Some(super::arn("dynamodb", &format!("table/consumer-{place}"))),
        _ => None,
    }
}

fn parameter(name: &str, value: &str) -> Value {
    let arn = super::arn("ssm", &format!("parameter{name}"));
    json!({"Name": name, "Type": "String", "Value": value, "Version": 1, "ARN": arn, "DataType": "text"})
}

impl Cloud {
    pub(super) fn get_parameter(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Get {
            name: String,
        }
        let Get { name } = serde_json::from_slice(body)?;
        let value = value(&name).ok_or_else(|| Failure::refused("ParameterNotFound", ""))?;
        out.extend_from_slice(json!({"Parameter": parameter(&name, &value)}).to_string().as_bytes());
        Ok(Outcome::done(1))
    }

    pub(super) fn get_parameters(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Get {
            names: Vec<String>,
        }
        let Get { names } = serde_json::from_slice(body)?;
        let (mut found, mut invalid) = (Vec::new(), Vec::new());
        for name in &names {
            match value(name) {
                Some(value) => found.push(parameter(name, &value)),
                None => invalid.push(name),
            }
        }
        out.extend_from_slice(json!({"Parameters": found, "InvalidParameters": invalid}).to_string().as_bytes());
        Ok(Outcome::done(names.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_of_its_own_has_its_queue_a_basic_one_the_pools_and_others_nothing() {
        let queue = |environment: &str| value(&format!("/{environment}/consumer_sqs"));
        assert_eq!(queue("own-0000017").as_deref(), Some("arn:aws:sqs:eu-central-1:123456789012:consumer-own-0000017"));
        assert_eq!(queue("basic-0000001").as_deref(), Some("arn:aws:sqs:eu-central-1:123456789012:consumer-pool-1"));
        assert_eq!(
            value("/silo/consumer_ddb").as_deref(),
            Some("arn:aws:dynamodb:eu-central-1:123456789012:table/consumer-silo")
        );
        for unknown in ["nobody-0000001", "own-17", "own-000000x"] {
            assert_eq!(queue(unknown), None, "{unknown}");
        }
        assert_eq!(value("/silo/other"), None);
    }
}
