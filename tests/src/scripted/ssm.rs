//! SSM: parameters, read one by one or up to ten at a time.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::fault::Fault;
use super::op::Op;
use super::shared::{Shared, lock};
use super::wire::{Refusal, Reply};

/// Every parameter by name.
#[derive(Default)]
pub(crate) struct Ssm {
    parameters: BTreeMap<String, (String, u64)>,
}

impl Ssm {
    /// Sets a parameter and counts its version up.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        let parameter = self.parameters.entry(name.to_owned()).or_default();
        parameter.0 = value.to_owned();
        parameter.1 += 1;
    }

    pub(crate) fn delete(&mut self, name: &str) {
        self.parameters.remove(name);
    }
}

/// The names that a request asks for.
pub(crate) struct Request {
    names: Vec<String>,
}

impl Request {
    /// Reads the request and checks its names.
    pub(crate) fn read(op: Op, body: &[u8]) -> Result<Self, Refusal> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Wire {
            #[serde(default)]
            name: Option<String>,
            #[serde(default)]
            names: Vec<String>,
        }
        let wire: Wire = serde_json::from_slice(body)
            .map_err(|error| Refusal::violation("SerializationException", error.to_string()))?;
        let names = if op == Op::GetParameter { wire.name.into_iter().collect() } else { wire.names };
        if names.is_empty() || names.len() > 10 {
            let message = format!("Value at 'names' failed to satisfy constraint: 1 to 10 names, not {}", names.len());
            return Err(Refusal::violation("ValidationException", message));
        }
        names.iter().try_for_each(|name| check(name))?;
        Ok(Self { names })
    }

    /// The first name.
    pub(crate) fn first(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }
}

fn check(name: &str) -> Result<(), Refusal> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/' | b':');
    if name.is_empty() || name.len() > 2_048 || !name.bytes().all(allowed) {
        let message = format!("Parameter name: only letters, digits and the symbols _ . - / are allowed ({name:?})");
        return Err(Refusal::violation("ValidationException", message));
    }
    let path = name.strip_prefix('/');
    if path.is_none() && name.contains('/') {
        return Err(Refusal::violation(
            "ValidationException",
            format!("Parameter name must be a fully qualified name ({name:?})"),
        ));
    }
    if path.unwrap_or(name).split('/').count() > 15 || name.contains("//") || name.ends_with('/') {
        return Err(Refusal::violation(
            "ValidationException",
            format!("Parameter name has empty or too many levels ({name:?})"),
        ));
    }
    let lower = path.unwrap_or(name).to_ascii_lowercase();
    if lower.starts_with("aws") || lower.starts_with("ssm") {
        return Err(Refusal::violation(
            "AccessDeniedException",
            format!("No access to reserved parameter name: {name}."),
        ));
    }
    Ok(())
}

/// Answers a request.
pub(crate) fn execute(shared: &Shared, op: Op, request: &Request, fault: Option<&Fault>) -> Result<Reply, Refusal> {
    let ssm = lock(&shared.ssm);
    let show = |name: &String| {
        let (value, version) = ssm.parameters.get(name)?;
        let arn = shared.arn("ssm", &format!("parameter{name}"));
        Some(
            json!({"Name": name, "Type": "String", "Value": value, "Version": version, "DataType": "text", "ARN": arn}),
        )
    };
    let body = if op == Op::GetParameter {
        let found = request.names.first().and_then(show);
        json!({"Parameter": found.ok_or_else(|| super::fault::gone(op, false))?})
    } else {
        let forgotten = |at: usize, name: &str| match fault {
            Some(Fault::ForgetEntries { which, .. }) => which.picks(at, name),
            _ => false,
        };
        let names = request.names.iter().enumerate().filter(|(at, name)| !forgotten(*at, name)).map(|(_, name)| name);
        let found: Vec<Value> = names.clone().filter_map(show).collect();
        let missing: Vec<&String> = names.filter(|name| !ssm.parameters.contains_key(*name)).collect();
        json!({"Parameters": found, "InvalidParameters": missing})
    };
    Ok(Reply { content_type: "application/x-amz-json-1.1", ..Reply::json(body.to_string()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_ssm_refuses_are_violations() {
        for name in ["", "/a b", "/{x}/q", "acme/q", "/awsome/q", "/SSMith/q", "/a//b", "/tést"] {
            assert!(check(name).is_err_and(|refusal| refusal.violation), "{name}");
        }
        assert_eq!(check("/pool-1/consumer_sqs"), Ok(()));
    }
}
