//! Conditions: one small language for `ConditionExpression`, `KeyConditionExpression` and `FilterExpression`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::super::text::Text;
use super::value::{Item, Value};

/// A condition as a tree.
#[derive(Debug, PartialEq)]
pub(crate) enum Condition<'a> {
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Not(Box<Self>),
    Exists(String, bool),
    BeginsWith(Operand<'a>, Operand<'a>),
    Contains(Operand<'a>, Operand<'a>),
    Compare(Operand<'a>, Comparator, Operand<'a>),
    Between(Operand<'a>, Operand<'a>, Operand<'a>),
}

/// `=`, `<>`, `<`, `<=`, `>`, `>=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// An attribute by name, or a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    Name(String),
    Value(Value<'a>),
}

/// What the placeholders of an expression stand for.
#[derive(Clone, Copy)]
pub(crate) struct Placeholders<'p, 'a> {
    pub(crate) names: &'p BTreeMap<Text<'a>, Text<'a>>,
    pub(crate) values: &'p BTreeMap<Text<'a>, Value<'a>>,
}

/// The names of attributes that a `ProjectionExpression` lists; names alone, no paths into documents.
pub(crate) fn projection(text: &str, names: &BTreeMap<Text<'_>, Text<'_>>) -> Result<Vec<String>, String> {
    let name = |listed: &str| match names.get(listed) {
        Some(name) => Ok(name.to_string()),
        None if listed.starts_with('#') => {
            Err(format!("An expression attribute name used in the document path is not defined: {listed}"))
        }
        None => plain_name(listed),
    };
    text.split(',').map(|listed| name(listed.trim())).collect()
}

/// A name that needs no placeholder.
fn plain_name(token: &str) -> Result<String, String> {
    // Those of the reserved words that tables of events meet.
    const RESERVED: [&str; 9] = ["timestamp", "state", "status", "name", "size", "key", "value", "date", "time"];
    if RESERVED.contains(&token.to_ascii_lowercase().as_str()) {
        return Err(format!("Attribute name is a reserved keyword; reserved keyword: {token}"));
    }
    Ok(token.to_owned())
}

impl<'a> Condition<'a> {
    /// Reads an expression; the error says what is wrong.
    pub(crate) fn parse(text: &str, placeholders: Placeholders<'_, 'a>) -> Result<Self, String> {
        let mut parser = Parser { tokens: tokens(text)?, at: 0, placeholders };
        let condition = parser.any()?;
        match parser.tokens.get(parser.at) {
            None => Ok(condition),
            Some(token) => Err(format!("Syntax error; token: \"{token}\"")),
        }
    }

    /// Whether `item` meets it; without an item no attribute exists.
    pub(crate) fn met_by(&self, item: &Item<'_>) -> bool {
        match self {
            Self::And(one, two) => one.met_by(item) && two.met_by(item),
            Self::Or(one, two) => one.met_by(item) || two.met_by(item),
            Self::Not(one) => !one.met_by(item),
            Self::Exists(name, wanted) => item.contains_key(name.as_str()) == *wanted,
            Self::BeginsWith(one, two) => both(one, two, item, |one, two| match (one, two) {
                (Value::S(one), Value::S(two)) => one.starts_with(&**two),
                _ => false,
            }),
            Self::Contains(one, two) => both(one, two, item, |one, two| match (one, two) {
                (Value::S(one), Value::S(two)) => one.contains(&**two),
                (Value::Strings(one), Value::S(two)) => one.contains(two),
                (Value::L(one), two) => one.contains(two),
                _ => false,
            }),
            Self::Compare(one, comparator, two) => both(one, two, item, |one, two| match comparator {
                Comparator::Equal => one == two,
                Comparator::Unequal => one != two,
                Comparator::Less => one.compare(two) == Some(Ordering::Less),
                Comparator::LessOrEqual => one.compare(two).is_some_and(Ordering::is_le),
                Comparator::Greater => one.compare(two) == Some(Ordering::Greater),
                Comparator::GreaterOrEqual => one.compare(two).is_some_and(Ordering::is_ge),
            }),
            Self::Between(value, low, high) => {
                both(value, low, item, |value, low| value.compare(low).is_some_and(Ordering::is_ge))
                    && both(value, high, item, |value, high| value.compare(high).is_some_and(Ordering::is_le))
            }
        }
    }

    /// The conditions that are joined by AND at the top.
    pub(crate) fn conjuncts(self) -> Vec<Self> {
        match self {
            Self::And(one, two) => one.conjuncts().into_iter().chain(two.conjuncts()).collect(),
            other => vec![other],
        }
    }
}

fn both(one: &Operand<'_>, two: &Operand<'_>, item: &Item<'_>, test: impl Fn(&Value<'_>, &Value<'_>) -> bool) -> bool {
    fn resolve<'v>(operand: &'v Operand<'_>, item: &'v Item<'_>) -> Option<&'v Value<'v>> {
        match operand {
            Operand::Name(name) => item.get(name.as_str()),
            Operand::Value(value) => Some(value),
        }
    }
    resolve(one, item).zip(resolve(two, item)).is_some_and(|(one, two)| test(one, two))
}

fn tokens(text: &str) -> Result<Vec<&str>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let word =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '#' | ':'))).unwrap_or(rest.len());
        let length = match word {
            0 if ["<>", "<=", ">="].iter().any(|sign| rest.starts_with(sign)) => 2,
            0 if rest.starts_with(['=', '<', '>', '(', ')', ',']) => 1,
            0 => return Err(format!("Syntax error; near: \"{rest}\"")),
            word => word,
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    Ok(found)
}

struct Parser<'t, 'p, 'a> {
    tokens: Vec<&'t str>,
    at: usize,
    placeholders: Placeholders<'p, 'a>,
}

impl<'t, 'a> Parser<'t, '_, 'a> {
    fn next(&mut self) -> Result<&'t str, String> {
        let token = self.tokens.get(self.at).ok_or("Syntax error; the expression ends early")?;
        self.at += 1;
        Ok(token)
    }

    fn skip(&mut self, word: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|token| token.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        if self.skip(word) { Ok(()) } else { Err(format!("Syntax error; expected \"{word}\"")) }
    }

    fn any(&mut self) -> Result<Condition<'a>, String> {
        let mut condition = self.all()?;
        while self.skip("OR") {
            condition = Condition::Or(Box::new(condition), Box::new(self.all()?));
        }
        Ok(condition)
    }

    fn all(&mut self) -> Result<Condition<'a>, String> {
        let mut condition = self.one()?;
        while self.skip("AND") {
            condition = Condition::And(Box::new(condition), Box::new(self.one()?));
        }
        Ok(condition)
    }

    fn one(&mut self) -> Result<Condition<'a>, String> {
        if self.skip("NOT") {
            return Ok(Condition::Not(Box::new(self.one()?)));
        }
        if self.skip("(") {
            let condition = self.any()?;
            self.expect(")")?;
            return Ok(condition);
        }
        for (function, wanted) in [("attribute_exists", true), ("attribute_not_exists", false)] {
            if self.skip(function) {
                self.expect("(")?;
                let Operand::Name(name) = self.operand()? else {
                    return Err("The operand must be a document path".into());
                };
                self.expect(")")?;
                return Ok(Condition::Exists(name, wanted));
            }
        }
        for (function, make) in
            [("begins_with", Condition::BeginsWith as fn(_, _) -> _), ("contains", Condition::Contains)]
        {
            if self.skip(function) {
                self.expect("(")?;
                let one = self.operand()?;
                self.expect(",")?;
                let two = self.operand()?;
                self.expect(")")?;
                return Ok(make(one, two));
            }
        }
        let one = self.operand()?;
        if self.skip("BETWEEN") {
            let low = self.operand()?;
            self.expect("AND")?;
            return Ok(Condition::Between(one, low, self.operand()?));
        }
        let comparator = match self.next()? {
            "=" => Comparator::Equal,
            "<>" => Comparator::Unequal,
            "<" => Comparator::Less,
            "<=" => Comparator::LessOrEqual,
            ">" => Comparator::Greater,
            ">=" => Comparator::GreaterOrEqual,
            other => return Err(format!("Syntax error; token: \"{other}\"")),
        };
        Ok(Condition::Compare(one, comparator, self.operand()?))
    }

    fn operand(&mut self) -> Result<Operand<'a>, String> {
        let token = self.next()?;
        let undefined = || format!("An expression attribute used in the expression is not defined: {token}");
        if token.starts_with(':') {
            return self.placeholders.values.get(token).cloned().map(Operand::Value).ok_or_else(undefined);
        }
        if token.starts_with('#') {
            return self
                .placeholders
                .names
                .get(token)
                .map(|name| Operand::Name(name.to_string()))
                .ok_or_else(undefined);
        }
        plain_name(token).map(Operand::Name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(text: &str, item: &str) -> Result<bool, String> {
        let names = serde_json::from_str(r##"{"#s":"state"}"##).unwrap();
        let values = serde_json::from_str(r#"{":a":{"S":"pay"},":n":{"N":"10"},":m":{"N":"20"}}"#).unwrap();
        let condition = Condition::parse(text, Placeholders { names: &names, values: &values })?;
        Ok(condition.met_by(&serde_json::from_str(item).unwrap()))
    }

    #[test]
    fn conditions_are_met_as_their_words_say() {
        let item = r#"{"state":{"S":"payment#1"},"count":{"N":"9.5"}}"#;
        assert_eq!(met("attribute_not_exists(tenant_id)", item), Ok(true));
        assert_eq!(met("begins_with(#s, :a) AND count < :n", item), Ok(true));
        assert_eq!(met("NOT (begins_with(#s, :a) OR count > :n)", item), Ok(false));
        assert_eq!(met("count BETWEEN :n AND :m", item), Ok(false));
        assert_eq!(met("missing < :n", item), Ok(false));
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        assert!(met("state = :a", "{}").unwrap_err().contains("reserved keyword: state"));
        assert!(met("count = :x", "{}").unwrap_err().contains("not defined: :x"));
        assert!(met("count = ", "{}").is_err());
        assert!(met("count ; :n", "{}").is_err());
    }
}
