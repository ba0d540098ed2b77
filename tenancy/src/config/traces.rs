//! The settings of traces: where spans go, and of which traces.

use std::fmt;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use http::Uri;
use thiserror::Error;

use super::ConfigError;
use crate::port;

/// Where spans go, and which traces are taken.
#[derive(Debug, Clone, Args)]
// The comments are the text of --help, where a URL stands as it is.
#[allow(rustdoc::bare_urls)]
pub struct Traces {
    /// Base URL of the OpenTelemetry collector that takes spans as OTLP over HTTP (protobuf), such as http://collector:4318; they go to /v1/traces below it [default: no traces].
    #[arg(long, env, hide_env_values = true)]
    pub otel_exporter_otlp_endpoint: Option<CollectorUrl>,

    /// Which traces are taken. The parentbased ones follow the caller's traceparent, and decide themselves where there is none.
    #[arg(long, env, hide_env_values = true, default_value = "parentbased_always_on")]
    pub otel_traces_sampler: SamplerName,

    /// With a traceidratio sampler: the share of traces that is taken, from 0 to 1 [default: 1].
    #[arg(long, env, hide_env_values = true)]
    pub otel_traces_sampler_arg: Option<Ratio>,
}

/// A sampler, by the name that OpenTelemetry gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SamplerName {
    /// Every trace.
    #[value(name = "always_on")]
    AlwaysOn,
    /// None.
    #[value(name = "always_off")]
    AlwaysOff,
    /// A share of the traces, by their id.
    #[value(name = "traceidratio")]
    TraceIdRatio,
    /// As the caller says, else every trace.
    #[value(name = "parentbased_always_on")]
    ParentBasedAlwaysOn,
    /// As the caller says, else none.
    #[value(name = "parentbased_always_off")]
    ParentBasedAlwaysOff,
    /// As the caller says, else a share.
    #[value(name = "parentbased_traceidratio")]
    ParentBasedTraceIdRatio,
}

/// The URL of a collector: http or https, with a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorUrl(String);

/// A text that is no URL of a collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("it is an http or https URL without query, its port a number from 1 to 65535, such as http://collector:4318")]
pub struct CollectorUrlError;

impl FromStr for CollectorUrl {
    type Err = CollectorUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text.parse().map_err(|_| CollectorUrlError)?;
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        if !web || uri.host().is_none_or(str::is_empty) || uri.query().is_some() || !port::is_callable(&uri) {
            return Err(CollectorUrlError);
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

impl CollectorUrl {
    /// Where spans are posted.
    #[must_use]
    pub fn traces(&self) -> String {
        format!("{}/v1/traces", self.0)
    }
}

impl fmt::Display for CollectorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A share, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio(f64);

/// A text that is no share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("it is a number from 0 to 1, such as 0.05")]
pub struct RatioError;

impl FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let share: f64 = text.parse().map_err(|_| RatioError)?;
        if (0.0..=1.0).contains(&share) { Ok(Self(share)) } else { Err(RatioError) }
    }
}

impl Ratio {
    /// All of it.
    pub const ALL: Self = Self(1.0);

    /// As a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Traces {
    /// Refuses values that contradict each other, and a protocol in the environment that is not spoken.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_with(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn check_with(&self, variable: impl Fn(&str) -> Option<String>) -> Result<(), ConfigError> {
        let ratio =
            matches!(self.otel_traces_sampler, SamplerName::TraceIdRatio | SamplerName::ParentBasedTraceIdRatio);
        if self.otel_traces_sampler_arg.is_some() && !ratio {
            let reason = "has a meaning with OTEL_TRACES_SAMPLER=traceidratio or parentbased_traceidratio only";
            return Err(ConfigError::new("OTEL_TRACES_SAMPLER_ARG", reason));
        }
        if self.otel_exporter_otlp_endpoint.is_none() {
            return Ok(());
        }
        for name in ["OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] {
            if let Some(protocol) = variable(name).filter(|protocol| protocol != "http/protobuf") {
                let reason =
                    format!("invalid value {protocol:?}: spans go out as http/protobuf (a collector's port 4318)");
                return Err(ConfigError::new(name, reason));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_go_below_the_collector_s_url() {
        for (url, traces) in [
            ("http://collector:4318", "http://collector:4318/v1/traces"),
            ("https://otel.example.com/", "https://otel.example.com/v1/traces"),
            ("http://gateway/otlp", "http://gateway/otlp/v1/traces"),
        ] {
            assert_eq!(url.parse::<CollectorUrl>().unwrap().traces(), traces);
        }
        for bad in [
            "",
            "collector:4318",
            "grpc://collector:4317",
            "http://",
            "/v1",
            "http://collector?x=1",
            "http://a:0",
            "http://a:99999",
        ] {
            assert_eq!(bad.parse::<CollectorUrl>(), Err(CollectorUrlError), "{bad}");
        }
    }

    #[test]
    fn a_share_is_between_nothing_and_all() {
        assert_eq!("0.25".parse::<Ratio>().unwrap().get(), 0.25);
        assert_eq!("1".parse::<Ratio>().unwrap(), Ratio::ALL);
        for bad in ["", "-0.1", "1.1", "NaN", "5%", "inf"] {
            assert_eq!(bad.parse::<Ratio>(), Err(RatioError), "{bad}");
        }
    }

    fn traces(sampler: SamplerName, share: Option<Ratio>) -> Traces {
        Traces {
            otel_exporter_otlp_endpoint: Some("http://collector:4318".parse().unwrap()),
            otel_traces_sampler: sampler,
            otel_traces_sampler_arg: share,
        }
    }

    #[test]
    fn a_share_without_its_sampler_and_another_protocol_are_refused() {
        let none = |_: &str| None;
        assert!(traces(SamplerName::TraceIdRatio, Some(Ratio::ALL)).check_with(none).is_ok());
        assert_eq!(
            traces(SamplerName::AlwaysOn, Some(Ratio::ALL)).check_with(none).unwrap_err().to_string(),
            "OTEL_TRACES_SAMPLER_ARG: has a meaning with OTEL_TRACES_SAMPLER=traceidratio or parentbased_traceidratio only"
        );
        let grpc = |name: &str| (name == "OTEL_EXPORTER_OTLP_PROTOCOL").then(|| "grpc".to_owned());
        assert_eq!(
            traces(SamplerName::AlwaysOn, None).check_with(grpc).unwrap_err().to_string(),
            "OTEL_EXPORTER_OTLP_PROTOCOL: invalid value \"grpc\": spans go out as http/protobuf (a collector's port 4318)"
        );
    }
}
