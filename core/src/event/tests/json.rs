use super::samples::{LINES, MAPS, objects, replaced_once, samples, values, variants};
use crate::event::{DecodeError, Event, Kind};
use alloc::string::ToString;
use serde_json::{Value, json};

#[test]
fn the_json_form_of_every_kind_is_the_fixture_byte_for_byte() {
    for (event, line) in samples().iter().zip(LINES.lines()) {
        assert_eq!(event.to_canonical().unwrap(), line);
        assert_eq!(event.to_json(), serde_json::from_str::<Value>(line).unwrap());
    }
}

#[test]
fn every_fact_reads_back_from_its_json_form() {
    let all = variants();
    assert!(all.len() > 500, "the samples have many neighbours, not {}", all.len());
    for event in all {
        let text = event.to_canonical().unwrap();
        assert_eq!(Event::from_json(serde_json::from_str(&text).unwrap()).unwrap(), event, "{text}");
        assert_eq!(event.to_json()["type"], event.kind().name());
    }
}

#[test]
fn an_unknown_type_is_an_error_that_names_it() {
    let unknown = Event::from_json(json!({"type": "input.promoted.2", "input": "in-1"}));
    assert_eq!(unknown, Err(DecodeError::UnknownType("input.promoted.2".into())));
    assert_eq!(unknown.unwrap_err().to_string(), "unknown event type \"input.promoted.2\"");
}

#[test]
fn what_is_no_tagged_object_is_an_error() {
    for value in [json!(null), json!([]), json!("input.promoted"), json!({}), json!({"type": 11, "input": "in-1"})] {
        assert!(matches!(Event::from_json(value), Err(DecodeError::Malformed { kind: "event", .. })));
    }
}

#[test]
fn an_unknown_field_is_an_error_that_names_the_kind_and_the_field() {
    for value in values() {
        for at in objects(&value).into_iter().filter(|at| !MAPS.contains(&at.as_str())) {
            let mut more = value.clone();
            more.pointer_mut(&at).unwrap()["surprise"] = json!(1);
            let error = Event::from_json(more).expect_err("an unknown field").to_string();
            let kind = value["type"].as_str().unwrap();
            assert!(error.contains(kind) && error.contains("surprise"), "{kind}{at}: {error}");
        }
    }
}

#[test]
fn a_missing_field_is_an_error_that_names_it_unless_it_reads_as_null() {
    for value in values() {
        for at in objects(&value).into_iter().filter(|at| !MAPS.contains(&at.as_str())) {
            let fields = value.pointer(&at).and_then(Value::as_object).unwrap();
            for field in fields.keys().filter(|field| *field != "type") {
                let (mut less, mut null) = (value.clone(), value.clone());
                less.pointer_mut(&at).and_then(Value::as_object_mut).unwrap().remove(field);
                null.pointer_mut(&at).unwrap()[field.as_str()] = Value::Null;
                match Event::from_json(less) {
                    // A field that JSON leaves out has no `null`, so that an event has one form.
                    Ok(_) if at.is_empty() && ["process", "answer"].contains(&field.as_str()) => {
                        assert!(Event::from_json(null).is_err());
                    }
                    Ok(event) => assert_eq!(Event::from_json(null), Ok(event), "{at}/{field}"),
                    Err(error) => {
                        let (kind, error) = (value["type"].as_str().unwrap(), error.to_string());
                        // A reference without one of its fields is still reported inside the right kind.
                        assert!(error.contains(kind) && error.contains(field.as_str()), "{kind}{at}/{field}: {error}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_creation_without_a_process_has_no_such_field_and_reads_back() {
    let mut value = values().remove(0);
    assert!(value["process"].is_object());
    value.as_object_mut().unwrap().remove("process");
    let event = Event::from_json(value.clone()).unwrap();
    assert_eq!(event.to_canonical().unwrap(), value.to_string(), "keys of a value are sorted");
    assert_eq!(event.to_json(), value);
}

#[test]
fn the_beginning_of_an_answer_without_its_ids_has_no_such_field_and_reads_back() {
    let mut value = values().into_iter().find(|value| value["type"] == "step.started").unwrap();
    assert!(value["answer"].is_object());
    value.as_object_mut().unwrap().remove("answer");
    let event = Event::from_json(value.clone()).unwrap();
    assert_eq!(event.to_canonical().unwrap(), value.to_string(), "keys of a value are sorted");
    assert_eq!(event.to_json(), value);
}

#[test]
fn a_field_of_another_shape_is_an_error_of_its_kind_and_never_a_panic() {
    let mut refused = 0;
    for value in values() {
        for near in replaced_once(&value).into_iter().filter(|near| near["type"] == value["type"]) {
            if let Err(error) = Event::from_json(near) {
                let kind = Kind::of_name(value["type"].as_str().unwrap()).unwrap().name();
                assert!(matches!(error, DecodeError::Malformed { kind: named, .. } if named == kind), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 1_000, "{refused}");
}

#[test]
fn a_number_of_ours_at_two_to_the_53_has_no_json_form() {
    let too_large = Event::from(crate::event::MessagePinned { message: crate::Seq(1 << 53) });
    assert!(too_large.to_canonical().is_err());
    assert_eq!(too_large.to_json(), Value::Null);
}
