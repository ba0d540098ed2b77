//! Setting an AWS up: [`Builder`].

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::Aws;
use super::server::Server;
use super::shared::Shared;

/// How an [`Aws`] is set up.
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `start`"]
pub struct Builder {
    region: String,
    account: String,
    keep_log: bool,
    dead_polls_take: bool,
}

impl Builder {
    /// The region of its ARNs. Default `eu-central-1`.
    pub fn region(mut self, region: &str) -> Self {
        self.region = region.to_owned();
        self
    }

    /// Counts calls, but keeps none of them: for benchmarks, whose memory has to stay flat.
    pub fn without_log(mut self) -> Self {
        self.keep_log = false;
        self
    }

    /// A poll whose client has gone takes nothing. By default it does, as with SQS, and hides it for the visibility timeout.
    pub fn dead_polls_take_nothing(mut self) -> Self {
        self.dead_polls_take = false;
        self
    }

    /// Starts it on a free port of the loopback interface. Panics when there is none.
    #[must_use]
    pub fn start(self) -> Aws {
        let (listener, address) = Server::bind().expect("a free port on loopback");
        let endpoint = format!("http://{address}");
        let shared = Arc::new(Shared::new(&self.region, &self.account, endpoint, self.keep_log, self.dead_polls_take));
        let server =
            Server::start(Arc::clone(&shared), listener, address).expect("a thread and a runtime for the scripted AWS");
        Aws { shared, server: tokio::sync::Mutex::new(server), unchecked: AtomicBool::new(false) }
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self { region: "eu-central-1".into(), account: "123456789012".into(), keep_log: true, dead_polls_take: true }
    }
}
