//! An AWS endpoint for benchmarks: SQS, DynamoDB, SSM and STS in one process, in memory, one thread, every operation O(1) at any
//! depth. It does the work (stores, hides, deletes, answers with the right digests), counts calls by operation, and can be
//! slow or throttle: all of it, or a single queue.
//!
//! What it does not do: signatures, permissions, FIFO queues, limits other than the sizes of batches; an item's attributes
//! besides its key are read and dropped.

mod cloud;
mod control;
mod dynamodb;
mod limits;
mod md5;
mod op;
mod queue;
mod server;
mod sqs;
mod ssm;
mod sts;

pub(crate) use server::serve;

/// The account that everything is in.
const ACCOUNT: &str = "123456789012";

/// The region that everything is in.
pub(crate) const REGION: &str = "eu-central-1";

fn arn(service: &str, rest: &str) -> String {
    format!("arn:aws:{service}:{REGION}:{ACCOUNT}:{rest}")
}
