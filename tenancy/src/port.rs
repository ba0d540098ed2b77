//! The port of a URL.

use http::Uri;
use http::uri::Authority;

/// Whether a URL's port, where it has one, can be called. `http` reads one that is no number up to 65535 as none at all: the
/// scheme's own would then stand for it in comparisons, and no connection would ever come about.
pub(crate) fn is_callable(uri: &Uri) -> bool {
    uri.authority().is_none_or(authority_is_callable)
}

fn authority_is_callable(authority: &Authority) -> bool {
    let text = authority.as_str();
    let after_user = text.rsplit('@').next().unwrap_or(text);
    match after_user.strip_prefix(authority.host()) {
        Some("") => true,
        Some(port) => port.strip_prefix(':').is_some_and(is_number),
        None => false,
    }
}

/// In digits alone, without a sign.
fn is_number(port: &str) -> bool {
    port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_a_number_from_1_to_65535_or_left_out() {
        for (url, callable) in [
            ("https://a.example", true),
            ("https://a.example/x:99999", true),
            ("https://a.example:1", true),
            ("https://u:99999@a.example:65535/", true),
            ("http://[::1]", true),
            ("http://[::1]:4318", true),
            ("/path", true),
            ("https://a.example:0", false),
            ("https://a.example:65536", false),
            ("https://a.example:99999/x", false),
            ("https://a.example:", false),
            ("http://[::1]:0", false),
            ("http://[::1]:70000", false),
        ] {
            assert_eq!(is_callable(&url.parse().unwrap()), callable, "{url}");
        }
        // Whether or not `http` takes these for an authority, no service starts with them.
        for url in ["https://a.example:+80", "https://a.example:-1", "https://a.example:80x"] {
            assert!(!url.parse::<Uri>().is_ok_and(|uri| is_callable(&uri)), "{url}");
        }
    }
}
