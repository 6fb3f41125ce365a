//! Fields, values and their types.

use super::{FactScope, RuleCompiler, nearest};
use crate::fact::{COMMON_FIELDS, FactField, FactKind, FactType, FactValue};
use crate::plan::{FieldOf, FieldTest, Operand};
use crate::position::{ExprError, ExprSpan};
use crate::syntax::{CompareWord, LikeWord, ValueExpr, ValueTerm};
use globset::GlobBuilder;
use regex::RegexBuilder;

/// The largest compiled pattern, in bytes.
const PATTERN: usize = 1 << 20;

/// Types without the words of a word.
fn plain(found: FactType) -> FactType {
    match found {
        FactType::Word(_) => FactType::Text,
        other => other,
    }
}

fn is_text(found: FactType) -> bool {
    matches!(found, FactType::Text | FactType::Word(_) | FactType::List)
}

impl RuleCompiler<'_> {
    pub(super) fn comparison(
        &mut self,
        word: CompareWord,
        at: ExprSpan,
        (left, right): (&ValueExpr, &ValueExpr),
        kind: FactKind,
        scope: FactScope<'_>,
    ) -> Result<FieldTest, ExprError> {
        let (one, one_type) = self.operand(left, kind, scope)?;
        let (other, other_type) = self.operand(right, kind, scope)?;
        self.known_word(one_type, right)?;
        self.known_word(other_type, left)?;
        let textual = is_text(one_type) && is_text(other_type);
        if plain(one_type) != plain(other_type) && !textual {
            let message = format!("{} cannot be compared with {}", shown(one_type), shown(other_type));
            return Err(self.error(left.at.to(right.at), message, example(one_type)));
        }
        let ordered = !matches!(word, CompareWord::Equal | CompareWord::Unequal);
        if ordered && matches!(one_type, FactType::Bool | FactType::Word(_) | FactType::List) {
            let message = format!("{} has no order", shown(one_type));
            return Err(self.error(at, message, "use == or !="));
        }
        Ok(FieldTest::Compare(word, one, other))
    }

    pub(super) fn membership(
        &mut self,
        value: &ValueExpr,
        items: &[ValueExpr],
        kind: FactKind,
        scope: FactScope<'_>,
    ) -> Result<FieldTest, ExprError> {
        let (operand, found) = self.operand(value, kind, scope)?;
        let mut values = Vec::new();
        for item in items {
            self.known_word(found, item)?;
            let (Operand::Value(value), item_type) = self.operand(item, kind, scope)? else {
                return Err(self.error(item.at, "a list contains values, not fields", "compare with == and `or`"));
            };
            if plain(found) != plain(item_type) && !(is_text(found) && is_text(item_type)) {
                let message = format!("{} is never {}", shown(found), shown(item_type));
                return Err(self.error(item.at, message, example(found)));
            }
            values.push(value);
        }
        Ok(FieldTest::In(operand, values))
    }

    pub(super) fn likeness(
        &mut self,
        word: LikeWord,
        (value, other): (&ValueExpr, &ValueExpr),
        kind: FactKind,
        scope: FactScope<'_>,
    ) -> Result<FieldTest, ExprError> {
        let (operand, found) = self.operand(value, kind, scope)?;
        if !is_text(found) {
            let message = format!("{} is not a text", shown(found));
            return Err(self.error(value.at, message, example(found)));
        }
        if let LikeWord::Matches | LikeWord::Glob = word {
            let ValueTerm::Text(pattern) = &other.term else {
                let hint =
                    "write the pattern in quotes; to compare with a field use ==, contains, starts with, ends with";
                return Err(self.error(other.at, "expected a pattern", hint));
            };
            return match word {
                LikeWord::Glob => GlobBuilder::new(pattern)
                    .literal_separator(true)
                    .build()
                    .map(|glob| FieldTest::Glob(operand, glob.compile_matcher()))
                    .map_err(|error| {
                        self.error(other.at, format!("not a glob: {}", error.kind()), "for example \"src/**/*.rs\"")
                    }),
                _ => RegexBuilder::new(pattern)
                    .size_limit(PATTERN)
                    .build()
                    .map(|pattern| FieldTest::Matches(operand, pattern))
                    .map_err(|error| {
                        let text = error.to_string();
                        let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                        self.error(other.at, format!("not a regular expression: {reason}"), "")
                    }),
            };
        }
        let (part, part_type) = self.operand(other, kind, scope)?;
        if !is_text(part_type) {
            let message = format!("{} is not a text", shown(part_type));
            return Err(self.error(other.at, message, "write it in quotes"));
        }
        Ok(match word {
            LikeWord::StartsWith => FieldTest::StartsWith(operand, part),
            LikeWord::EndsWith => FieldTest::EndsWith(operand, part),
            LikeWord::Contains | LikeWord::Matches | LikeWord::Glob => FieldTest::Contains(operand, part),
        })
    }

    /// A value that is a test by itself.
    pub(super) fn truth(
        &mut self,
        value: &ValueExpr,
        kind: FactKind,
        scope: FactScope<'_>,
    ) -> Result<FieldTest, ExprError> {
        if let ValueTerm::Function { function, argument, .. } = &value.term
            && function == "has"
        {
            let (Operand::Field(field), _) = self.operand(argument, kind, scope)? else {
                return Err(self.error(argument.at, "`has` needs a field", "write has(error)"));
            };
            return Ok(FieldTest::Has(field));
        }
        match self.operand(value, kind, scope)? {
            (operand, FactType::Bool) => Ok(FieldTest::True(operand)),
            (_, found) => {
                let message = format!("{} alone is not a test", shown(found));
                Err(self.error(value.at, message, example(found)))
            }
        }
    }

    /// Refuses a word that a field never is.
    fn known_word(&self, found: FactType, value: &ValueExpr) -> Result<(), ExprError> {
        let (FactType::Word(known), ValueTerm::Text(text)) = (found, &value.term) else { return Ok(()) };
        if known.contains(&text.as_str()) {
            return Ok(());
        }
        let hint = nearest(text, known.iter().copied(), "the words are");
        Err(self.error(value.at, format!("this is never {text:?}"), hint))
    }

    fn operand(
        &mut self,
        value: &ValueExpr,
        kind: FactKind,
        scope: FactScope<'_>,
    ) -> Result<(Operand, FactType), ExprError> {
        let value_of = |value: FactValue, found: FactType| Ok((Operand::Value(value), found));
        match &value.term {
            ValueTerm::Text(text) => value_of(FactValue::Text(text.clone()), FactType::Text),
            ValueTerm::Number(number) => value_of(FactValue::Number(*number), FactType::Number),
            ValueTerm::Duration(ms) => value_of(FactValue::Duration(*ms), FactType::Duration),
            ValueTerm::Money(nanos) => value_of(FactValue::Money(*nanos), FactType::Money),
            ValueTerm::Bool(yes) => value_of(FactValue::Bool(*yes), FactType::Bool),
            ValueTerm::Field(name) => self.field(kind, name, value.at, false),
            ValueTerm::Of { name, name_at, field, field_at } => {
                if let Some(own) = scope.own.get(name) {
                    return self.field(*own, field, *field_at, false);
                }
                if let Some(related) = scope.related.and_then(|names| names.get(name)) {
                    return self.field(*related, field, *field_at, true);
                }
                if scope.outer.iter().any(|names| names.contains_key(name)) {
                    let near = scope.related.and_then(|names| names.keys().next());
                    let near = near.map_or("a name".to_owned(), |near| format!("`{near}.{field}`"));
                    let message = format!("`{name}` is not directly related to this fact");
                    return Err(self.error(*name_at, message, format!("compare with {near} instead")));
                }
                let known = scope.own.keys().chain(scope.related.into_iter().flat_map(|names| names.keys()));
                let known: Vec<&str> = known.map(String::as_str).collect();
                let hint = match known.is_empty() {
                    true => "name a fact with `as`: call as edit { ... }".to_owned(),
                    false => nearest(name, known.into_iter(), "the names here are"),
                };
                Err(self.error(*name_at, format!("no fact is named `{name}` here"), hint))
            }
            ValueTerm::Function { function, function_at, argument } => {
                let (operand, found) = self.operand(argument, kind, scope)?;
                match function.as_str() {
                    "lower" if is_text(found) => Ok((Operand::Lower(Box::new(operand)), plain(found))),
                    "len" if is_text(found) => Ok((Operand::Length(Box::new(operand)), FactType::Number)),
                    "lower" | "len" => Err(self.error(argument.at, format!("{} is not a text", shown(found)), "")),
                    "has" => Err(self.error(*function_at, "`has` is a test, not a value", "write has(error) alone")),
                    other => {
                        let hint = nearest(other, ["has", "lower", "len"].into_iter(), "the functions are");
                        Err(self.error(*function_at, format!("there is no function `{other}`"), hint))
                    }
                }
            }
            ValueTerm::Sum { minus, left, right } => {
                let (one, one_type) = self.operand(left, kind, scope)?;
                let (other, other_type) = self.operand(right, kind, scope)?;
                let found = match (one_type, other_type) {
                    (FactType::Time, FactType::Time) if *minus => FactType::Duration,
                    (FactType::Time, FactType::Duration) => FactType::Time,
                    (FactType::Duration, FactType::Duration) => FactType::Duration,
                    (FactType::Number, FactType::Number) => FactType::Number,
                    (FactType::Money, FactType::Money) => FactType::Money,
                    _ => {
                        let word = if *minus { "subtracted" } else { "added" };
                        let message = format!("{} and {} cannot be {word}", shown(one_type), shown(other_type));
                        return Err(self.error(value.at, message, "for example: at - edit.at > 5m"));
                    }
                };
                let (left, right) = (Box::new(one), Box::new(other));
                Ok((Operand::Sum { minus: *minus, left, right }, found))
            }
        }
    }

    fn field(
        &mut self,
        kind: FactKind,
        name: &str,
        at: ExprSpan,
        related: bool,
    ) -> Result<(Operand, FactType), ExprError> {
        let found = FactField::ALL.iter().find(|field| field.name() == name && kind.has(**field)).copied();
        let Some(field) = found else {
            let message = format!("{} has no field `{name}`", kind.name());
            let known = kind.fields().iter().chain(&COMMON_FIELDS).map(|field| field.name());
            return Err(self.error(at, message, nearest(name, known, "its fields are")));
        };
        self.needs.insert(field);
        Ok((Operand::Field(FieldOf { related, field }), field.value_type()))
    }
}

fn shown(found: FactType) -> String {
    match found {
        FactType::Word(_) => "a word".to_owned(),
        other => format!("a {}", other.name()),
    }
}

fn example(found: FactType) -> &'static str {
    match found {
        FactType::Text | FactType::List => "write tool == \"bash\"",
        FactType::Word(_) => "write outcome == \"failed\"",
        FactType::Number => "write exit != 0",
        FactType::Bool => "write truncated, not truncated, or truncated == false",
        FactType::Time => "times are subtracted: at - edit.at > 5m",
        FactType::Duration => "write took > 30s",
        FactType::Money => "write cost > $0.50",
    }
}
