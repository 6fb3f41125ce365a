//! Titles, restores and departures: beside the talk, and no part of it.

use super::{but_for_time, fold, transcript};
use crate::story::{Command, Writer, commands};
use annals_projections::SessionView;
use proptest::prelude::*;
use serde_json::Value;

proptest! {
    #[test]
    fn a_title_request_changes_nothing_but_title_and_usage(commands in commands(), fail in any::<bool>()) {
        let mut writer = Writer::run(&commands);
        writer.command(&Command::EndTitle { fail: true });
        let before = writer.batches.clone();
        writer.command(&Command::AskTitle);
        let open = fold(&writer.batches);
        prop_assert!(open.session.titling.open.is_some());
        writer.command(&Command::EndTitle { fail });
        let after = fold(&writer.batches);
        prop_assert_eq!(after.session.titling.open, None);
        let before_view = fold(&before);
        prop_assert_eq!(after.usage.attempts, before_view.usage.attempts + 1);
        let talk = |view: &SessionView| {
            let mut all = but_for_time(view);
            all["session"]["title"] = Value::Null;
            all["usage"] = Value::Null;
            all
        };
        prop_assert_eq!(talk(&before_view), talk(&open));
        prop_assert_eq!(talk(&before_view), talk(&after));
        prop_assert_eq!(transcript(&before_view, &before), transcript(&after, &writer.batches));
        prop_assert_eq!(&before_view.session.anomalies, &after.session.anomalies);
        prop_assert_eq!(before_view.session.untouched, after.session.untouched, "whatever was planned still holds");
    }

    #[test]
    fn a_restore_that_is_abandoned_changes_no_view(commands in commands()) {
        let mut writer = Writer::run(&commands);
        writer.command(&Command::Restore);
        if fold(&writer.batches).session.restoring.is_some() {
            writer.command(&Command::Restore);
        }
        let before = fold(&writer.batches);
        writer.command(&Command::Restore);
        prop_assert!(fold(&writer.batches).session.restoring.is_some(), "a restart knows");
        writer.command(&Command::Restore);
        let after = fold(&writer.batches);
        prop_assert_eq!(&after.session.restoring, &None);
        prop_assert_eq!(but_for_time(&before), but_for_time(&after));
    }

    #[test]
    fn a_departure_is_open_until_it_ends_and_its_end_changes_no_view(commands in commands(), fail in any::<bool>()) {
        let mut writer = Writer::run(&commands);
        writer.command(&Command::EndStep);
        let open = fold(&writer.batches);
        writer.command(&Command::Depart { fail });
        let ended = fold(&writer.batches);
        prop_assert_eq!(open.session.departing.is_some(), open.cut() != ended.cut(), "a restart knows");
        prop_assert_eq!(&ended.session.departing, &None);
        prop_assert_eq!(but_for_time(&open), but_for_time(&ended));
    }
}
