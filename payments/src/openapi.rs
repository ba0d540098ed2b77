//! The OpenAPI document, made from what stands beside the handlers, in builds for tests only.

use std::collections::BTreeMap;

use tests::openapi::problems::{Any, Body, Nothing, Parameter, Problems, Tenant, Unacceptable};
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{OpenApi, PartialSchema, ToSchema};

use crate::money::{MOST_DIGITS, Money};
use crate::payment::MOST_REFERENCE_CHARS;
use crate::{BUILD_VERSION, NAME};

pub(crate) type PostProblems = Problems<(Any, Tenant, Parameter, Body, Unacceptable)>;
pub(crate) type GetProblems = Problems<(Any, Tenant, Nothing)>;

/// A payment as a client asks for it: one form for each number of decimal places that currencies have.
pub(crate) struct PaymentRequest;

impl PartialSchema for PaymentRequest {
    fn schema() -> RefOr<Schema> {
        let forms = currencies().into_iter().map(|(places, codes)| form(places, codes));
        RefOr::T(forms.fold(OneOfBuilder::new(), OneOfBuilder::item).build().into())
    }
}

impl ToSchema for PaymentRequest {}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(Type::String))
}

fn form(places: usize, codes: Vec<String>) -> ObjectBuilder {
    let amount = text()
        .pattern(Some(amounts(places)))
        .description(Some("A string, since numbers lose digits on their way: a plain decimal above zero with exactly the currency's places."));
    let currency = text().enum_values(Some(codes)).description(Some("ISO 4217."));
    let reference = text()
        .pattern(Some(r"^[^\x00-\x1f\x7f-\x9f]+$"))
        .min_length(Some(1))
        .max_length(Some(MOST_REFERENCE_CHARS))
        .description(Some("What the payment is for. No control characters."));
    ObjectBuilder::new()
        .property("amount", amount)
        .required("amount")
        .property("currency", currency)
        .required("currency")
        .property("reference", reference)
        .required("reference")
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
}

/// The amounts above zero of a currency with so many decimal places.
fn amounts(places: usize) -> String {
    let units = format!("[1-9][0-9]{{0,{}}}", MOST_DIGITS - places - 1);
    if places == 0 {
        return format!("^{units}$");
    }
    // Below one, the first digit that is not zero may stand at any place.
    let below_one: Vec<String> =
        (0..places).map(|zeros| "0".repeat(zeros) + "[1-9]" + &"[0-9]".repeat(places - zeros - 1)).collect();
    format!(r"^(0\.({})|{units}\.[0-9]{{{places}}})$", below_one.join("|"))
}

/// The codes of currencies that are accepted, by the places their amounts have: found out by trying.
fn currencies() -> BTreeMap<usize, Vec<String>> {
    let letters = || b'A'..=b'Z';
    let codes = letters().flat_map(|a| letters().flat_map(move |b| letters().map(move |c| [a, b, c])));
    let mut all: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for code in codes.map(|code| code.map(char::from).iter().collect::<String>()) {
        let places =
            ["1", "1.0", "1.00", "1.000", "1.0000"].iter().position(|amount| Money::parse(amount, &code).is_ok());
        if let Some(places) = places {
            all.entry(places).or_default().push(code);
        }
    }
    all
}

#[derive(OpenApi)]
#[openapi(paths(crate::routes::post_payment, crate::routes::get_payment))]
struct Own;

#[test]
fn the_openapi_document_is_what_the_handlers_say() {
    let summary = "Takes each payment once and publishes it to the queue of its tenant.";
    tests::openapi::hold(NAME, &tests::openapi::document(NAME, summary, BUILD_VERSION, Own::openapi()));
}

#[test]
fn the_openapi_document_names_the_amounts_that_are_accepted() {
    assert_eq!(amounts(0), "^[1-9][0-9]{0,17}$");
    assert_eq!(amounts(2), r"^(0\.([1-9][0-9]|0[1-9])|[1-9][0-9]{0,15}\.[0-9]{2})$");
    let by_places = currencies();
    assert_eq!(by_places.keys().copied().collect::<Vec<_>>(), [0, 2, 3, 4]);
    assert!(by_places[&2].contains(&"EUR".to_owned()) && by_places[&0].contains(&"JPY".to_owned()));
    assert!(by_places.values().flatten().all(|code| code != "XAU" && code != "BGN"));
}
