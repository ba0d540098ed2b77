//! Parts of documents that are made from the code: held against it by a test, and written by the same test for `make docs`.

use std::path::Path;

/// Fails unless the part of a document between these two marks is `made`; writes it instead when `UPDATE_README` is set. `file` is
/// a path in the repository.
///
/// # Panics
/// The part is another, or the file or a mark is not there.
pub fn hold_part(file: &str, begin: &str, end: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(begin).unwrap();
    let (written, tail) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(&path, format!("{head}{begin}{made}{end}{tail}")).unwrap();
        return;
    }
    assert_eq!(written, made, "run `make docs`");
}
