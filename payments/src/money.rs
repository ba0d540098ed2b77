//! Money: a decimal text and an ISO 4217 currency that fit each other. Never a float.
//!
//! An amount has exactly the currency's number of decimal places, so one amount has one spelling: a retry compares equal, and
//! a client that prints floats (`12.5`, `12.500000000000002`) finds out before anything is paid.

use iso_currency::Currency;
use thiserror::Error;

/// The most digits that an amount has, decimal places included: its minor units then fit into 64 bits anywhere.
pub(crate) const MOST_DIGITS: usize = 18;

/// An amount greater than zero, in a currency that is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Money {
    amount: Box<str>,
    currency: Currency,
}

/// Why amount and currency are no money. The text says what would be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum MoneyError {
    #[error("currency must be an ISO 4217 code in upper case, such as EUR")]
    UnknownCurrency,
    #[error("currency {0} has no minor unit, so nothing is paid in it; use a currency such as EUR")]
    NoMinorUnit(&'static str),
    #[error("currency {0} has been replaced by {1}; use {1}")]
    Replaced(&'static str, &'static str),
    #[error(
        "amount must be a plain decimal such as {0}: digits, and a point before the decimal places; no sign, exponent or leading zero"
    )]
    NotDecimal(String),
    #[error("amount must have {1} in {0}, such as {2}")]
    Places(&'static str, String, String),
    #[error("amount must be greater than zero")]
    Zero,
    #[error("amount must have at most {MOST_DIGITS} digits")]
    TooLarge,
}

impl Money {
    pub(crate) fn parse(amount: &str, currency: &str) -> Result<Self, MoneyError> {
        let currency = in_use(currency)?;
        let code = currency.code();
        let places = usize::from(currency.exponent().ok_or(MoneyError::NoMinorUnit(code))?);
        let (units, decimals) = match amount.split_once('.') {
            Some((units, decimals)) if !decimals.is_empty() => (units, decimals),
            Some(_) => return Err(MoneyError::NotDecimal(example(places))),
            None => (amount, ""),
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let led_by_zero = units.len() > 1 && units.starts_with('0');
        if units.is_empty() || led_by_zero || !digits(units) || !digits(decimals) {
            return Err(MoneyError::NotDecimal(example(places)));
        }
        if decimals.len() != places {
            return Err(MoneyError::Places(code, in_words(places), example(places)));
        }
        if units.len() + decimals.len() > MOST_DIGITS {
            return Err(MoneyError::TooLarge);
        }
        if amount.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
            return Err(MoneyError::Zero);
        }
        Ok(Self { amount: amount.into(), currency })
    }

    /// The amount as the client wrote it, which is its only spelling.
    pub(crate) fn amount(&self) -> &str {
        &self.amount
    }

    /// The currency's code.
    pub(crate) fn currency(&self) -> &'static str {
        self.currency.code()
    }
}

/// The currency of that code, unless it is history.
fn in_use(code: &str) -> Result<Currency, MoneyError> {
    let currency = Currency::from_code(code).ok_or(MoneyError::UnknownCurrency)?;
    match currency.is_superseded() {
        // The standard lists VES and VED side by side, for one bolívar at two scales; the table at hand has one replaced.
        Some(by) if currency != Currency::VES => Err(MoneyError::Replaced(currency.code(), by.code())),
        _ => Ok(currency),
    }
}

fn example(places: usize) -> String {
    if places == 0 { "1250".to_owned() } else { format!("12.{}", &"5000"[..places.min(4)]) }
}

fn in_words(places: usize) -> String {
    match places {
        0 => "no decimal places".to_owned(),
        1 => "exactly 1 decimal place".to_owned(),
        more => format!("exactly {more} decimal places"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refusal(amount: &str, currency: &str) -> String {
        Money::parse(amount, currency).unwrap_err().to_string()
    }

    #[test]
    fn an_amount_has_the_places_of_its_currency() {
        for (amount, currency) in [
            ("12.50", "EUR"),
            ("0.01", "USD"),
            ("1250", "JPY"),
            ("1.234", "KWD"),
            ("1.2345", "CLF"),
            ("9999999999999999.99", "EUR"),
            ("999999999999999999", "JPY"),
            ("10.00", "VES"),
            ("10.00", "VED"),
        ] {
            let money = Money::parse(amount, currency).unwrap();
            assert_eq!((money.amount(), money.currency()), (amount, currency));
        }
    }

    #[test]
    fn another_number_of_places_is_refused_with_an_example() {
        for amount in ["12", "12.5", "12.505", "12.500"] {
            assert_eq!(refusal(amount, "EUR"), "amount must have exactly 2 decimal places in EUR, such as 12.50");
        }
        assert_eq!(refusal("12.50", "JPY"), "amount must have no decimal places in JPY, such as 1250");
        assert_eq!(refusal("12.50", "KWD"), "amount must have exactly 3 decimal places in KWD, such as 12.500");
        assert_eq!(refusal("12.50", "UYW"), "amount must have exactly 4 decimal places in UYW, such as 12.5000");
    }

    #[test]
    fn what_is_no_plain_decimal_is_refused() {
        for amount in [
            "",
            ".",
            "12.",
            ".50",
            "-12.50",
            "+12.50",
            "1e3",
            "1E3",
            "12,50",
            "1,000.00",
            "012.50",
            "00.50",
            " 12.50",
            "12.50 ",
            "12.50\n",
            "0x10",
            "NaN",
            "inf",
            "12.5.0",
            "١٢.٥٠",
            "12.５0",
            "12\u{0}.50",
            "12.-5",
        ] {
            let refused = Money::parse(amount, "EUR").unwrap_err();
            assert_eq!(refused, MoneyError::NotDecimal("12.50".to_owned()), "{amount:?}");
        }
    }

    #[test]
    fn nothing_and_more_than_18_digits_cannot_be_paid() {
        assert_eq!(refusal("0.00", "EUR"), "amount must be greater than zero");
        assert_eq!(refusal("0", "JPY"), "amount must be greater than zero");
        assert_eq!(refusal("10000000000000000.00", "EUR"), "amount must have at most 18 digits");
        assert_eq!(refusal("1000000000000000000", "JPY"), "amount must have at most 18 digits");
    }

    #[test]
    fn a_currency_is_a_code_in_use_that_can_be_paid_in() {
        for unknown in ["", "eur", "Eur", "EURO", "EU", "ZZZ", "€", "978", "EUR ", "ANG"] {
            assert_eq!(
                refusal("12.50", unknown),
                "currency must be an ISO 4217 code in upper case, such as EUR",
                "{unknown:?}"
            );
        }
        for special in ["XAU", "XXX", "XTS", "XDR"] {
            let text =
                format!("currency {special} has no minor unit, so nothing is paid in it; use a currency such as EUR");
            assert_eq!(refusal("12.50", special), text);
        }
        assert_eq!(refusal("12.50", "BGN"), "currency BGN has been replaced by EUR; use EUR");
        assert_eq!(refusal("12.50", "ZWL"), "currency ZWL has been replaced by ZWG; use ZWG");
    }

    proptest! {
        #[test]
        fn any_text_is_money_or_a_clear_refusal(amount in ".{0,24}", currency in "[A-Z]{3}|.{0,4}") {
            match Money::parse(&amount, &currency) {
                Ok(money) => prop_assert_eq!(money.amount(), &amount),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }

        #[test]
        fn every_number_of_cents_up_to_the_bound_is_money(cents in 1_u64..1_000_000_000_000_000_000) {
            let amount = format!("{}.{:02}", cents / 100, cents % 100);
            prop_assert!(Money::parse(&amount, "EUR").is_ok(), "{}", amount);
            prop_assert!(Money::parse(&cents.to_string(), "JPY").is_ok(), "{}", cents);
        }
    }
}
