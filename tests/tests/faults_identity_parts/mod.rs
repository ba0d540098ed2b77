mod credentials;
mod endpoints;
mod parameters;
mod sessions;
mod starting;

use std::path::PathBuf;

use tests::scripted::Aws;
use tests::service::{Kind, Launch};

/// A file that goes with the test.
pub(crate) struct TokenFile(PathBuf);

impl TokenFile {
    pub(crate) fn new(token: &str) -> Self {
        let name = format!("web-identity-{}-{}", std::process::id(), fastrand::u64(..));
        let file = Self(std::env::temp_dir().join(name));
        file.write(token);
        file
    }

    pub(crate) fn write(&self, token: &str) {
        std::fs::write(&self.0, token).expect("a file in the folder for temporary files");
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a path that is text")
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        // Nothing depends on it being gone.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A service with a pod's web identity instead of keys.
pub(crate) fn with_web_identity(kind: Kind, aws: &Aws, token: &TokenFile) -> Launch {
    Launch::new(kind, aws, "acme")
        .unset("AWS_ACCESS_KEY_ID")
        .unset("AWS_SECRET_ACCESS_KEY")
        .set("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/producer-role-acme")
        .set("AWS_WEB_IDENTITY_TOKEN_FILE", token.path())
}
