//! The tests between the braces of a pattern.

use super::{RuleParser, one_or};
use crate::position::{ExprError, ExprSpan};
use crate::syntax::{CompareWord, LikeWord, TestExpr, ValueExpr, ValueTerm};
use crate::token::RuleWord;

/// How many items a list may have.
const ITEMS: usize = 256;

impl RuleParser<'_> {
    pub(super) fn test(&mut self) -> Result<TestExpr, ExprError> {
        self.nested(|parser| {
            let mut parts = vec![parser.all_tests()?];
            while parser.takes("or") {
                parts.push(parser.all_tests()?);
            }
            Ok(one_or(parts, TestExpr::Or))
        })
    }

    fn all_tests(&mut self) -> Result<TestExpr, ExprError> {
        let mut parts = vec![self.one_test()?];
        while self.takes("and") || self.takes(",") {
            parts.push(self.one_test()?);
        }
        Ok(one_or(parts, TestExpr::And))
    }

    fn one_test(&mut self) -> Result<TestExpr, ExprError> {
        self.nested(|parser| {
            if parser.takes("not") {
                return Ok(TestExpr::Not(Box::new(parser.one_test()?)));
            }
            if parser.takes("(") {
                let inner = parser.test()?;
                parser.expects(")", "after this test")?;
                return Ok(inner);
            }
            let value = parser.value()?;
            parser.relation(value)
        })
    }

    /// What is said of a value.
    fn relation(&mut self, value: ValueExpr) -> Result<TestExpr, ExprError> {
        let at = self.span();
        // `path not glob "x"`
        if self.is("not") && self.followed_by(&["in", "matches", "glob", "contains", "starts", "ends"]) {
            self.advance();
            return Ok(TestExpr::Not(Box::new(self.relation(value)?)));
        }
        let operator = match self.peek() {
            RuleWord::Sign("==" | "=") => CompareWord::Equal,
            RuleWord::Sign("!=") => CompareWord::Unequal,
            RuleWord::Sign("<") => CompareWord::Less,
            RuleWord::Sign("<=") => CompareWord::AtMost,
            RuleWord::Sign(">") => CompareWord::Greater,
            RuleWord::Sign(">=") => CompareWord::AtLeast,
            RuleWord::Name(word) => {
                let word = match word.as_str() {
                    "in" => return self.list(value),
                    "matches" => LikeWord::Matches,
                    "glob" => LikeWord::Glob,
                    "contains" => LikeWord::Contains,
                    "starts" | "ends" => {
                        let word = if word == "starts" { LikeWord::StartsWith } else { LikeWord::EndsWith };
                        self.advance();
                        if !self.is("with") {
                            return Err(self.error("expected `with`", "write `path starts with \"src/\"`"));
                        }
                        word
                    }
                    _ => return Ok(TestExpr::Value(value)),
                };
                self.advance();
                let other = self.value()?;
                return Ok(TestExpr::Like { word, value, other });
            }
            _ => return Ok(TestExpr::Value(value)),
        };
        self.advance();
        let right = self.value()?;
        Ok(TestExpr::Compare { operator, at, left: value, right })
    }

    fn list(&mut self, value: ValueExpr) -> Result<TestExpr, ExprError> {
        self.advance();
        self.expects("[", "after `in`")?;
        let mut items = Vec::new();
        while !self.takes("]") {
            if items.len() >= ITEMS {
                return Err(self.error(format!("a list has at most {ITEMS} items"), "use `matches`"));
            }
            items.push(self.value()?);
            if !self.is("]") {
                self.expects(",", "or `]` in this list")?;
            }
        }
        Ok(TestExpr::In { value, items })
    }

    fn value(&mut self) -> Result<ValueExpr, ExprError> {
        let mut left = self.atom()?;
        // Flat, so that a long sum does not make a deep tree.
        let mut count = 0;
        while matches!(self.peek(), RuleWord::Sign("+" | "-")) {
            let minus = self.is("-");
            count += 1;
            if count > 16 {
                return Err(self.error("a sum has at most 16 parts", ""));
            }
            self.advance();
            let right = self.atom()?;
            let at = left.at.to(right.at);
            left = ValueExpr { term: ValueTerm::Sum { minus, left: Box::new(left), right: Box::new(right) }, at };
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<ValueExpr, ExprError> {
        let at = self.span();
        let term = match self.peek().clone() {
            RuleWord::Text(text) => ValueTerm::Text(text),
            RuleWord::Number(number) => ValueTerm::Number(number),
            RuleWord::Duration(ms) => ValueTerm::Duration(ms),
            RuleWord::Money(nanos) => ValueTerm::Money(nanos),
            RuleWord::Name(name) if name == "true" || name == "false" => ValueTerm::Bool(name == "true"),
            RuleWord::Name(name) => return self.named(name, at),
            _ => {
                let message = format!("expected a field or a value, found {}", self.shown());
                return Err(self.error(message, "texts are in quotes: tool == \"bash\""));
            }
        };
        self.advance();
        Ok(ValueExpr { term, at })
    }

    /// A field, a field of a named fact, or a function.
    fn named(&mut self, name: String, at: ExprSpan) -> Result<ValueExpr, ExprError> {
        self.advance();
        if self.takes("(") {
            let argument = Box::new(self.nested(Self::value)?);
            let end = self.span();
            self.expects(")", "after the argument")?;
            let term = ValueTerm::Function { function: name, function_at: at, argument };
            return Ok(ValueExpr { term, at: at.to(end) });
        }
        if !self.takes(".") {
            return Ok(ValueExpr { term: ValueTerm::Field(name), at });
        }
        let field_at = self.span();
        let RuleWord::Name(field) = self.peek().clone() else {
            return Err(self.error("expected a field after `.`", "write NAME.path"));
        };
        self.advance();
        Ok(ValueExpr { term: ValueTerm::Of { name, name_at: at, field, field_at }, at: at.to(field_at) })
    }
}
