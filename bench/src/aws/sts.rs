//! STS: who the caller is, in the query protocol. The reference's readiness probe asks for it.

use super::cloud::Outcome;

pub(super) fn caller_identity(out: &mut Vec<u8>) -> Outcome {
    let account = super::ACCOUNT;
    let text = format!(
        "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
         <Arn>arn:aws:iam::{account}:user/bench</Arn><UserId>AIDABENCH</UserId><Account>{account}</Account>\
         </GetCallerIdentityResult><ResponseMetadata><RequestId>00000000-0000-4000-8000-000000000000</RequestId>\
         </ResponseMetadata></GetCallerIdentityResponse>"
    );
    out.extend_from_slice(text.as_bytes());
    Outcome::done(1)
}
