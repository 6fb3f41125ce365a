//! Expressions as they are written.

use crate::position::ExprSpan;

/// An expression over facts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RuleExpr {
    /// `KIND as NAME { TEST }`
    Pattern(Box<PatternExpr>),
    /// `not E`
    Not(Box<Self>),
    /// `A and B`
    And(Vec<Self>),
    /// `A or B`
    Or(Vec<Self>),
    /// `after E`, `before E`, `exists E`, `never E`, `always E`, `at least N E`
    Temporal(Box<TemporalExpr>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PatternExpr {
    pub(crate) kind: String,
    pub(crate) kind_at: ExprSpan,
    pub(crate) name: Option<(String, ExprSpan)>,
    pub(crate) test: Option<TestExpr>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TemporalExpr {
    pub(crate) operator: TemporalWord,
    pub(crate) at: ExprSpan,
    pub(crate) body: RuleExpr,
    pub(crate) bound: TemporalBound,
    pub(crate) within: Option<Within>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemporalWord {
    After,
    Before,
    AtLeast(u64),
    Never,
    Always,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TemporalBound {
    Whole,
    SinceStart,
    UntilEnd,
    Since(RuleExpr),
    Until(RuleExpr),
}

/// How far another fact may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    Events(u64),
    Turns(u64),
    Ms(u64),
}

/// A test of fields.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TestExpr {
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
    Compare { operator: CompareWord, at: ExprSpan, left: ValueExpr, right: ValueExpr },
    In { value: ValueExpr, items: Vec<ValueExpr> },
    Like { word: LikeWord, value: ValueExpr, other: ValueExpr },
    Value(ValueExpr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompareWord {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LikeWord {
    Matches,
    Glob,
    Contains,
    StartsWith,
    EndsWith,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueExpr {
    pub(crate) term: ValueTerm,
    pub(crate) at: ExprSpan,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ValueTerm {
    Text(String),
    Number(i64),
    Duration(i64),
    Money(i64),
    Bool(bool),
    /// A field of the fact itself.
    Field(String),
    /// A field of a named fact.
    Of {
        name: String,
        name_at: ExprSpan,
        field: String,
        field_at: ExprSpan,
    },
    /// `has(F)`, `lower(T)`, `len(T)`
    Function {
        function: String,
        function_at: ExprSpan,
        argument: Box<ValueExpr>,
    },
    /// `A + B`, `A - B`
    Sum {
        minus: bool,
        left: Box<ValueExpr>,
        right: Box<ValueExpr>,
    },
}
