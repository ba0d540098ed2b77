//! The headers that requests carry, as parameters. Only those that a route reads are named there.

use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{Object, Required};

/// The form of a tenant's id, as a regular expression: of two hyphens in a row and reserved beginnings the text tells.
const TENANT_PATTERN: &str = "^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$";

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(Type::String))
}

fn header(name: &str, required: bool, description: &str, schema: Object) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(if required { Required::True } else { Required::False })
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

fn tenant(required: bool) -> Parameter {
    let schema = text().pattern(Some(TENANT_PATTERN)).max_length(Some(40)).examples([json!("tenant-1")]).build();
    let description = if required {
        "Whose request it is: exactly one header with one id, compared byte for byte. No two hyphens in a row; not `default`; \
         not beginning with `aws`, `ssm`, `kube-`, `flux-` or `pool-`."
    } else {
        "Checked as on the other routes when it is sent; load balancers' health checks send none."
    };
    header("tenantID", required, description, schema)
}

fn tier() -> Parameter {
    let tiers = text().enum_values(Some(["basic", "advanced", "premium"])).build();
    let description = "Never chooses a queue: it is held against the tenant's registration, and 409 when it contradicts. A \
                       tenant's own deployment takes any of the three.";
    header("tier", false, description, tiers)
}

fn key(required: bool) -> Parameter {
    // Visible ASCII, which regular expressions write as this range.
    let schema =
        text().pattern(Some("^[!-~]+$")).min_length(Some(1)).max_length(Some(255)).examples([json!("order-4711")]);
    let description = if required {
        "The client's own name for this payment, remembered per tenant: sent again, it is the same payment."
    } else {
        "The client's own name for this request, remembered per tenant: sent again, it is the same record."
    };
    header("Idempotency-Key", required, description, schema.build())
}

fn traceparent() -> Parameter {
    let example = json!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let description = "W3C trace context. When the trace is sampled it travels with the message; a malformed one is \
                       treated as none.";
    header("traceparent", false, description, text().examples([example]).build())
}

/// Defines a group of parameters that a handler names in its `params(…)`.
macro_rules! group {
    ($(#[$doc:meta])* $name:ident: $($parameter:expr),+) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl IntoParams for $name {
            fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
                vec![$($parameter),+]
            }
        }
    };
}

group!(
    /// A tenant must be named.
    ForTenant: tenant(true), tier()
);
group!(
    /// A tenant may be named.
    MaybeTenant: tenant(false), tier()
);
group!(
    /// A key may be sent.
    MaybeKey: key(false)
);
group!(
    /// A key must be sent.
    NeedsKey: key(true)
);
group!(
    /// A trace goes on.
    Traced: traceparent()
);
