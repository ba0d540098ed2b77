//! The W3C trace context: `traceparent` read and written.

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

/// A span that others can be below of, or linked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
    pub(super) sampled: bool,
}

impl Parent {
    /// Reads a `traceparent` of version 00, by the W3C recommendation. Anything else, malformed values too, is no context: a
    /// broken tracer must not cost anyone an event.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if version != "00" || parts.next().is_some() || !hex(trace, 32) || !hex(span, 16) || !hex(flags, 2) {
            return None;
        }
        let trace = TraceId::from_hex(trace).ok().filter(|id| *id != TraceId::INVALID)?;
        let span = SpanId::from_hex(span).ok().filter(|id| *id != SpanId::INVALID)?;
        let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        Some(Self { trace, span, sampled })
    }

    /// Whether the trace is taken, by whoever began it.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// The trace's id, for log lines.
    #[must_use]
    pub fn trace_id(&self) -> String {
        self.trace.to_string()
    }

    /// As a `traceparent`.
    #[must_use]
    pub fn write(&self) -> String {
        format!("00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }

    pub(super) fn context(&self, is_remote: bool) -> SpanContext {
        let flags = if self.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
        SpanContext::new(self.trace, self.span, flags, is_remote, TraceState::NONE)
    }
}

impl From<&SpanContext> for Parent {
    fn from(context: &SpanContext) -> Self {
        Self { trace: context.trace_id(), span: context.span_id(), sampled: context.is_sampled() }
    }
}

fn hex(part: &str, length: usize) -> bool {
    part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_written_as_it_was_read() {
        for text in [
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
        ] {
            let parent = Parent::read(text).unwrap();
            assert_eq!(parent.write(), text);
            assert_eq!(parent.is_sampled(), text.ends_with('1'));
            assert_eq!(parent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        }
    }

    #[test]
    fn what_is_no_context_is_none() {
        for text in [
            "",
            "nonsense",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-+1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(Parent::read(text), None, "{text}");
        }
    }
}
