//! Takes reports from `tracing`.

use super::{Report, Shared};
use std::fmt;
use std::sync::Arc;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// The layer.
pub(super) struct Reports(pub(super) Arc<Shared>);

impl<S: Subscriber> Layer<S> for Reports {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut report = Report {
            level: *metadata.level(),
            target: metadata.target(),
            line: metadata.line().unwrap_or_default(),
            message: String::new(),
            fields: Vec::new(),
        };
        event.record(&mut Fields(&mut report));
        self.0.report(&report);
    }
}

struct Fields<'r>(&'r mut Report);

impl Fields<'_> {
    fn take(&mut self, field: &Field, value: String) {
        match field.name() {
            "message" => self.0.message = value,
            name => self.0.fields.push((name, value)),
        }
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, format!("{value:?}"));
    }
}
