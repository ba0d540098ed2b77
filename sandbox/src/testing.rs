//! What this crate's tests share.

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_types::region::Region;
use tenancy::aws::{Clients, Connect, Endpoints};

use crate::aws::{EmbeddedAws, Options};

pub(crate) async fn embedded_aws() -> EmbeddedAws {
    EmbeddedAws::start(Options::default()).await.unwrap()
}

pub(crate) fn clients(aws: &EmbeddedAws) -> Clients {
    clients_in(aws, "eu-west-1")
}

/// The clients that the services use, with fixed credentials.
pub(crate) fn clients_in(aws: &EmbeddedAws, region: &'static str) -> Clients {
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
    let connect = Connect {
        region: Region::from_static(region),
        endpoints: Endpoints::all(&aws.url()),
        credentials: SharedCredentialsProvider::new(credentials),
    };
    connect.clients()
}
