use super::super::checkpoint::TreeHead;
use super::super::heads::{Salt, SignedHead};
use super::super::key::{NoteKey, NoteKeyKind};
use super::super::note::SignedNote;
use super::super::signers::AllowedSigners;
use super::super::ssh::tests::{PUBLIC, signature_over};
use super::super::ssh::{NAMESPACE, SshPublicKey};
use super::super::tree::{Frontier, root_of};
use super::*;
use annals_core::{Digest, Seq, SessionId};

type Tested = Result<(), Box<dyn std::error::Error>>;

fn head(number: u8) -> SignedHead {
    let mut batches = Frontier::default();
    (0..number).for_each(|at| batches.push(TreeHash([at; 32])));
    let (session, digest) = (SessionId::from_parts(1, u128::from(number)), Digest([number; 32]));
    SignedHead { session, seq: Seq(u64::from(number)), digest, batches, salt: Salt([number; 32]) }
}

fn checkpoint(heads: &HeadList) -> Result<SignedCheckpoint, Box<dyn std::error::Error>> {
    let hashes = heads.hashes();
    let head = TreeHead { origin: "example".to_owned(), size: hashes.len() as u64, root: root_of(&hashes) };
    let text = head.to_string();
    let file = signature_over(NAMESPACE, &text)?;
    let signatures = vec![SshPublicKey::read(PUBLIC)?.signature_from_file("example", &text, &file)?];
    Ok(SignedCheckpoint { head, note: SignedNote { text, signatures } })
}

/// Signs once with two heads, once with one more.
fn signed_twice(folder: &TreeFolder) -> Tested {
    for heads in [vec![1, 2], vec![3]] {
        let mut locked = folder.lock()?;
        let mut list = locked.tree.heads.clone();
        heads.into_iter().for_each(|number| list.push(head(number)));
        let checkpoint = checkpoint(&list)?;
        locked.write(list, checkpoint)?;
        locked.add_signer(
            "auditor@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEpH1bwb2y+ylX06VNaVBeBrGuwoINQlYjIjxtcybQcy",
        )?;
    }
    Ok(())
}

fn verified(folder: &TreeFolder) -> bool {
    folder.read().is_ok_and(|tree| {
        let signers = AllowedSigners::parse(&tree.signers);
        tree.checkpoints.len() == 2 && tree.checkpoints.iter().all(|one| signers.verify(one).is_ok())
    })
}

#[test]
fn what_is_signed_is_read_again() -> Tested {
    let here = tempfile::tempdir()?;
    let folder = TreeFolder::new(&here.path().into(), StoreId([0x11; 16]));
    assert!(TreeFolder::all(&here.path().into())?.is_empty());
    signed_twice(&folder)?;
    assert!(verified(&folder));
    let tree = folder.read()?;
    assert_eq!(tree.heads.heads(), [head(1), head(2), head(3)]);
    let [all] = &TreeFolder::all(&here.path().into())?[..] else { return Err("one tree".into()) };
    assert_eq!(all.shown(), here.path().join("checkpoints/11111111111111111111111111111111"));
    let mut names: Vec<_> =
        fs::read_dir(folder.shown())?.map(|entry| entry.map(|it| it.file_name())).collect::<Result<_, _>>()?;
    names.sort();
    let expected = [
        "2.checkpoint",
        "2.text",
        "2.text.sig",
        "3.checkpoint",
        "3.text",
        "3.text.sig",
        "allowed_signers",
        "heads",
        "lock",
    ];
    assert_eq!(names, expected);
    Ok(())
}

#[test]
fn one_altered_bit_in_any_file_is_found() -> Tested {
    let here = tempfile::tempdir()?;
    let folder = TreeFolder::new(&here.path().into(), StoreId([0x11; 16]));
    signed_twice(&folder)?;
    for name in ["heads", "2.checkpoint", "3.checkpoint", "3.text", "2.text.sig"] {
        let path = folder.shown().join(name);
        let whole = fs::read(&path)?;
        for at in 0..whole.len() {
            let mut altered = whole.clone();
            altered[at] ^= 1 << (at % 8);
            fs::write(&path, altered)?;
            assert!(!verified(&folder), "{name}, byte {at}");
        }
        fs::write(&path, whole)?;
    }
    assert!(verified(&folder));
    Ok(())
}

#[test]
fn what_a_crash_left_behind_the_newest_checkpoint_is_replaced() -> Tested {
    let here = tempfile::tempdir()?;
    let folder = TreeFolder::new(&here.path().into(), StoreId([0x11; 16]));
    signed_twice(&folder)?;
    let path = folder.shown().join("heads");
    let whole = fs::read_to_string(&path)?;
    for left in [format!("{}\n", head(9)), "01BX5ZZKB".to_owned()] {
        fs::write(&path, format!("{whole}{left}"))?;
        assert!(verified(&folder));
    }
    let mut locked = folder.lock()?;
    let mut list = locked.tree.heads.clone();
    list.push(head(4));
    let checkpoint = checkpoint(&list)?;
    locked.write(list, checkpoint)?;
    assert_eq!(fs::read_to_string(&path)?, format!("{whole}{}\n", head(4)));
    fs::write(&path, &whole)?;
    assert!(matches!(folder.read(), Err(SignedTreeError::Heads { source: NotAHead { line: 4 }, .. })));
    Ok(())
}

#[test]
fn a_witness_is_added_to_the_checkpoint_that_it_signed() -> Tested {
    let here = tempfile::tempdir()?;
    let folder = TreeFolder::new(&here.path().into(), StoreId([0x11; 16]));
    signed_twice(&folder)?;
    let mut checkpoint = folder.read()?.checkpoints.remove(0);
    let witness = NoteKey::new("w", NoteKeyKind::Cosignature, [3; 32]).ok_or("a name")?;
    let cosignature = witness.sign(&checkpoint.note.text, 5);
    checkpoint.note.signatures = vec![cosignature.clone()];
    assert_eq!(folder.lock()?.add(&checkpoint)?, Some(folder.shown().join("2.checkpoint")));
    assert!(verified(&folder));
    let signatures = &folder.read()?.checkpoints[0].note.signatures;
    assert_eq!((signatures.len(), &signatures[1]), (2, &cosignature));
    checkpoint.note.text = checkpoint.note.text.replace("example", "another");
    assert_eq!(folder.lock()?.add(&checkpoint)?, None);
    Ok(())
}
