//! Cursors: the id that a page ended with, as clients carry it.
//!
//! A cursor is bound to its tenant by a check value, so that a mistyped one, or another tenant's, is an error instead of a
//! page from somewhere else. It is no secret and grants nothing: which partition is read follows from the request's
//! tenant alone, never from the cursor.

use std::fmt::Write;

use tenancy::message::id;
use tenancy::tenant::TenantId;
use uuid::Uuid;

/// The namespace of check values. Made once, at random; changing it makes the cursors that are out there useless.
const NAMESPACE: Uuid = Uuid::from_u128(0x1f0a_6c4e_93d7_4b52_8e61_c70d_52b9_34ea);

/// Hexadecimal digits of the check value.
const CHECK_LEN: usize = 32;

/// The cursor that goes on after the record `last`.
pub(super) fn write(last: &str, tenant: &TenantId) -> String {
    let mut cursor = check(last, tenant);
    for byte in last.bytes() {
        // Writing to a String does not fail.
        let _ = write!(cursor, "{byte:02x}");
    }
    cursor
}

/// The id after which to go on; `None` when the cursor is not one of this tenant's.
pub(super) fn read(cursor: &str, tenant: &TenantId) -> Option<String> {
    let (given, hex) = cursor.split_at_checked(CHECK_LEN)?;
    if hex.len() % 2 != 0 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let bytes = hex
        .as_bytes()
        .chunks_exact(2)
        .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()));
    let last = String::from_utf8(bytes.collect::<Option<_>>()?).ok()?;
    (id::is_usable(&last) && given == check(&last, tenant)).then_some(last)
}

fn check(last: &str, tenant: &TenantId) -> String {
    Uuid::new_v5(&NAMESPACE, format!("{tenant}\0{last}").as_bytes()).simple().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tenant(id: &str) -> TenantId {
        id.parse().unwrap()
    }

    #[test]
    fn a_cursor_is_good_for_its_tenant_only() {
        let cursor = write("0198c0de", &tenant("acme"));
        assert_eq!(read(&cursor, &tenant("acme")).as_deref(), Some("0198c0de"));
        assert_eq!(read(&cursor, &tenant("globex")), None);
    }

    #[test]
    fn what_was_not_given_out_is_no_cursor() {
        let cursor = write("0198c0de", &tenant("acme"));
        let other_id = format!("{}{}", &cursor[..32], "30313938");
        for bad in [
            "",
            "x",
            "é",
            &cursor[1..],
            &cursor[..cursor.len() - 2],
            &cursor[..32],
            &cursor.to_uppercase(),
            &other_id,
            &format!("{cursor}00"),
        ] {
            assert_eq!(read(bad, &tenant("acme")), None, "{bad}");
        }
        let claim = write("payment#0198c0de", &tenant("acme"));
        assert_eq!(read(&claim, &tenant("acme")), None, "no page starts among claims");
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_panic_or_pass(text in ".{0,200}") {
            prop_assert_eq!(read(&text, &tenant("acme")), None);
        }

        #[test]
        fn any_id_survives(id in "[^p]{1,100}") {
            prop_assert_eq!(read(&write(&id, &tenant("acme")), &tenant("acme")), Some(id));
        }

        #[test]
        fn a_changed_cursor_is_refused(at in 0usize..48, to in "[0-9a-f]") {
            let cursor = write("0198c0de", &tenant("acme"));
            let mut changed = cursor.clone();
            changed.replace_range(at..=at, &to);
            prop_assert_eq!(read(&changed, &tenant("acme")).is_some(), changed == cursor);
        }
    }
}
