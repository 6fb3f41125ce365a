//! Takes reports from `tracing`.

use super::{Diagnostic, Reporter};
use std::fmt;
use std::sync::Arc;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

pub(super) struct DiagnosticLayer(pub(super) Arc<Reporter>);

impl<S: Subscriber> Layer<S> for DiagnosticLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut report = Diagnostic {
            level: *metadata.level(),
            target: metadata.target(),
            line: metadata.line().unwrap_or_default(),
            message: String::new(),
            fields: Vec::new(),
        };
        event.record(&mut DiagnosticFields(&mut report));
        self.0.report(&report);
    }
}

struct DiagnosticFields<'r>(&'r mut Diagnostic);

impl DiagnosticFields<'_> {
    fn take(&mut self, field: &Field, value: String) {
        match field.name() {
            "message" => self.0.message = value,
            name => self.0.fields.push((name, value)),
        }
    }
}

impl Visit for DiagnosticFields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, format!("{value:?}"));
    }
}
