//! Who calls: sessions from STS and from the container endpoint, their end, and what is said to those that ran out.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use super::fault::expired_token;
use super::op::Service;
use super::shared::{Shared, lock};
use super::wire::{REQUEST_ID, Refusal, Reply};

/// Sessions that were given out, and what is asked of those who want one.
pub(crate) struct Identity {
    /// How long sessions last.
    pub(crate) session: Duration,
    /// Web identity tokens that are taken; `None` takes any.
    pub(crate) web_tokens: Option<Vec<String>>,
    /// The token that the container endpoint wants in `Authorization`; `None` takes any but none.
    pub(crate) container_token: Option<String>,
    /// Only sessions given out here may call.
    pub(crate) only_sessions: bool,
    /// When each access key's session ends.
    ends: HashMap<String, SystemTime>,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            session: Duration::from_secs(3_600),
            web_tokens: None,
            container_token: None,
            only_sessions: false,
            ends: HashMap::new(),
        }
    }
}

/// A new session.
struct Session {
    access_key: String,
    token: String,
    /// RFC 3339, in UTC.
    ends: String,
}

impl Identity {
    fn begin(&mut self, prefix: &str) -> Session {
        let ends = SystemTime::now() + self.session;
        let access_key = format!("ASIA{prefix}{:012}", self.ends.len() + 1);
        self.ends.insert(access_key.clone(), ends);
        let ends =
            jiff::Timestamp::try_from(ends).map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default();
        Session { token: format!("session-token-of-{access_key}"), access_key, ends }
    }

    /// What a call under this access key is refused with, if it is.
    pub(crate) fn refuse(&self, service: Service, access_key: &str) -> Option<Refusal> {
        if !matches!(service, Service::Sqs | Service::DynamoDb | Service::Ssm) {
            return None;
        }
        match self.ends.get(access_key) {
            Some(end) if *end < SystemTime::now() => Some(expired_token(service)),
            None if self.only_sessions => Some(Refusal::new(
                400,
                "com.amazon.coral.service#UnrecognizedClientException",
                "The security token included in the request is invalid.",
            )),
            _ => None,
        }
    }

    /// How many sessions were given out.
    pub(crate) fn sessions(&self) -> usize {
        self.ends.len()
    }
}

/// Fields of a form by name.
pub(crate) type Form = HashMap<String, String>;

pub(crate) fn form(body: &[u8]) -> Form {
    form_urlencoded::parse(body).into_owned().collect()
}

/// `AssumeRoleWithWebIdentity`.
pub(crate) fn assume_role(shared: &Shared, form: &Form) -> Result<Reply, Refusal> {
    let field = |name: &str| form.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let missing = |name: &str| {
        Refusal::violation("ValidationError", format!("Value null at '{name}' failed to satisfy constraint"))
    };
    let role = field("RoleArn").ok_or_else(|| missing("roleArn"))?;
    let session_name = field("RoleSessionName").ok_or_else(|| missing("roleSessionName"))?;
    let token = field("WebIdentityToken").ok_or_else(|| missing("webIdentityToken"))?;
    let mut identity = lock(&shared.identity);
    if identity.web_tokens.as_ref().is_some_and(|taken| !taken.iter().any(|one| one == token)) {
        return Err(Refusal::new(
            400,
            "InvalidIdentityToken",
            "The web identity token that was passed could not be validated.",
        ));
    }
    let Session { access_key, token, ends } = identity.begin("WEBI");
    let role_name = role.rsplit('/').next().unwrap_or_default();
    let body = format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleWithWebIdentityResult>\
         <SubjectFromWebIdentityToken>system:serviceaccount:test</SubjectFromWebIdentityToken>\
         <AssumedRoleUser><Arn>arn:aws:sts::{account}:assumed-role/{role_name}/{session_name}</Arn>\
         <AssumedRoleId>AROAEXAMPLE:{session_name}</AssumedRoleId></AssumedRoleUser>\
         <Credentials><AccessKeyId>{access_key}</AccessKeyId><SecretAccessKey>secret-of-{access_key}</SecretAccessKey>\
         <SessionToken>{token}</SessionToken><Expiration>{ends}</Expiration></Credentials>\
         </AssumeRoleWithWebIdentityResult><ResponseMetadata><RequestId>{REQUEST_ID}</RequestId></ResponseMetadata>\
         </AssumeRoleWithWebIdentityResponse>",
        account = shared.account,
    );
    Ok(Reply::raw(200, "text/xml", body))
}

/// `GetCallerIdentity`.
pub(crate) fn caller(shared: &Shared) -> Reply {
    let account = &shared.account;
    let body = format!(
        "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
         <Arn>arn:aws:sts::{account}:assumed-role/role/session</Arn><UserId>AROAEXAMPLE:session</UserId>\
         <Account>{account}</Account></GetCallerIdentityResult><ResponseMetadata><RequestId>{REQUEST_ID}</RequestId>\
         </ResponseMetadata></GetCallerIdentityResponse>"
    );
    Reply::raw(200, "text/xml", body)
}

/// The endpoint that hands credentials to a container.
pub(crate) fn container(shared: &Shared, authorization: &str) -> Result<Reply, Refusal> {
    let mut identity = lock(&shared.identity);
    let right = identity.container_token.as_ref().map_or(!authorization.is_empty(), |wanted| wanted == authorization);
    if !right {
        return Err(Refusal::new(401, "AccessDeniedException", "The token in the Authorization header is not valid."));
    }
    let Session { access_key, token, ends } = identity.begin("CONT");
    let body = serde_json::json!({
        "AccessKeyId": access_key, "SecretAccessKey": format!("secret-of-{access_key}"), "Token": token,
        "Expiration": ends, "AccountId": shared.account,
    });
    Ok(Reply::raw(200, "application/json", body.to_string()))
}
