//! A rule, checked and ready to run: trees over atoms. An atom is a test that the fact alone answers, so that of a fact that is kept for
//! later only the answers are kept, and the fields that are compared with another fact.

use crate::fact::{AuditFact, FactField, FactKind, FactValue};
use crate::syntax::{CompareWord, Within};
use globset::GlobMatcher;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// How many bytes of a text that is compared with another fact are kept. Two longer texts are the same if their digests are.
const KEPT: usize = 4_096;

/// Fields of a fact.
pub(crate) type FactFields = BTreeMap<FactField, FactValue>;

/// A truth that may not be known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    True,
    False,
    Unknown,
}

impl From<bool> for Truth {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

impl Truth {
    fn negated(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }
}

/// A tree of truths.
#[derive(Clone, Debug)]
pub(crate) enum TruthTree {
    /// What the fact alone answers, by the number of the atom.
    Atom(usize),
    /// A comparison with the fact that this one is related to.
    Cross(FieldTest),
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
}

/// What a fact alone answers.
#[derive(Clone, Debug)]
pub(crate) enum TruthAtom {
    /// Whether it is of a kind.
    Kind(FactKind),
    /// Whether a test of its fields holds.
    Test(FieldTest),
    /// Whether other facts are related to it, by the number of the operator.
    Temporal(usize),
}

/// A condition on one fact, perhaps in relation to another one.
#[derive(Clone, Debug)]
pub(crate) struct FactCondition {
    pub(crate) tree: TruthTree,
    pub(crate) atoms: Vec<TruthAtom>,
    /// Equalities that must hold: fields of the fact, and of the one that it is related to.
    pub(crate) key: Vec<(FactField, FactField)>,
    /// Whether nothing but the key relates the two.
    pub(crate) only_key: bool,
    /// What the fact is called in explanations.
    pub(crate) label: String,
}

/// An operator over other facts.
#[derive(Clone, Debug)]
pub(crate) struct TemporalPlan {
    pub(crate) body: FactCondition,
    pub(crate) least: usize,
    /// Whether it holds where fewer are found: `never`.
    pub(crate) none: bool,
    pub(crate) reach: TemporalReach,
    pub(crate) within: Option<Within>,
}

/// Which facts an operator is about.
#[derive(Clone, Debug)]
pub(crate) enum TemporalReach {
    /// Earlier ones.
    Past,
    /// Later ones.
    Future,
    /// All of the session.
    Whole,
    /// Earlier ones after the last of these.
    Since(FactCondition),
    /// Later ones before the next of these, or the end.
    Until(FactCondition),
}

impl TemporalPlan {
    /// Whether it holds, for a number of facts that were found. `bounded`: whether there is a fact since which they are counted; `closed`:
    /// whether nothing more can be found.
    pub(crate) fn truth(&self, count: usize, bounded: bool, closed: bool) -> Truth {
        match (count >= self.least, closed) {
            (true, _) => (!self.none).into(),
            (false, false) => Truth::Unknown,
            (false, true) if self.none => (bounded || !matches!(self.reach, TemporalReach::Since(_))).into(),
            (false, true) => Truth::False,
        }
    }

    pub(crate) fn looks_back(&self) -> bool {
        !matches!(self.reach, TemporalReach::Future | TemporalReach::Until(_))
    }

    pub(crate) fn looks_ahead(&self) -> bool {
        !matches!(self.reach, TemporalReach::Past | TemporalReach::Since(_))
    }
}

/// A rule, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct RulePlan {
    pub(crate) root: FactCondition,
    /// Operators, inner ones first.
    pub(crate) temporal: Vec<TemporalPlan>,
    /// Fields that are kept of facts that are compared later.
    pub(crate) kept: BTreeSet<FactField>,
    /// The kinds of facts that the rule names.
    pub(crate) kinds: BTreeSet<FactKind>,
    /// Every field that the rule names.
    pub(crate) needs: BTreeSet<FactField>,
}

/// A test of fields.
#[derive(Clone, Debug)]
pub(crate) enum FieldTest {
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
    Compare(CompareWord, Operand, Operand),
    In(Operand, Vec<FactValue>),
    Matches(Operand, Regex),
    Glob(Operand, GlobMatcher),
    Contains(Operand, Operand),
    StartsWith(Operand, Operand),
    EndsWith(Operand, Operand),
    Has(FieldOf),
    True(Operand),
}

/// A field of the fact, or of the one that it is related to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldOf {
    pub(crate) related: bool,
    pub(crate) field: FactField,
}

/// A value in a test.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Value(FactValue),
    Field(FieldOf),
    Lower(Box<Self>),
    Length(Box<Self>),
    Sum { minus: bool, left: Box<Self>, right: Box<Self> },
}

impl Operand {
    fn value(&self, own: &FactFields, related: &FactFields) -> Option<FactValue> {
        Some(match self {
            Self::Value(value) => value.clone(),
            Self::Field(field) => (if field.related { related } else { own }).get(&field.field)?.clone(),
            Self::Lower(inner) => match inner.value(own, related)? {
                FactValue::Text(text) => FactValue::Text(text.to_lowercase()),
                FactValue::List(items) => FactValue::List(items.iter().map(|item| item.to_lowercase()).collect()),
                other => other,
            },
            Self::Length(inner) => FactValue::Number(match inner.value(own, related)? {
                FactValue::Text(text) => text.chars().count() as i64,
                FactValue::List(items) => items.len() as i64,
                _ => return None,
            }),
            Self::Sum { minus, left, right } => {
                let (left, right) = (left.value(own, related)?, right.value(own, related)?);
                let sum = |a: i64, b: i64| if *minus { a.saturating_sub(b) } else { a.saturating_add(b) };
                match (left, right) {
                    (FactValue::Time(a), FactValue::Time(b)) => FactValue::Duration(a.saturating_sub(b)),
                    (FactValue::Time(a), FactValue::Duration(b)) => FactValue::Time(sum(a, b)),
                    (FactValue::Duration(a), FactValue::Duration(b)) => FactValue::Duration(sum(a, b)),
                    (FactValue::Number(a), FactValue::Number(b)) => FactValue::Number(sum(a, b)),
                    (FactValue::Money(a), FactValue::Money(b)) => FactValue::Money(sum(a, b)),
                    _ => return None,
                }
            }
        })
    }
}

/// The texts of a value.
fn texts(value: &FactValue) -> &[String] {
    match value {
        FactValue::Text(text) => std::slice::from_ref(text),
        FactValue::List(items) => items,
        _ => &[],
    }
}

impl FieldTest {
    /// Whether it holds. A comparison with a field that a fact does not have never does.
    pub(crate) fn holds(&self, own: &FactFields, related: &FactFields) -> bool {
        let any = |operand: &Operand, test: &dyn Fn(&str) -> bool| {
            operand.value(own, related).is_some_and(|value| texts(&value).iter().any(|text| test(text)))
        };
        let pair = |operand: &Operand, other: &Operand, test: &dyn Fn(&str, &str) -> bool| {
            other
                .value(own, related)
                .is_some_and(|other| any(operand, &|text| texts(&other).iter().any(|part| test(text, part))))
        };
        match self {
            Self::And(parts) => parts.iter().all(|part| part.holds(own, related)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(own, related)),
            Self::Not(part) => !part.holds(own, related),
            Self::Compare(word, left, right) => match (left.value(own, related), right.value(own, related)) {
                (Some(left), Some(right)) => compare(*word, &left, &right),
                _ => false,
            },
            Self::In(operand, items) => operand
                .value(own, related)
                .is_some_and(|value| items.iter().any(|item| compare(CompareWord::Equal, &value, item))),
            Self::Matches(operand, pattern) => any(operand, &|text| pattern.is_match(text)),
            Self::Glob(operand, pattern) => any(operand, &|text| pattern.is_match(text)),
            Self::Contains(operand, part) => match operand.value(own, related) {
                // A list contains a text as an item.
                Some(FactValue::List(_)) => pair(operand, part, &|text, part| text == part),
                _ => pair(operand, part, &|text, part| text.contains(part)),
            },
            Self::StartsWith(operand, part) => pair(operand, part, &|text, part| text.starts_with(part)),
            Self::EndsWith(operand, part) => pair(operand, part, &|text, part| text.ends_with(part)),
            Self::Has(FieldOf { related: other, field }) => (if *other { related } else { own }).contains_key(field),
            Self::True(operand) => operand.value(own, related) == Some(FactValue::Bool(true)),
        }
    }
}

/// Compares two values of one type. A list compares as any of its items.
fn compare(word: CompareWord, left: &FactValue, right: &FactValue) -> bool {
    use std::cmp::Ordering;
    let ordered = |ordering: Ordering| match word {
        CompareWord::Equal => ordering.is_eq(),
        CompareWord::Unequal => ordering.is_ne(),
        CompareWord::Less => ordering.is_lt(),
        CompareWord::AtMost => ordering.is_le(),
        CompareWord::Greater => ordering.is_gt(),
        CompareWord::AtLeast => ordering.is_ge(),
    };
    match (left, right) {
        (FactValue::Number(a), FactValue::Number(b))
        | (FactValue::Time(a), FactValue::Time(b))
        | (FactValue::Duration(a), FactValue::Duration(b))
        | (FactValue::Money(a), FactValue::Money(b)) => ordered(a.cmp(b)),
        (FactValue::Bool(a), FactValue::Bool(b)) => ordered(a.cmp(b)),
        (left, right) => {
            let equal = texts(left).iter().any(|a| texts(right).iter().any(|b| a == b));
            match word {
                CompareWord::Equal => equal,
                CompareWord::Unequal => !equal,
                _ => texts(left).iter().any(|a| texts(right).iter().any(|b| ordered(a.cmp(b)))),
            }
        }
    }
}

impl TruthTree {
    /// The truth, as far as the atoms are known. `fields` are those of the fact and of the one that it is related to.
    pub(crate) fn truth(
        &self,
        atom: &mut dyn FnMut(usize) -> Truth,
        fields: Option<(&FactFields, &FactFields)>,
    ) -> Truth {
        match self {
            Self::Atom(number) => atom(*number),
            Self::Cross(test) => fields.map_or(Truth::Unknown, |(own, related)| test.holds(own, related).into()),
            Self::Not(inner) => inner.truth(atom, fields).negated(),
            Self::And(parts) => {
                let mut found = Truth::True;
                for part in parts {
                    match part.truth(atom, fields) {
                        Truth::False => return Truth::False,
                        Truth::Unknown => found = Truth::Unknown,
                        Truth::True => {}
                    }
                }
                found
            }
            Self::Or(parts) => {
                let mut found = Truth::False;
                for part in parts {
                    match part.truth(atom, fields) {
                        Truth::True => return Truth::True,
                        Truth::Unknown => found = Truth::Unknown,
                        Truth::False => {}
                    }
                }
                found
            }
        }
    }
}

impl FactCondition {
    /// The key of a fact, by its own fields; `None` if it lacks one, and so is never equal.
    pub(crate) fn own_key(&self, fields: &FactFields) -> Option<String> {
        key(self.key.iter().map(|(own, _)| own), fields)
    }

    /// The key that facts related to this one have.
    pub(crate) fn related_key(&self, fields: &FactFields) -> Option<String> {
        key(self.key.iter().map(|(_, related)| related), fields)
    }
}

fn key<'f>(names: impl Iterator<Item = &'f FactField>, fields: &FactFields) -> Option<String> {
    let mut key = String::new();
    for name in names {
        let value = match fields.get(name)? {
            FactValue::Text(text) => text.clone(),
            FactValue::Bool(value) => value.to_string(),
            FactValue::Number(value)
            | FactValue::Time(value)
            | FactValue::Duration(value)
            | FactValue::Money(value) => value.to_string(),
            FactValue::List(_) => return None,
        };
        key.push_str(&format!("{}:{value};", value.len()));
    }
    Some(key)
}

/// The fields of a fact that are kept for comparisons.
pub(crate) fn kept_fields(fact: &AuditFact, kept: &BTreeSet<FactField>) -> FactFields {
    let short = |value: &FactValue| match value {
        FactValue::Text(text) if text.len() > KEPT => {
            let end = (0..=KEPT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
            let digest = annals_core::Digest::of(text.as_bytes());
            FactValue::Text(format!("{}\u{2026}{digest}", text.get(..end).unwrap_or_default()))
        }
        FactValue::List(items) => FactValue::List(items.iter().take(64).cloned().collect()),
        value => value.clone(),
    };
    fact.fields.iter().filter(|(field, _)| kept.contains(field)).map(|(field, value)| (*field, short(value))).collect()
}
