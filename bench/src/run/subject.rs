//! What is measured: our services, and what a team would run instead. Each is a process with an environment.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::aws::Aws;
use super::places::Places;
use crate::process::{Usage, usage};
use crate::{aws, http};

/// How long a process may take until it answers.
const PATIENCE: Duration = Duration::from_secs(60);

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Our producer.
    Producer,
    /// Our consumer.
    Consumer,
    /// The reference's producer: Flask and boto3, a lookup a request.
    ReferenceProducer,
    /// The reference's consumer: one thread, put and delete one by one.
    ReferenceConsumer,
    /// The SDK behind axum, one `SendMessage` a request.
    Bare,
    /// `sqs-consumer` with a batch handler and so many pollers.
    Node(u32),
    /// Bento, `aws_sqs` to `aws_dynamodb`, with so many inputs.
    Bento(u32),
}

impl Subject {
    /// Its name in results and tables.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Producer => "producer".to_owned(),
            Self::Consumer => "consumer".to_owned(),
            Self::ReferenceProducer => "reference producer (Python)".to_owned(),
            Self::ReferenceConsumer => "reference consumer (Python)".to_owned(),
            Self::Bare => "bare SDK behind axum".to_owned(),
            Self::Node(pollers) => format!("sqs-consumer (Node), {pollers} pollers"),
            Self::Bento(inputs) => format!("Bento, {inputs} inputs"),
        }
    }

    /// Why it cannot be run here, if it cannot.
    pub(crate) fn missing(self, places: &Places) -> Option<String> {
        let (file, how) = match self {
            Self::Producer => (places.release("producer"), "make release"),
            Self::Consumer => (places.release("consumer"), "make release"),
            Self::Bare => (places.release("bench-bare"), "make bench-build"),
            Self::ReferenceProducer | Self::ReferenceConsumer => {
                if places.reference.is_none() {
                    return Some("REFERENCE_DIR does not name a checkout with tenant-microservices/".to_owned());
                }
                (places.cache("reference/bin/flask"), "make bench-peers")
            }
            Self::Node(_) => (places.cache("node/node_modules/sqs-consumer/package.json"), "make bench-peers"),
            Self::Bento(_) => (places.cache("bento"), "make bench-peers BENTO_DIR=CHECKOUT"),
        };
        (!file.exists()).then(|| format!("{} is missing; {how} makes it", file.display()))
    }

    fn command(self, places: &Places, environment: &str, aws: &str, port: u16) -> Command {
        let queue = format!("{aws}/123456789012/consumer-{environment}");
        let flask = |service: &str| {
            let mut command = Command::new(places.cache("reference/bin/flask"));
            let folder = places.reference.clone().unwrap_or_default().join("tenant-microservices").join(service);
            command.args(["--app", service, "run", "--host", "127.0.0.1", "--port", &port.to_string()]);
            command.current_dir(folder);
            command
        };
        let mut command = match self {
            Self::Producer => Command::new(places.release("producer")),
            Self::Consumer => Command::new(places.release("consumer")),
            Self::ReferenceProducer => flask("producer"),
            Self::ReferenceConsumer => flask("consumer"),
            Self::Bare => {
                let mut command = Command::new(places.release("bench-bare"));
                command.args(["serve", &port.to_string(), &queue]);
                command
            }
            Self::Node(pollers) => {
                let mut command = Command::new("node");
                command.arg(places.cache("node/consumer.mjs"));
                command.env("POLLERS", pollers.to_string());
                command
            }
            Self::Bento(inputs) => {
                let mut command = Command::new(places.cache("bento"));
                command.arg("-c").arg(places.peers("bento/pipeline.yaml"));
                command.env("INPUTS", inputs.to_string());
                command
            }
        };
        command.env("QUEUE_URL", queue).env("TABLE", format!("consumer-{environment}"));
        command
    }

    /// Whether it answers HTTP, by which it is known to be ready.
    fn probe(self) -> Option<&'static str> {
        match self {
            Self::Producer | Self::ReferenceProducer | Self::Bare => Some("/producer/readiness-probe"),
            Self::Consumer => Some("/consumer/readiness-probe"),
            // The probe starts the thread that drains.
            Self::ReferenceConsumer => Some("/consumer/readiness-probe"),
            Self::Node(_) | Self::Bento(_) => None,
        }
    }

    /// Starts it in `environment` against `aws`, and returns when it is ready.
    pub(crate) fn start(self, places: &Places, environment: &str, aws: &Aws) -> io::Result<Running> {
        self.start_at(places, environment, &aws.url())
    }

    /// As [`Subject::start`], against any endpoint.
    pub(crate) fn start_at(self, places: &Places, environment: &str, aws: &str) -> io::Result<Running> {
        self.start_with(places, environment, aws, &[])
    }

    /// As [`Subject::start_at`], with further settings.
    pub(crate) fn start_with(
        self,
        places: &Places,
        environment: &str,
        aws: &str,
        settings: &[(&'static str, String)],
    ) -> io::Result<Running> {
        let (port, admin) = (free_port()?, free_port()?);
        let name = self.name();
        let mut command = self.command(places, environment, aws, port);
        let log = places.log(&name);
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder)?;
        }
        let output = File::create(&log)?;
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .env("ENVIRONMENT", environment)
            .env("HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .env("ADMIN_PORT", admin.to_string())
            .env("RUST_LOG", "warn")
            .env("AWS_REGION", aws::REGION)
            .env("AWS_DEFAULT_REGION", aws::REGION)
            .env("AWS_ENDPOINT_URL", aws)
            .env("AWS_ACCESS_KEY_ID", "bench")
            .env("AWS_SECRET_ACCESS_KEY", "bench")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .envs(settings.iter().map(|(name, value)| (name, value)));
        let process =
            command.spawn().map_err(|error| io::Error::other(format!("{name} cannot be started: {error}")))?;
        let mut running = Running { process, address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)), name, log };
        match self.probe() {
            Some(path) => running.until_ready(path)?,
            // It polls when it has started; nothing says so from outside but its calls.
            None => sleep(Duration::from_secs(3)),
        }
        Ok(running)
    }
}

/// A port that was free a moment ago.
pub(super) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// A process that is being measured. It is killed when this is dropped: what it would still do is of no interest.
pub(crate) struct Running {
    process: Child,
    /// Where it serves, if it does.
    pub(crate) address: SocketAddr,
    name: String,
    log: PathBuf,
}

impl Running {
    fn until_ready(&mut self, path: &str) -> io::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait()? {
                let log = self.log.display();
                return Err(io::Error::other(format!("{} ended with {status}; see {log}", self.name)));
            }
            if http::call(self.address, "GET", path, "").is_ok_and(|(status, _)| status == 200) {
                return Ok(());
            }
            sleep(Duration::from_millis(20));
        }
        Err(io::Error::other(format!("{} was not ready within {PATIENCE:?}; see {}", self.name, self.log.display())))
    }

    /// What it has used so far.
    pub(crate) fn usage(&self) -> io::Result<Usage> {
        usage(self.process.id())
            .map_err(|error| io::Error::other(format!("{} has ended ({error}); see {}", self.name, self.log.display())))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
