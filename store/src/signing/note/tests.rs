use super::*;

const NOTE: &str = "This is an example message.\n\n— example.com/foo \
    Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";

#[test]
fn a_note_is_read_and_written_byte_for_byte() -> Result<(), NoteError> {
    let with_empty_line = "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n\n\
        — quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n";
    for text in [NOTE, with_empty_line] {
        let note: SignedNote = text.parse()?;
        assert_eq!(note.to_string(), text);
        assert_eq!(note.signatures.len(), 1);
    }
    let note: SignedNote = with_empty_line.parse()?;
    assert!(note.text.ends_with("\n\ned è subito sera.\n"));
    assert_eq!(
        (note.signatures[0].name.as_str(), note.signatures[0].signature.len()),
        ("quasimodo.example/salvatore", 64)
    );
    Ok(())
}

#[test]
fn the_cosignature_in_the_specification_has_its_time_in_front() -> Result<(), NoteError> {
    let line: NoteSignature =
        "— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZ\
        qhf5nNo0xUe+mbIUBkBIfZ+qnA=="
            .parse()?;
    assert_eq!(line.key_id, [0x8d, 0x66, 0xcf, 0x3f]);
    assert_eq!(line.signature.len(), 8 + 64);
    assert_eq!(line.signature[..8], 1_679_315_147_u64.to_be_bytes());
    Ok(())
}

#[test]
fn what_is_no_note_is_refused() {
    let wrong = [
        String::new(),
        NOTE.trim_end().to_owned(),
        NOTE.replace("\n\n", "\n"),
        NOTE.replace('—', "-"),
        NOTE.replace("example.com/foo", "example.com/f+o"),
        NOTE.replace("example.com/foo", "example.com/f\u{2003}oo"),
        NOTE.replace("IneyaQM=", "IneyaQN="),
        NOTE.replace("IneyaQM=", "IneyaQM"),
        NOTE.replace("an example", "an\texample"),
        NOTE.replace("example.com/foo ", "example.com/foo"),
        format!("{NOTE}\n"),
        format!("{NOTE}{}", "— a AAAAAAA=\n".repeat(SIGNATURES_MAX)),
        format!("{}{NOTE}", "x\n".repeat(NOTE_MAX / 2)),
    ];
    for note in wrong {
        assert!(note.parse::<SignedNote>().is_err(), "{note}");
    }
}

#[test]
fn a_second_signature_of_a_key_replaces_the_first() -> Result<(), NoteError> {
    let mut note: SignedNote = NOTE.parse()?;
    let mut again = note.signatures[0].clone();
    again.signature[0] ^= 1;
    note.add(again.clone());
    assert_eq!(note.signatures, [again.clone()]);
    note.add(NoteSignature { key_id: [0; 4], ..again });
    assert_eq!(note.signatures.len(), 2);
    Ok(())
}
