mod sealed_files;

use super::{ConnectError, Ownership, RemoteLog, SOCKET, SharedError, SharedLog, serve};
use crate::conformance::material::{begin, fork, next_slice, next_synced, session, story, two, whole};
use crate::conformance::{Violation, run_all};
use crate::displaced::Displaced;
use crate::exchange::{export, import};
use crate::{AppendError, EventLog, MemoryLog, OpenError, OpenMode, ReadError, Scope};
use annals_core::Seq;
use futures_util::StreamExt;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The owner's own runtime, as in another process: a guest that reads a blob blocks its thread.
fn owner() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn served(owner: &tokio::runtime::Runtime, log: &MemoryLog, dir: &Path) -> super::Server {
    let _inside = owner.enter();
    serve(Arc::new(log.clone()), dir).unwrap()
}

#[test]
fn a_log_over_the_socket_conforms() {
    let (owner, guest) = (owner(), owner());
    let kept = Mutex::new(Vec::new());
    let make = async || {
        let folder = tempfile::tempdir().unwrap();
        let server = served(&owner, &MemoryLog::new(), folder.path());
        let remote = RemoteLog::connect(folder.path()).await.map_err(|error| Violation(error.to_string()))?;
        kept.lock().unwrap().push((server, folder));
        Ok(Arc::new(remote) as Arc<dyn EventLog>)
    };
    guest.block_on(run_all(make)).unwrap();
    guest.shutdown_background();
}

#[tokio::test]
async fn a_guest_reads_more_than_one_answer_holds() {
    let (log, folder) = (MemoryLog::new(), tempfile::tempdir().unwrap());
    let s = session(1);
    story(&log, s, 600).await.unwrap();
    let server = serve(Arc::new(log.clone()), folder.path()).unwrap();
    let remote = RemoteLog::connect(folder.path()).await.unwrap();
    for (from, limit) in [(0, 1000), (0, 601), (5, 300), (1, 256), (2, 257), (0, 255)] {
        let log: &dyn EventLog = &log;
        let remote: &dyn EventLog = &remote;
        assert_eq!(remote.read(s, Seq(from), limit).await.unwrap(), log.read(s, Seq(from), limit).await.unwrap());
        let before = Seq(1201 - from);
        assert_eq!(remote.read_back(s, before, limit).await.unwrap(), log.read_back(s, before, limit).await.unwrap());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_guest_is_told_when_the_owner_goes() {
    let (log, folder) = (MemoryLog::new(), tempfile::tempdir().unwrap());
    let s = session(1);
    begin(&log, s).await.unwrap();
    let server = serve(Arc::new(log.clone()), folder.path()).unwrap();
    let remote = RemoteLog::connect(folder.path()).await.unwrap();
    let mut following = EventLog::follow(&remote, Scope::Session { session: s, from: Seq(0) });
    next_slice(&mut following).await.unwrap();
    next_synced(&mut following).await.unwrap();
    server.stop().await;
    assert!(matches!(following.next().await, Some(Err(ReadError::Io { .. }))));
    assert!(following.next().await.is_none());
    assert!(matches!(two(&remote, s, Seq(1)).await, Err(AppendError::Unknown)));
    assert!(matches!(EventLog::head(&remote, s).await, Err(ReadError::Io { .. })));
    assert!(matches!(RemoteLog::connect(folder.path()).await, Err(ConnectError::Absent { .. })));
    // The next owner listens at the same place, and an old guest finds it.
    let next = serve(Arc::new(log), folder.path()).unwrap();
    two(&remote, s, Seq(1)).await.unwrap();
    next.stop().await;
}

#[tokio::test]
async fn another_version_is_refused_by_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(Arc::new(MemoryLog::new()), folder.path()).unwrap();
    let socket = folder.path().join(SOCKET);
    let old = tokio::task::spawn_blocking(move || {
        let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
        stream.write_all(b"\0\0\0\x10annals 0 x 0.0.1").unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        String::from_utf8_lossy(&all).into_owned()
    });
    let answer = old.await.unwrap();
    assert!(answer.contains("annals 4 "), "{answer:?}");
    server.stop().await;

    let listener = super::socket::listen(folder.path()).unwrap();
    let later = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut said = [0; 4];
        stream.read_exact(&mut said).unwrap();
        stream.write_all(b"\0\0\0\x11annals 99 x 9.9.9").unwrap();
        stream
    });
    let refused = RemoteLog::connect(folder.path()).await.unwrap_err();
    assert!(matches!(&refused, ConnectError::Version { owner, .. } if owner.contains("99")), "{refused}");
    drop(later.join().unwrap());
}

async fn shared(dir: &Path) -> SharedLog {
    SharedLog::open(dir, OpenMode::Create).await.unwrap()
}

#[test]
fn a_shared_store_conforms_for_its_owner_and_for_its_guests() {
    let (owner, guest) = (owner(), owner());
    for as_guest in [false, true] {
        let kept = Mutex::new(Vec::new());
        let make = async || {
            let folder = tempfile::tempdir().unwrap();
            let dir = folder.path().join("store");
            let path = dir.clone();
            let first = owner.spawn(async move { shared(&path).await }).await.unwrap();
            assert!(matches!(first.ownership(), Ownership::Owner(_)));
            let log = if as_guest { shared(&dir).await } else { first.clone() };
            assert_eq!(log.ownership() == Ownership::Guest, as_guest);
            kept.lock().unwrap().push((first, folder));
            Ok(Arc::new(log) as Arc<dyn EventLog>)
        };
        guest.block_on(run_all(make)).unwrap();
        for (log, _folder) in kept.into_inner().unwrap() {
            owner.block_on(log.close()).unwrap();
        }
    }
    guest.shutdown_background();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_owner_goes_a_guest_takes_over_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let s = session(1);
    let first = shared(folder.path()).await;
    begin(&first, s).await.unwrap();
    let guests = [shared(folder.path()).await, shared(folder.path()).await];
    let mut following: Vec<_> =
        guests.iter().map(|guest| guest.follow(Scope::Session { session: s, from: Seq(0) })).collect();
    for following in &mut following {
        next_slice(following).await.unwrap();
        next_synced(following).await.unwrap();
    }
    first.close().await.unwrap();
    assert_eq!(first.ownership(), Ownership::Closed);
    assert!(matches!(first.head(s).await, Err(ReadError::Closed)));
    assert!(matches!(two(&first, s, Seq(1)).await, Err(AppendError::Closed)));
    for (n, guest) in guests.iter().enumerate() {
        let new = two(guest, s, Seq(1 + 2 * n as u64)).await.unwrap();
        for following in &mut following {
            assert_eq!(next_slice(following).await.unwrap().batch, new.batch);
        }
    }
    let owners = guests.iter().filter(|guest| matches!(guest.ownership(), Ownership::Owner(_)));
    assert_eq!(owners.count(), 1);
    assert_eq!(whole(&guests[0], s).await.unwrap(), whole(&guests[1], s).await.unwrap());
}

#[tokio::test]
async fn a_store_that_is_not_there_is_not_made_to_look_at_it() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("nothing");
    let refused = SharedLog::open(&dir, OpenMode::Existing).await.unwrap_err();
    assert!(matches!(refused, SharedError::Open(OpenError::NoStore { .. })), "{refused}");
    assert!(!dir.exists());
}

#[test]
fn an_import_by_a_guest_has_many_appends_under_way_and_lands_in_order() {
    let (owner, guest) = (owner(), owner());
    let (source, log, folder) = (MemoryLog::new(), MemoryLog::new(), tempfile::tempdir().unwrap());
    let (a, b) = (session(1), session(2));
    let _server = served(&owner, &log, folder.path());
    guest.block_on(async {
        story(&source, a, 300).await.unwrap();
        fork(&source, a, Seq(598), b).await.unwrap();
        two(&source, b, Seq(599)).await.unwrap();
        let mut file = Vec::new();
        export(&source, b, &mut file, &mut |_| {}).await.unwrap();
        let remote = RemoteLog::connect(folder.path()).await.unwrap();
        let done = import(&remote, &mut &*file, &mut |_| {}).await.unwrap();
        assert_eq!((done.sessions[0].new, done.sessions[0].known), (302, 0));
        assert_eq!(whole(&remote, b).await.unwrap(), whole(&source, b).await.unwrap());
    });
    guest.shutdown_background();
}

#[tokio::test]
async fn an_owner_that_lets_nobody_in_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let listener = super::socket::listen(folder.path()).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    std::fs::write(folder.path().join("lock"), "4711").unwrap();
    let _waiting = super::socket::connect(folder.path()).unwrap();
    let error = RemoteLog::connect(folder.path()).await.unwrap_err();
    assert!(matches!(&error, ConnectError::OwnerHung(hung_owner) if hung_owner.owner == Some(4711)), "{error}");
    drop(listener);
    assert!(matches!(RemoteLog::connect(folder.path()).await, Err(ConnectError::Absent { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_goes_on_with_no_other_store() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, moved, s) = (folder.path().join("store"), folder.path().join("moved"), session(1));
    for replaced in [true, false] {
        let owner = shared(&dir).await;
        begin(&owner, s).await.unwrap();
        let guest = shared(&dir).await;
        assert_eq!(guest.ownership(), Ownership::Guest);
        two(&guest, s, Seq(1)).await.unwrap();
        let mut following = guest.follow(Scope::Session { session: s, from: Seq(0) });
        next_slice(&mut following).await.unwrap();
        std::fs::rename(&dir, &moved).unwrap();
        // Its connections lead to the owner wherever the folder is.
        two(&guest, s, Seq(3)).await.unwrap();
        // A new guest finds the owner there.
        let late = shared(&moved).await;
        assert_eq!(late.ownership(), Ownership::Guest);
        let other = if replaced { Some(shared(&dir).await) } else { None };
        owner.close().await.unwrap();
        let refused = two(&guest, s, Seq(5)).await.unwrap_err();
        match &refused {
            AppendError::Displaced(Displaced::Replaced { found: Some(_), .. }) if replaced => {}
            AppendError::Displaced(Displaced::Gone { .. }) if !replaced => {}
            _ => panic!("{refused}"),
        }
        assert!(matches!(guest.head(s).await, Err(ReadError::Io { .. })));
        while let Some(item) = following.next().await {
            if let Err(error) = item {
                assert!(error.to_string().contains(&dir.display().to_string()), "{error}");
                break;
            }
        }
        if let Some(other) = other {
            assert_eq!(other.sessions().all().await.unwrap(), vec![], "nothing was written to the other store");
            other.close().await.unwrap();
            // Also when nobody owns it.
            let refused = two(&guest, s, Seq(5)).await.unwrap_err();
            assert!(matches!(refused, AppendError::Displaced(Displaced::Replaced { .. })), "{refused}");
            std::fs::remove_dir_all(&dir).unwrap();
        }
        assert_eq!(late.head(s).await.unwrap().unwrap().next, Seq(5));
        late.close().await.unwrap();
        std::fs::remove_dir_all(&moved).unwrap();
        assert!(!dir.exists());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_idle_connections_stop_no_writer_and_no_guest() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = SharedLog::open(folder.path(), OpenMode::Create).await.unwrap();
    let s = session(1);
    story(&log, s, 2).await.unwrap();
    let mut idle = Vec::new();
    for n in 0..1_100u64 {
        let stream = loop {
            match super::socket::connect(folder.path()) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => tokio::task::yield_now().await,
                connected => break connected.unwrap(),
            }
        };
        idle.push(stream);
        if n % 100 == 0 {
            two(&log, s, Seq(5 + n / 50)).await.unwrap();
        }
    }
    let guest = SharedLog::open(folder.path(), OpenMode::Existing).await.unwrap();
    assert_eq!(guest.ownership(), Ownership::Guest);
    two(&guest, s, Seq(27)).await.unwrap();
    // Most of them were ended: their ends read as closed.
    let closed = idle.iter_mut().map(|stream| stream.read(&mut [0; 1])).filter(|read| matches!(read, Ok(0))).count();
    assert!(closed >= 1_100 - 512, "{closed} were ended");
    guest.close().await.unwrap();
    log.close().await.unwrap();
}

#[tokio::test]
async fn who_does_not_greet_in_time_or_greets_at_length_is_left() {
    let (log, folder) = (MemoryLog::new(), tempfile::tempdir().unwrap());
    let server = serve(Arc::new(log), folder.path()).unwrap();
    let silent = tokio::net::UnixStream::connect(folder.path().join(SOCKET)).await.unwrap();
    let mut long = tokio::net::UnixStream::connect(folder.path().join(SOCKET)).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut long, &(1u32 << 30).to_be_bytes()).await.unwrap();
    for mut stream in [long, silent] {
        let mut room = [0; 8];
        let read = tokio::io::AsyncReadExt::read(&mut stream, &mut room);
        let read = tokio::time::timeout(std::time::Duration::from_secs(30), read).await.unwrap();
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_store_that_nobody_owns_is_read_without_owning_it_and_an_owned_one_through_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let log = SharedLog::open(folder.path(), OpenMode::Create).await.unwrap();
    let s = session(1);
    story(&log, s, 3).await.unwrap();
    let open = || SharedLog::open(folder.path(), OpenMode::ReadOnly);
    let guest = open().await.unwrap();
    assert_eq!(guest.ownership(), Ownership::Guest);
    assert_eq!(whole(&guest, s).await.unwrap().len(), 4);
    log.close().await.unwrap();
    // The guest stays what it is: it reads on, and owns nothing.
    assert_eq!(whole(&guest, s).await.unwrap().len(), 4);
    assert!(matches!(guest.ownership(), Ownership::Reader(_)));
    let reader = open().await.unwrap();
    assert!(matches!(reader.ownership(), Ownership::Reader(report) if report.remarks.is_empty()));
    let owner = SharedLog::open(folder.path(), OpenMode::Existing).await.unwrap();
    assert!(matches!(owner.ownership(), Ownership::Owner(_)));
    owner.close().await.unwrap();
}

#[tokio::test]
async fn a_guest_that_only_reads_reads_no_other_store_when_its_owner_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, moved, s) = (folder.path().join("store"), folder.path().join("moved"), session(1));
    let owner = shared(&dir).await;
    story(&owner, s, 3).await.unwrap();
    let guest = SharedLog::open(&dir, OpenMode::ReadOnly).await.unwrap();
    assert_eq!(guest.ownership(), Ownership::Guest);
    std::fs::rename(&dir, &moved).unwrap();
    owner.close().await.unwrap();
    shared(&dir).await.close().await.unwrap();
    let refused = guest.head(s).await.unwrap_err();
    assert!(refused.to_string().contains("another store"), "{refused}");
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::rename(&moved, &dir).unwrap();
    assert_eq!(whole(&guest, s).await.unwrap().len(), 4);
    assert!(matches!(guest.ownership(), Ownership::Reader(_)));
}
