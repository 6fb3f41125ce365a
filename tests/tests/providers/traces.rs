//! Everything that is traced, at every level, kept for the question whether a secret is in it.

use std::fmt::Debug;
use std::sync::{Mutex, Once, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

static TRACED: Mutex<String> = Mutex::new(String::new());

struct Collector;

struct Fields<'t>(&'t mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

fn keep(metadata: &Metadata<'_>, record: impl FnOnce(&mut Fields<'_>)) {
    let mut traced = TRACED.lock().unwrap_or_else(PoisonError::into_inner);
    traced.push_str(metadata.target());
    record(&mut Fields(&mut traced));
    traced.push('\n');
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        keep(span.metadata(), |fields| span.record(fields));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut traced = TRACED.lock().unwrap_or_else(PoisonError::into_inner);
        values.record(&mut Fields(&mut traced));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        keep(event.metadata(), |fields| event.record(fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Collects from here on.
pub fn collect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Collector).expect("no test sets another one"));
}

/// What was traced so far, by all tests of this process.
pub fn all() -> String {
    TRACED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
