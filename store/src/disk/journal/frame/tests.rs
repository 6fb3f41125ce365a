use super::{FrameError, FrameKind, Gap, GapCause, HEADER, Scan, parse, scan, write};
use annals_core::{Seq, SessionId};

fn three() -> Vec<u8> {
    let mut out = Vec::new();
    for (position, text) in ["one", "two", "three"].into_iter().enumerate() {
        write(&mut out, FrameKind::Batch, position as u16, position as u64 + 7, text.as_bytes());
    }
    out.extend_from_slice(&[0; 64]);
    out
}

fn scanned(bytes: &[u8]) -> Vec<String> {
    scan(bytes, 0)
        .map(|found| match found {
            Scan::Frame(at, frame) => format!("{at} {} {}", frame.position, String::from_utf8_lossy(frame.payload)),
            Scan::Bad { from, to, followed } => format!("bad {from}..{to} followed={followed}"),
        })
        .collect()
}

#[test]
fn frames_stand_one_behind_the_other_and_zeros_end_them() {
    assert_eq!(scanned(&three()), ["0 7 one", "27 8 two", "54 9 three"]);
}

#[test]
fn every_flipped_bit_of_a_frame_is_seen_and_the_next_frame_is_found() {
    for at in 27..54 {
        for bit in 0..8 {
            let mut bytes = three();
            bytes[at] ^= 1 << bit;
            assert_eq!(scanned(&bytes), ["0 7 one", "bad 27..54 followed=true", "54 9 three"], "byte {at} bit {bit}");
        }
    }
}

#[test]
fn a_tail_is_torn_only_if_no_frame_follows() {
    let bytes = three();
    assert_eq!(scanned(&bytes[..60]), ["0 7 one", "27 8 two", "bad 54..60 followed=false"]);
}

#[test]
fn a_frame_is_cut_off_at_every_length_below_its_own() {
    let mut frame = Vec::new();
    write(&mut frame, FrameKind::Batch, 0, 1, b"text");
    for len in HEADER..frame.len() {
        assert_eq!(parse(&frame[..len]), Err(FrameError::CutOff));
    }
    assert!(parse(&frame).is_ok());
}

#[test]
fn a_void_says_why_and_whose() {
    for gap in [
        Gap { cause: GapCause::Torn, whose: None, count: 1 },
        Gap { cause: GapCause::Lost, whose: None, count: 1 << 40 },
        Gap { cause: GapCause::Lost, whose: Some((SessionId([3; 16]), Seq(9))), count: 1 },
    ] {
        assert_eq!(Gap::decode(&gap.encode()), gap);
    }
}
