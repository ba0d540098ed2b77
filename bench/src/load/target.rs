//! What the requests are: rendered once, with the tenant's number written in before each.

/// The least bytes that an event has: its braces and name.
const EVENT_FRAME: usize = "{\"event\":\"\"}".len();

/// An event of so many bytes of JSON, or the smallest there is.
pub(crate) fn event(bytes: usize) -> String {
    format!("{{\"event\":\"{}\"}}", "x".repeat(bytes.saturating_sub(EVENT_FRAME)))
}

/// Requests that differ in nothing but the number of their tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    bytes: Vec<u8>,
    /// Where the tenant's seven digits stand, and how many tenants there are.
    digits: Option<(usize, u64)>,
}

/// The digits of a tenant's number.
const DIGITS: usize = 7;

impl Target {
    /// Posts `body` for one tenant.
    pub(crate) fn post(path: &str, tenant: &str, body: &str) -> Self {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: bench\r\ntenantID: {tenant}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        Self { bytes: (head + body).into_bytes(), digits: None }
    }

    /// Posts `body` for the tenants `PREFIX-0000000` and so on, in turn.
    pub(crate) fn for_each_tenant(path: &str, prefix: &str, tenants: u64, body: &str) -> Self {
        let mut target = Self::post(path, &format!("{prefix}-{}", "0".repeat(DIGITS)), body);
        let place = format!("tenantID: {prefix}-");
        target.digits =
            memchr::memmem::find(&target.bytes, place.as_bytes()).map(|at| (at + place.len(), tenants.max(1)));
        target
    }

    /// Batches of `events` copies of one event.
    pub(crate) fn batch(tenant: &str, event: &str, events: usize) -> Self {
        Self::post("/producer/batch", tenant, &format!("[{}]", vec![event; events].join(",")))
    }

    /// With one more header.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        const BEFORE: &[u8] = b"Host: bench\r\n";
        if let Some(at) = memchr::memmem::find(&self.bytes, BEFORE).map(|at| at + BEFORE.len()) {
            let line = format!("{name}: {value}\r\n");
            self.digits = self.digits.map(|(digits, tenants)| (digits + line.len(), tenants));
            self.bytes.splice(at..at, line.into_bytes());
        }
        self
    }

    /// The bytes of the `turn`th request, into `into`, which holds an earlier one or nothing.
    pub(crate) fn write(&self, turn: u64, into: &mut Vec<u8>) {
        if into.len() != self.bytes.len() {
            into.clone_from(&self.bytes);
        }
        if let Some((at, tenants)) = self.digits {
            let mut number = turn % tenants;
            for place in into.iter_mut().skip(at).take(DIGITS).rev() {
                *place = b'0' + u8::try_from(number % 10).unwrap_or_default();
                number /= 10;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_the_bytes_that_were_asked_for_and_is_json() {
        for bytes in [13, 100, 4_096, 65_536] {
            let event = event(bytes);
            assert_eq!(event.len(), bytes);
            assert!(serde_json::from_str::<serde_json::Value>(&event).is_ok());
        }
        assert_eq!(event(0), "{\"event\":\"\"}");
    }

    #[test]
    fn a_further_header_stands_in_the_head_and_the_tenant_s_number_where_it_belongs() {
        let target = Target::for_each_tenant("/producer", "own", 300, "{}").with("Authorization", "Bearer a.b.c");
        let mut bytes = Vec::new();
        target.write(17, &mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let head = "POST /producer HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer a.b.c\r\ntenantID: own-0000017\r\n";
        assert!(text.starts_with(head) && text.ends_with("Content-Length: 2\r\n\r\n{}"), "{text}");
    }

    #[test]
    fn tenants_take_turns() {
        let target = Target::for_each_tenant("/producer", "own", 300, "{}");
        let mut bytes = Vec::new();
        let mut tenant = |turn| {
            target.write(turn, &mut bytes);
            let text = String::from_utf8(bytes.clone()).unwrap();
            text.lines().find_map(|line| line.strip_prefix("tenantID: ").map(str::to_owned)).unwrap()
        };
        assert_eq!([tenant(0), tenant(299), tenant(301)], ["own-0000000", "own-0000299", "own-0000001"]);
    }

    #[test]
    fn a_request_says_how_long_its_body_is() {
        let mut bytes = Vec::new();
        Target::batch("acme", "{\"n\":1}", 3).write(0, &mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("POST /producer/batch HTTP/1.1\r\n"), "{text}");
        assert!(text.ends_with("Content-Length: 25\r\n\r\n[{\"n\":1},{\"n\":1},{\"n\":1}]"), "{text}");
    }
}
