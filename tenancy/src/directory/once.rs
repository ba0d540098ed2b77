//! Reading one parameter now: for commands that run once and tell a person what went wrong.

use aws_types::region::Region;
use thiserror::Error;

use super::cache::{Resource, parse};
use super::{ValueError, parameter_name};
use crate::arn::{QueueArn, TableArn};
use crate::aws::{Fault, cut, describe, fault_of};
use crate::tenant::Environment;

/// Why a parameter gave nothing that can be used.
#[derive(Debug, Error)]
pub enum ReadError {
    /// SSM did not answer, or refused.
    #[error("{text}")]
    Call {
        /// What helps against it.
        fault: Fault,
        /// The parameter's name.
        parameter: String,
        /// The whole story.
        text: String,
    },
    /// It holds something else than it should.
    #[error("the parameter {parameter} cannot be used: {reason}")]
    Value {
        /// The parameter's name.
        parameter: String,
        /// What is wrong with its value.
        reason: String,
    },
}

/// The queue of an environment; `None` when there is no such parameter. One call, not tried again.
///
/// # Errors
/// See [`ReadError`].
pub async fn read_queue(
    ssm: &aws_sdk_ssm::Client,
    region: &Region,
    of: &Environment,
) -> Result<Option<QueueArn>, ReadError> {
    read(ssm, region, of).await
}

/// As [`read_queue`], for the table.
///
/// # Errors
/// See [`ReadError`].
pub async fn read_table(
    ssm: &aws_sdk_ssm::Client,
    region: &Region,
    of: &Environment,
) -> Result<Option<TableArn>, ReadError> {
    read(ssm, region, of).await
}

async fn read<T: Resource>(
    ssm: &aws_sdk_ssm::Client,
    region: &Region,
    of: &Environment,
) -> Result<Option<T>, ReadError> {
    let parameter = parameter_name(of, T::PARAMETER);
    let answer = match ssm.get_parameters().names(&parameter).send().await {
        Ok(answer) => answer,
        Err(error) => {
            let text = describe(&error);
            return Err(ReadError::Call { fault: fault_of(&error), parameter, text });
        }
    };
    let is_it = |name: Option<&str>| name == Some(parameter.as_str());
    let found = answer.parameters.unwrap_or_default().into_iter().find(|found| is_it(found.name()));
    let Some(value) = found.and_then(|found| found.value) else {
        if answer.invalid_parameters.unwrap_or_default().iter().any(|name| is_it(Some(name.as_str()))) {
            return Ok(None);
        }
        // Only a name that SSM says it does not know is not there. What its answer leaves out may well be.
        let text = "SSM's answer says nothing of it".to_owned();
        return Err(ReadError::Call { fault: Fault::Transient, parameter, text });
    };
    match parse(&value, region) {
        Ok(resource) => Ok(Some(resource)),
        Err(error @ (ValueError::Arn(_) | ValueError::Region { .. })) => Err(ReadError::Value {
            parameter,
            reason: format!("{} ({:?})", cut(&error.to_string(), 100), cut(&value, 100)),
        }),
    }
}
