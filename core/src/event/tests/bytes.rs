use super::samples::{samples, variants};
use crate::event::{DecodeError, Event, Kind};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// `NUMBER NAME HEX` for every kind: the codec form of the facts in `events.jsonl`.
const PINNED: &str = include_str!("../../../../fixtures/events.hex");

fn encoded(event: &Event) -> Vec<u8> {
    let mut out = Vec::new();
    event.write_payload(&mut out).unwrap();
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    assert_eq!(text.len() % 2, 0);
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The payload as `bincode` 1.3.3 writes it, and the fact that it reads from those bytes.
macro_rules! oracle {
    ($event:expr, $( $group:ident $set:ident { $($variant:ident $kind:ident)* } )*) => {
        match $event {
            $( Event::$group(event) => match event {
                $( crate::event::$set::$variant(payload) => {
                    let payload: &crate::event::$kind = payload;
                    let bytes = bincode::serialize(payload).unwrap();
                    let read: crate::event::$kind = bincode::deserialize(&bytes).unwrap();
                    (bytes, Event::from(read))
                } )*
            }, )*
        }
    };
}

fn bincode_1(event: &Event) -> (Vec<u8>, Event) {
    oracle!(
        event,
        Session SessionEvent {
            Created SessionCreated Forked SessionForked Titled SessionTitled Moved SessionMoved
            AgentSwitched AgentSwitched ModelSwitched ModelSwitched TitleFailed TitleFailed
            ProcessAttached ProcessAttached
        }
        Input InputEvent {
            Admitted InputAdmitted Promoted InputPromoted Withdrawn InputWithdrawn
            DeliveryChanged InputDeliveryChanged Configured InputConfigured
        }
        Context ContextEvent {
            EpochStarted EpochStarted EpochReplacementBlocked EpochReplacementBlocked Admitted ContextAdmitted
            SnapshotAdvanced SnapshotAdvanced InstructionDiscovered InstructionDiscovered
        }
        Profile ProfileEvent {
            AgentRecorded AgentProfileRecorded ModelRecorded ModelProfileRecorded ToolsRecorded ToolsRecorded
            OptionsRecorded OptionsRecorded
        }
        Step StepEvent {
            RequestSent RequestSent Started StepStarted Ended StepEnded Failed StepFailed
            RetryScheduled RetryScheduled TextEnded TextEnded ReasoningEnded ReasoningEnded
            RequestRecorded RequestRecorded AnswerRecorded AnswerRecorded
        }
        Tool ToolEvent {
            Called ToolCalled Progressed ToolProgressed Settled ToolSettled
        }
        Permission PermissionEvent {
            Asked PermissionAsked Replied PermissionReplied
        }
        Compaction CompactionEvent {
            Started CompactionStarted Ended CompactionEnded Failed CompactionFailed Undone CompactionUndone
            ToolOutputsPruned ToolOutputsPruned Completed CompactionCompleted ToolOutputsReduced ToolOutputsReduced
            CallsReduced CallsReduced
        }
        Message MessageEvent {
            Pinned MessagePinned Unpinned MessageUnpinned SyntheticAdded SyntheticAdded ShellRan ShellRan
            TodoUpdated TodoUpdated RedactionApplied RedactionApplied Edited MessagesEdited UnknownPart PartUnknown
        }
        Files FilesEvent {
            Captured FilesCaptured Summarised FilesSummarised RevertStaged RevertStaged
            RevertCleared RevertCleared RevertCommitted RevertCommitted RestoreBegun RestoreBegun
            RestoreAbandoned RestoreAbandoned DepartureBegun DepartureBegun DepartureEnded DepartureEnded
        }
        Child ChildEvent {
            Started ChildStarted Settled ChildSettled
        }
        Erasure ErasureEvent {
            TextsErased TextsErased Forgotten SessionForgotten
        }
    )
}

#[test]
fn the_bytes_of_every_kind_are_pinned() {
    let now: Vec<String> = samples()
        .iter()
        .map(|event| {
            format!("{} {} {}", event.kind().number(), event.kind().name(), hex(&encoded(event))).trim_end().into()
        })
        .collect();
    let pinned: Vec<&str> = PINNED.lines().collect();
    let changed: Vec<&str> = now.iter().map(String::as_str).filter(|line| !pinned.contains(line)).collect();
    assert!(
        changed.is_empty(),
        "a released shape never changes; before the first release, fixtures/events.hex takes these lines:\n{}",
        changed.join("\n")
    );
    assert_eq!(pinned, now, "one line per kind, in the order of the numbers");
}

#[test]
fn pinned_bytes_still_decode_to_the_same_facts() {
    for (line, sample) in PINNED.lines().zip(samples()) {
        let mut words = line.split(' ');
        let number = words.next().and_then(|word| word.parse().ok()).unwrap();
        let kind = Kind::of_number(number).unwrap();
        assert_eq!(words.next(), Some(kind.name()));
        assert_eq!(Event::read_payload(kind, &unhex(words.next().unwrap_or_default())).unwrap(), sample);
    }
}

#[test]
fn every_fact_reads_back_from_its_codec_form() {
    for event in variants() {
        assert_eq!(Event::read_payload(event.kind(), &encoded(&event)).unwrap(), event);
    }
}

#[test]
fn the_codec_writes_and_reads_what_bincode_1_does() {
    for event in variants() {
        let (bytes, read) = bincode_1(&event);
        assert_eq!(hex(&encoded(&event)), hex(&bytes), "{}", event.to_json());
        assert_eq!(read, event);
    }
}

#[test]
fn a_payload_that_is_cut_off_anywhere_is_an_error_that_names_its_kind() {
    for event in variants() {
        let bytes = encoded(&event);
        for until in 0..bytes.len() {
            match Event::read_payload(event.kind(), &bytes[..until]) {
                Err(DecodeError::Malformed { kind, .. }) => assert_eq!(kind, event.kind().name()),
                other => panic!("{} bytes of {}: {other:?}", until, event.to_json()),
            }
        }
    }
}

#[test]
fn a_byte_too_many_is_an_error() {
    for event in samples() {
        let mut bytes = encoded(&event);
        bytes.push(0);
        let error = Event::read_payload(event.kind(), &bytes).unwrap_err().to_string();
        assert!(error.starts_with(&format!("malformed payload of {}: ", event.kind().name())), "{error}");
    }
}

#[test]
fn a_flipped_bit_gives_another_fact_or_an_error_never_a_panic() {
    for event in samples() {
        let mut bytes = encoded(&event);
        for at in 0..bytes.len() * 8 {
            bytes[at / 8] ^= 1 << (at % 8);
            match Event::read_payload(event.kind(), &bytes) {
                // Whatever reads as a fact is one: it can be written and read again, and its JSON form reads back.
                Ok(other) => {
                    assert_ne!(other, event);
                    assert_eq!(Event::read_payload(other.kind(), &encoded(&other)).unwrap(), other);
                    if let Ok(text) = other.to_canonical() {
                        assert_eq!(Event::from_json(serde_json::from_str(&text).unwrap()).unwrap(), other);
                    }
                }
                Err(error) => assert!(matches!(error, DecodeError::Malformed { .. })),
            }
            bytes[at / 8] ^= 1 << (at % 8);
        }
    }
}

#[test]
fn a_fact_of_one_kind_read_as_another_never_panics() {
    for event in samples() {
        let bytes = encoded(&event);
        for kind in Kind::ALL {
            if let Ok(read) = Event::read_payload(*kind, &bytes) {
                assert_eq!(read.kind(), *kind);
            }
        }
    }
}
