//! What this crate's tests share.

use tenancy::aws::{Clients, Connect};

use crate::aws::{EmbeddedAws, Options};

pub(crate) async fn embedded_aws() -> EmbeddedAws {
    EmbeddedAws::start(Options::default()).await.unwrap()
}

pub(crate) fn clients(aws: &EmbeddedAws) -> Clients {
    clients_in(aws, "eu-west-1")
}

/// The clients that the services use, with fixed credentials.
pub(crate) fn clients_in(aws: &EmbeddedAws, region: &str) -> Clients {
    Connect::with_keys(region, &aws.url(), "AKIDEXAMPLE", "secret").clients()
}
