//! From an expression to a plan: kinds, names, fields and types are checked here, so that a plan cannot fail.

mod operand;

use crate::fact::{FactField, FactKind};
use crate::parser::parse;
use crate::plan::{
    FactCondition, FieldOf, FieldTest, Operand, RulePlan, TemporalPlan, TemporalReach, TruthAtom, TruthTree,
};
use crate::position::{ExprError, ExprSpan};
use crate::syntax::{CompareWord, PatternExpr, RuleExpr, TemporalBound, TemporalExpr, TemporalWord, TestExpr};
use std::collections::{BTreeMap, BTreeSet};

/// How many operators over other facts a rule may have.
const OPERATORS: usize = 24;

/// The names of one fact, with the kinds that it has under them.
type FactNames = BTreeMap<String, FactKind>;

/// Which facts a test may name.
#[derive(Clone, Copy)]
struct FactScope<'n> {
    own: &'n FactNames,
    /// The fact that this one is related to.
    related: Option<&'n FactNames>,
    /// Further out: not comparable, named in the error.
    outer: &'n [&'n FactNames],
}

struct RuleCompiler<'s> {
    source: &'s str,
    temporal: Vec<TemporalPlan>,
    kept: BTreeSet<FactField>,
    needs: BTreeSet<FactField>,
    kinds: BTreeSet<FactKind>,
}

/// Reads and checks an expression.
pub(crate) fn compile(source: &str) -> Result<RulePlan, ExprError> {
    let mut expr = parse(source)?;
    if !anchored(&expr) {
        // It is about the session as a whole.
        let session = PatternExpr { kind: "session".into(), kind_at: ExprSpan::default(), name: None, test: None };
        expr = RuleExpr::And(vec![RuleExpr::Pattern(Box::new(session)), expr]);
    }
    let (temporal, kept, needs, kinds) = (Vec::new(), BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut compiler = RuleCompiler { source, temporal, kept, needs, kinds };
    let root = compiler.condition(&expr, None, &[])?;
    let RuleCompiler { temporal, kept, needs, kinds, .. } = compiler;
    Ok(RulePlan { root, temporal, kept, kinds, needs })
}

/// Whether it holds only for facts of kinds that it names.
fn anchored(expr: &RuleExpr) -> bool {
    match expr {
        RuleExpr::Pattern(_) => true,
        RuleExpr::And(parts) => parts.iter().any(anchored),
        RuleExpr::Or(parts) => parts.iter().all(anchored),
        RuleExpr::Not(_) | RuleExpr::Temporal(_) => false,
    }
}

/// The patterns for the fact itself.
fn patterns<'e>(expr: &'e RuleExpr, found: &mut Vec<&'e PatternExpr>) {
    match expr {
        RuleExpr::Pattern(pattern) => found.push(pattern),
        RuleExpr::And(parts) | RuleExpr::Or(parts) => parts.iter().for_each(|part| patterns(part, found)),
        RuleExpr::Not(_) | RuleExpr::Temporal(_) => {}
    }
}

impl RuleCompiler<'_> {
    fn error(&self, at: ExprSpan, message: impl Into<String>, hint: impl Into<String>) -> ExprError {
        ExprError::at(self.source, at, message, hint)
    }

    fn kind(&self, pattern: &PatternExpr) -> Result<FactKind, ExprError> {
        let found = FactKind::ALL.iter().find(|kind| kind.name() == pattern.kind);
        found.copied().ok_or_else(|| {
            let names = FactKind::ALL.iter().map(|kind| kind.name());
            let message = format!("there is no kind of fact `{}`", pattern.kind);
            self.error(pattern.kind_at, message, nearest(&pattern.kind, names, "the kinds are"))
        })
    }

    /// A condition on one fact: a level of the expression.
    fn condition(
        &mut self,
        expr: &RuleExpr,
        related: Option<&FactNames>,
        outer: &[&FactNames],
    ) -> Result<FactCondition, ExprError> {
        let mut found = Vec::new();
        patterns(expr, &mut found);
        let mut own = FactNames::new();
        let mut label = None;
        for pattern in found {
            let kind = self.kind(pattern)?;
            label.get_or_insert_with(|| pattern.name.as_ref().map_or(kind.name(), |(name, _)| name).to_owned());
            if let Some((name, at)) = &pattern.name
                && own.insert(name.clone(), kind).is_some_and(|before| before != kind)
            {
                return Err(self.error(*at, format!("`{name}` names facts of two kinds"), "choose another name"));
            }
        }
        let scope = FactScope { own: &own, related, outer };
        let mut atoms = Vec::new();
        let tree = self.tree(expr, scope, &mut atoms)?;
        let mut key = Vec::new();
        keys(&tree, &mut key);
        let mut crosses = 0;
        visit_crosses(&tree, &mut |test| {
            crosses += 1;
            visit_fields(test, &mut |field| {
                self.kept.insert(field.field);
            });
        });
        let only_key = crosses == key.len();
        let label = label.unwrap_or_else(|| "event".to_owned());
        Ok(FactCondition { tree, atoms, key, only_key, label })
    }

    fn tree(
        &mut self,
        expr: &RuleExpr,
        scope: FactScope<'_>,
        atoms: &mut Vec<TruthAtom>,
    ) -> Result<TruthTree, ExprError> {
        let mut several = |parts: &[RuleExpr], atoms: &mut Vec<TruthAtom>| {
            parts.iter().map(|part| self.tree(part, scope, atoms)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match expr {
            RuleExpr::And(parts) => TruthTree::And(several(parts, atoms)?),
            RuleExpr::Or(parts) => TruthTree::Or(several(parts, atoms)?),
            RuleExpr::Not(inner) => TruthTree::Not(Box::new(self.tree(inner, scope, atoms)?)),
            RuleExpr::Pattern(pattern) => {
                let kind = self.kind(pattern)?;
                self.kinds.insert(kind);
                let mut parts = vec![atom(TruthAtom::Kind(kind), atoms)];
                if let Some(test) = &pattern.test {
                    let test = self.test(test, kind, scope)?;
                    parts.push(tree_of(test, atoms));
                }
                TruthTree::And(parts)
            }
            RuleExpr::Temporal(temporal) => {
                let number = self.temporal(temporal, scope)?;
                atom(TruthAtom::Temporal(number), atoms)
            }
        })
    }

    fn temporal(&mut self, expr: &TemporalExpr, scope: FactScope<'_>) -> Result<usize, ExprError> {
        let mut outer: Vec<&FactNames> = scope.related.into_iter().collect();
        outer.extend(scope.outer);
        let inside = scope.related.is_some();
        if inside && !matches!(expr.bound, TemporalBound::SinceStart | TemporalBound::Since(_)) {
            let hint = "inside of another operator, relate a fact to earlier ones: after, or exists ... since start";
            return Err(self.error(expr.at, "only the reported fact can be related to later facts", hint));
        }
        let mut body = &expr.body;
        let negated;
        if expr.operator == TemporalWord::Always {
            let pattern = match body {
                RuleExpr::Pattern(pattern) => pattern.test.as_ref().map(|test| (pattern, test)),
                _ => None,
            };
            let Some((pattern, test)) = pattern else {
                let hint = "write `always call { tool != \"bash\" }`";
                return Err(self.error(expr.at, "`always` needs a kind with a test", hint));
            };
            let test = Some(TestExpr::Not(Box::new(test.clone())));
            negated = RuleExpr::Pattern(Box::new(PatternExpr { test, ..(**pattern).clone() }));
            body = &negated;
        }
        let mut conditions = vec![body];
        conditions.extend(match &expr.bound {
            TemporalBound::Since(bound) | TemporalBound::Until(bound) => Some(bound),
            _ => None,
        });
        if conditions.iter().any(|condition| !anchored(condition)) {
            let hint = "name the kind of the other fact: after prune { ... }";
            return Err(self.error(expr.at, "this operator is about facts of any kind", hint));
        }
        let body = self.condition(body, Some(scope.own), &outer)?;
        let reach = match &expr.bound {
            TemporalBound::Whole => TemporalReach::Whole,
            TemporalBound::SinceStart => TemporalReach::Past,
            TemporalBound::UntilEnd => TemporalReach::Future,
            TemporalBound::Since(bound) => TemporalReach::Since(self.condition(bound, Some(scope.own), &outer)?),
            TemporalBound::Until(bound) => TemporalReach::Until(self.condition(bound, Some(scope.own), &outer)?),
        };
        if self.temporal.len() >= OPERATORS {
            let message = format!("a rule has at most {OPERATORS} operators over other facts");
            return Err(self.error(expr.at, message, "split the rule"));
        }
        let least = match expr.operator {
            TemporalWord::AtLeast(count) => usize::try_from(count).unwrap_or(usize::MAX),
            _ => 1,
        };
        let none = matches!(expr.operator, TemporalWord::Never | TemporalWord::Always);
        self.temporal.push(TemporalPlan { body, least, none, reach, within: expr.within });
        Ok(self.temporal.len() - 1)
    }

    fn test(&mut self, test: &TestExpr, kind: FactKind, scope: FactScope<'_>) -> Result<FieldTest, ExprError> {
        let mut several =
            |parts: &[TestExpr]| parts.iter().map(|part| self.test(part, kind, scope)).collect::<Result<Vec<_>, _>>();
        Ok(match test {
            TestExpr::And(parts) => FieldTest::And(several(parts)?),
            TestExpr::Or(parts) => FieldTest::Or(several(parts)?),
            TestExpr::Not(inner) => FieldTest::Not(Box::new(self.test(inner, kind, scope)?)),
            TestExpr::Compare { operator, at, left, right } => {
                self.comparison(*operator, *at, (left, right), kind, scope)?
            }
            TestExpr::In { value, items } => self.membership(value, items, kind, scope)?,
            TestExpr::Like { word, value, other } => self.likeness(*word, (value, other), kind, scope)?,
            TestExpr::Value(value) => self.truth(value, kind, scope)?,
        })
    }
}

fn atom(atom: TruthAtom, atoms: &mut Vec<TruthAtom>) -> TruthTree {
    atoms.push(atom);
    TruthTree::Atom(atoms.len() - 1)
}

/// Parts of a test that the fact alone answers, and those that compare it with another fact.
fn tree_of(test: FieldTest, atoms: &mut Vec<TruthAtom>) -> TruthTree {
    if !is_related(&test) {
        return atom(TruthAtom::Test(test), atoms);
    }
    match test {
        FieldTest::And(tests) => TruthTree::And(tests.into_iter().map(|test| tree_of(test, atoms)).collect()),
        FieldTest::Or(tests) => TruthTree::Or(tests.into_iter().map(|test| tree_of(test, atoms)).collect()),
        FieldTest::Not(test) => TruthTree::Not(Box::new(tree_of(*test, atoms))),
        test => TruthTree::Cross(test),
    }
}

/// Whether a test names the related fact.
fn is_related(test: &FieldTest) -> bool {
    let mut found = false;
    visit_fields(test, &mut |field| found |= field.related);
    found
}

/// The fields that a test names.
fn visit_fields(test: &FieldTest, visit: &mut dyn FnMut(FieldOf)) {
    fn inside(operand: &Operand, visit: &mut dyn FnMut(FieldOf)) {
        match operand {
            Operand::Value(_) => {}
            Operand::Field(field) => visit(*field),
            Operand::Lower(inner) | Operand::Length(inner) => inside(inner, visit),
            Operand::Sum { left, right, .. } => {
                inside(left, visit);
                inside(right, visit);
            }
        }
    }
    match test {
        FieldTest::And(tests) | FieldTest::Or(tests) => tests.iter().for_each(|test| visit_fields(test, visit)),
        FieldTest::Not(test) => visit_fields(test, visit),
        FieldTest::Compare(_, left, right)
        | FieldTest::Contains(left, right)
        | FieldTest::StartsWith(left, right)
        | FieldTest::EndsWith(left, right) => {
            inside(left, visit);
            inside(right, visit);
        }
        FieldTest::In(value, _) | FieldTest::Matches(value, _) | FieldTest::Glob(value, _) | FieldTest::True(value) => {
            inside(value, visit);
        }
        FieldTest::Has(field) => visit(*field),
    }
}

/// Equalities that must hold for the tree to hold.
fn keys(tree: &TruthTree, found: &mut Vec<(FactField, FactField)>) {
    match tree {
        TruthTree::And(parts) => parts.iter().for_each(|part| keys(part, found)),
        TruthTree::Cross(FieldTest::Compare(
            CompareWord::Equal,
            Operand::Field(FieldOf { related: first, field: one }),
            Operand::Field(FieldOf { related: second, field: other }),
        )) if first != second => {
            let is_list = |field: &FactField| field.value_type() == crate::fact::FactType::List;
            if !is_list(one) && !is_list(other) {
                found.push(if *first { (*other, *one) } else { (*one, *other) });
            }
        }
        _ => {}
    }
}

fn visit_crosses(tree: &TruthTree, visit: &mut dyn FnMut(&FieldTest)) {
    match tree {
        TruthTree::Atom(_) => {}
        TruthTree::Cross(test) => visit(test),
        TruthTree::Not(inner) => visit_crosses(inner, visit),
        TruthTree::And(parts) | TruthTree::Or(parts) => parts.iter().for_each(|part| visit_crosses(part, visit)),
    }
}

/// The name that was perhaps meant, or all there are.
fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>, all: &str) -> String {
    let known: Vec<&str> = known.collect();
    let close = |known: &&&str| strsim::damerau_levenshtein(name, known) <= 2 || known.starts_with(name);
    match known.iter().filter(close).min_by_key(|known| strsim::damerau_levenshtein(name, known)) {
        Some(close) => format!("did you mean `{close}`?"),
        None => format!("{all} {}", known.join(", ")),
    }
}
