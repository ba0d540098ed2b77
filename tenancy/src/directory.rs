//! Which queue and which table are whose: the parameters `/ENVIRONMENT/consumer_sqs` and `/ENVIRONMENT/consumer_ddb` of SSM.
//!
//! A value is read once and kept; after its time to live it is read again in the background while the old one serves, so
//! that in steady state no request waits for SSM. One that nobody asked for until it was older than that and a tenth is read before
//! it serves, unless SSM does not answer within two seconds. Ids that do not exist are remembered for seconds, in bounded number, and
//! ids not yet known share a small budget of calls, since the whole account has 40 a second: whoever tries ids at random
//! uses up that budget and nothing else.

use std::sync::Arc;
use std::time::Duration;

use aws_types::region::Region;
use thiserror::Error;

use crate::arn::{ArnError, QueueArn, TableArn};
use crate::problem::Problem;
use crate::tenant::Environment;

mod cache;
mod fetch;
mod once;
mod wait;

use cache::{Cache, Resource};
use fetch::Fetcher;
pub use once::{ReadError, read_queue, read_table};
pub use wait::until_found;

/// Why a lookup gave nothing. Causes are logged here; callers pass the kind on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LookupError {
    /// There is no such parameter.
    #[error("there is no such parameter")]
    NotFound,
    /// The budget for ids not yet known is used up; try again in a second.
    #[error("too many lookups of unknown ids")]
    Busy,
    /// SSM did not answer, or refused.
    #[error("SSM cannot be read now")]
    Unavailable,
    /// The parameter holds something that cannot be used, such as no ARN or one of another region.
    #[error("the parameter's value cannot be used")]
    Invalid,
}

impl From<LookupError> for Problem {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::NotFound => Self::UnknownTenant,
            LookupError::Busy | LookupError::Unavailable => Self::UNAVAILABLE,
            LookupError::Invalid => Self::Unavailable(Duration::from_secs(5)),
        }
    }
}

/// The queues and tables of environments. Cheap to clone; clones share what they know.
#[derive(Debug, Clone)]
pub struct Directory {
    queues: Cache<QueueArn>,
    tables: Cache<TableArn>,
}

impl Directory {
    /// A directory that knows nothing yet.
    ///
    /// Lookups of `own` are not held against the budget for unknown ids. Values are taken as read for `ttl`, less up to a
    /// fifth of it, by chance, so that pods started together do not read together. None serves longer than `ttl` and a tenth of it
    /// while SSM can be read.
    #[must_use]
    pub fn new(ssm: aws_sdk_ssm::Client, region: &Region, own: &Environment, ttl: Duration) -> Self {
        let fetcher = Fetcher::new(ssm);
        let own = Arc::new(own.clone());
        Self {
            queues: Cache::new(fetcher.clone(), region.clone(), own.clone(), ttl),
            tables: Cache::new(fetcher, region.clone(), own, ttl),
        }
    }

    /// The queue of an environment.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub async fn queue(&self, of: &Environment) -> Result<Arc<QueueArn>, LookupError> {
        self.queues.get(of).await
    }

    /// As [`Directory::queue`], for whoever is about to turn a request away because of what is known: that may be what was true
    /// before a change. What was read longer than half a minute ago is read again, if the budget for unknown ids allows it.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub async fn queue_confirmed(&self, of: &Environment) -> Result<Arc<QueueArn>, LookupError> {
        self.queues.get_confirmed(of).await
    }

    /// The table of an environment.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub async fn table(&self, of: &Environment) -> Result<Arc<TableArn>, LookupError> {
        self.tables.get(of).await
    }

    /// Both, with one call when neither is known.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub async fn resources(&self, of: &Environment) -> Result<(Arc<QueueArn>, Arc<TableArn>), LookupError> {
        tokio::try_join!(self.queue(of), self.table(of))
    }

    /// Says that AWS does not know this queue of `of` (any more): the next lookup reads the parameter anew, at most every few
    /// seconds while it still names the same queue or cannot be read.
    pub fn queue_is_gone(&self, of: &Environment, gone: &QueueArn) {
        self.queues.forget(of, gone);
    }

    /// As [`Directory::queue_is_gone`], for a table.
    pub fn table_is_gone(&self, of: &Environment, gone: &TableArn) {
        self.tables.forget(of, gone);
    }
}

/// The last parts of the names that are looked up.
pub(crate) const PARAMETERS: &[&str] = &[QueueArn::PARAMETER, TableArn::PARAMETER];

impl Resource for QueueArn {
    const PARAMETER: &'static str = "consumer_sqs";

    fn region(&self) -> &str {
        Self::region(self)
    }
}

impl Resource for TableArn {
    const PARAMETER: &'static str = "consumer_ddb";

    fn region(&self) -> &str {
        Self::region(self)
    }
}

/// The one function that makes a parameter's name. `of` has passed the rule for ids, so no path can be smuggled in.
fn parameter_name(of: &Environment, parameter: &str) -> String {
    format!("/{of}/{parameter}")
}

/// Why a parameter's value cannot be used.
#[derive(Debug, Error)]
enum ValueError {
    #[error("it holds {0}")]
    Arn(#[from] ArnError),
    #[error("it names region {found}, this process calls {own}: the SDK would call the wrong region's queue or table")]
    Region { found: String, own: String },
}

#[cfg(test)]
#[path = "directory/tests.rs"]
mod tests;
