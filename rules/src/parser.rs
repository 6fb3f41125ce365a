//! From words to an expression. `docs/rules.md` has the grammar.

mod test;

use crate::position::{ExprError, ExprSpan};
use crate::syntax::{PatternExpr, RuleExpr, TemporalBound, TemporalExpr, TemporalWord, Within};
use crate::token::{RuleToken, RuleWord, words};

/// How deep an expression may be nested.
const DEEPEST: usize = 48;

/// Words that name no kind.
const KEYWORDS: [&str; 16] = [
    "and", "or", "not", "after", "before", "exists", "never", "always", "since", "until", "within", "as", "at",
    "least", "start", "end",
];

pub(crate) struct RuleParser<'s> {
    source: &'s str,
    tokens: Vec<RuleToken>,
    next: usize,
    depth: usize,
}

/// Reads an expression.
pub(crate) fn parse(source: &str) -> Result<RuleExpr, ExprError> {
    let tokens = words(source)?;
    let mut parser = RuleParser { source, tokens, next: 0, depth: 0 };
    if parser.peek() == &RuleWord::End {
        return Err(parser.error("the expression is empty", "write a kind of fact: call { tool == \"bash\" }"));
    }
    let expr = parser.any()?;
    match parser.peek() {
        RuleWord::End => Ok(expr),
        RuleWord::Sign("}" | ")" | "]") => Err(parser.error("this bracket closes nothing", "")),
        _ => Err(parser.error(format!("unexpected {}", parser.shown()), "join expressions with `and` or `or`")),
    }
}

impl RuleParser<'_> {
    fn peek(&self) -> &RuleWord {
        self.tokens.get(self.next).map_or(&RuleWord::End, |token| &token.word)
    }

    fn span(&self) -> ExprSpan {
        let end = ExprSpan { start: self.source.len(), end: self.source.len() };
        self.tokens.get(self.next).map_or(end, |token| token.span)
    }

    fn advance(&mut self) {
        self.next += 1;
    }

    fn error(&self, message: impl Into<String>, hint: impl Into<String>) -> ExprError {
        ExprError::at(self.source, self.span(), message, hint)
    }

    /// The next word, for a message.
    fn shown(&self) -> String {
        let span = self.span();
        match self.peek() {
            RuleWord::End => "end of the expression".to_owned(),
            _ => format!("`{}`", self.source.get(span.start..span.end).unwrap_or_default()),
        }
    }

    fn is(&self, keyword: &str) -> bool {
        let sign = match keyword {
            "and" => "&&",
            "or" => "||",
            "not" => "!",
            other => other,
        };
        match self.peek() {
            RuleWord::Name(name) => name == keyword,
            RuleWord::Sign(found) => *found == sign,
            _ => false,
        }
    }

    fn takes(&mut self, keyword: &str) -> bool {
        let found = self.is(keyword);
        self.next += usize::from(found);
        found
    }

    fn expects(&mut self, sign: &'static str, place: &str) -> Result<(), ExprError> {
        match self.takes(sign) {
            true => Ok(()),
            false => Err(self.error(format!("expected `{sign}` {place}, found {}", self.shown()), "")),
        }
    }

    /// Counts the nesting, so that no expression overflows the stack.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, ExprError>) -> Result<T, ExprError> {
        if self.depth >= DEEPEST {
            return Err(self.error(format!("expressions are nested at most {DEEPEST} deep"), "split the rule"));
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn any(&mut self) -> Result<RuleExpr, ExprError> {
        self.nested(|parser| {
            let mut parts = vec![parser.all()?];
            while parser.takes("or") {
                parts.push(parser.all()?);
            }
            Ok(one_or(parts, RuleExpr::Or))
        })
    }

    fn all(&mut self) -> Result<RuleExpr, ExprError> {
        let mut parts = vec![self.chain()?];
        while self.takes("and") {
            parts.push(self.chain()?);
        }
        Ok(one_or(parts, RuleExpr::And))
    }

    /// `A after B after C` is `A after (B after C)`.
    fn chain(&mut self) -> Result<RuleExpr, ExprError> {
        self.nested(|parser| {
            let begin = parser.span();
            let left = parser.unary()?;
            if parser.is("since") || parser.is("until") {
                return parser.bounded(left, begin);
            }
            let negated = parser.is("not") && parser.followed_by(&["after", "before"]);
            parser.next += usize::from(negated);
            if !parser.is("after") && !parser.is("before") {
                return Ok(left);
            }
            if matches!(left, RuleExpr::Not(_)) {
                let hint = "write `not (A after B)`, or `A and not after B`";
                return Err(parser.error("it is not clear what `not` is about", hint));
            }
            let link = parser.link()?;
            let link = if negated { RuleExpr::Not(Box::new(link)) } else { link };
            Ok(RuleExpr::And(vec![left, link]))
        })
    }

    fn followed_by(&self, keywords: &[&str]) -> bool {
        let next = self.tokens.get(self.next + 1).map(|token| &token.word);
        matches!(next, Some(RuleWord::Name(name)) if keywords.contains(&name.as_str()))
    }

    /// `not A since B`; a bare `A since B` may mean three things.
    fn bounded(&mut self, left: RuleExpr, at: ExprSpan) -> Result<RuleExpr, ExprError> {
        let RuleExpr::Not(body) = left else {
            let hint = "write `exists A since B`, `never A since B`, or `always A since B`";
            return Err(self.error(format!("{} needs a quantity before it", self.shown()), hint));
        };
        let bound = self.bound()?;
        let within = self.within()?;
        let temporal = TemporalExpr { operator: TemporalWord::Never, at, body: *body, bound, within };
        Ok(RuleExpr::Temporal(Box::new(temporal)))
    }

    /// `after E [within W]`, `before E [within W]`
    fn link(&mut self) -> Result<RuleExpr, ExprError> {
        let at = self.span();
        let operator = if self.is("after") { TemporalWord::After } else { TemporalWord::Before };
        self.advance();
        let body = self.chain()?;
        let within = self.within()?;
        let bound = match operator {
            TemporalWord::After => TemporalBound::SinceStart,
            _ => TemporalBound::UntilEnd,
        };
        Ok(RuleExpr::Temporal(Box::new(TemporalExpr { operator, at, body, bound, within })))
    }

    fn unary(&mut self) -> Result<RuleExpr, ExprError> {
        self.nested(|parser| {
            if parser.takes("not") {
                return Ok(RuleExpr::Not(Box::new(parser.unary()?)));
            }
            if parser.takes("(") {
                let inner = parser.any()?;
                parser.expects(")", "after this expression")?;
                return Ok(inner);
            }
            if parser.is("after") || parser.is("before") {
                return parser.link();
            }
            let at = parser.span();
            let operator = match parser.peek() {
                RuleWord::Name(name) => match name.as_str() {
                    "exists" => Some(TemporalWord::AtLeast(1)),
                    "never" => Some(TemporalWord::Never),
                    "always" => Some(TemporalWord::Always),
                    "at" => return parser.at_least(at),
                    _ => None,
                },
                _ => None,
            };
            match operator {
                Some(operator) => {
                    parser.advance();
                    parser.quantified(operator, at)
                }
                None => parser.pattern().map(RuleExpr::Pattern),
            }
        })
    }

    fn at_least(&mut self, at: ExprSpan) -> Result<RuleExpr, ExprError> {
        self.advance();
        if !self.takes("least") {
            return Err(self.error("expected `least`", "write `at least 3 call { ... }`"));
        }
        let RuleWord::Number(count @ 1..=1_000) = *self.peek() else {
            return Err(self.error("expected a number from 1 to 1000", "write `at least 3 call { ... }`"));
        };
        self.advance();
        self.quantified(TemporalWord::AtLeast(count.unsigned_abs()), at)
    }

    fn quantified(&mut self, operator: TemporalWord, at: ExprSpan) -> Result<RuleExpr, ExprError> {
        let body = match self.is("(") {
            true => self.unary()?,
            false => {
                // `since` and `until` belong to the quantity, not to its pattern.
                let pattern = RuleExpr::Pattern(self.pattern()?);
                match self.is("after") || self.is("before") {
                    true => RuleExpr::And(vec![pattern, self.link()?]),
                    false => pattern,
                }
            }
        };
        let bound = if self.is("since") || self.is("until") { self.bound()? } else { TemporalBound::Whole };
        let within = self.within()?;
        Ok(RuleExpr::Temporal(Box::new(TemporalExpr { operator, at, body, bound, within })))
    }

    fn bound(&mut self) -> Result<TemporalBound, ExprError> {
        let since = self.is("since");
        self.advance();
        Ok(match (since, self.takes(if since { "start" } else { "end" })) {
            (true, true) => TemporalBound::SinceStart,
            (false, true) => TemporalBound::UntilEnd,
            (true, false) => TemporalBound::Since(self.chain()?),
            (false, false) => TemporalBound::Until(self.chain()?),
        })
    }

    fn within(&mut self) -> Result<Option<Within>, ExprError> {
        if !self.takes("within") {
            return Ok(None);
        }
        let hint = "write `within 20 events`, `within 3 turns` or `within 5m`";
        let within = match *self.peek() {
            RuleWord::Duration(ms) => Within::Ms(ms.unsigned_abs()),
            RuleWord::Number(count) => {
                self.advance();
                let count = count.unsigned_abs();
                match self.peek() {
                    RuleWord::Name(unit) if unit == "events" || unit == "event" => Within::Events(count),
                    RuleWord::Name(unit) if unit == "turns" || unit == "turn" => Within::Turns(count),
                    _ => return Err(self.error("expected `events` or `turns`", hint)),
                }
            }
            _ => return Err(self.error("expected a distance", hint)),
        };
        self.advance();
        Ok(Some(within))
    }

    fn pattern(&mut self) -> Result<Box<PatternExpr>, ExprError> {
        let kind_at = self.span();
        let kind = match self.peek() {
            RuleWord::Name(name) if !KEYWORDS.contains(&name.as_str()) => name.clone(),
            _ => {
                let hint = "a kind is call, result, prompt, answer, ... (annals audit --fields lists them)";
                return Err(self.error(format!("expected a kind of fact, found {}", self.shown()), hint));
            }
        };
        self.advance();
        let mut name = None;
        if self.takes("as") {
            let at = self.span();
            let RuleWord::Name(found) = self.peek() else {
                return Err(self.error("expected a name after `as`", "write `call as edit { ... }`"));
            };
            if KEYWORDS.contains(&found.as_str()) {
                return Err(self.error(format!("`{found}` is a keyword"), "choose another name"));
            }
            name = Some((found.clone(), at));
            self.advance();
        }
        let mut test = None;
        if self.takes("{") {
            if !self.is("}") {
                test = Some(self.test()?);
            }
            self.expects("}", "after the tests of this fact")?;
        }
        Ok(Box::new(PatternExpr { kind, kind_at, name, test }))
    }
}

fn one_or<T>(mut parts: Vec<T>, several: impl FnOnce(Vec<T>) -> T) -> T {
    match parts.pop() {
        Some(one) if parts.is_empty() => one,
        Some(last) => {
            parts.push(last);
            several(parts)
        }
        None => several(parts),
    }
}
