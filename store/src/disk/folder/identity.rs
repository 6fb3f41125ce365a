//! Which store a folder holds: the file `FORMAT`.
//!
//! ```text
//! annals store 7
//! id 5f0c...                 16 random bytes in hex
//! folder 2049 1310735        device and inode of the folder
//! copied-from 71aa...        former ids, newest first; none in a store that was never copied
//! checksum 8d01c2f7          CRC32C of everything before this line
//! ```
//! The first and the last line have this form in every format from 4 on, so a damaged file is distinguished from one that
//! another version wrote.

use crate::disk::journal::segment::SegmentHeader;
use crate::store_id::StoreId;
use std::io;

/// The number of the store's format.
pub const FORMAT: u32 = 7;

/// How many former ids are kept.
pub(in crate::disk) const FORMER: usize = 64;

/// Device and inode of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// The number of the device.
    pub device: u64,
    /// The number on that device.
    pub inode: u64,
}

/// Which store a folder holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The id of the store.
    pub id: StoreId,
    /// The folder that the id was given to. Another one is a copy.
    pub folder: Inode,
    /// The ids of the stores that this one was copied from, newest first.
    pub copied_from: Vec<StoreId>,
}

/// Why a file `FORMAT` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoIdentity {
    /// Another version wrote it: its first line.
    Other(String),
    /// It is damaged.
    Damaged,
}

impl Identity {
    /// That of a new store in a folder.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn new(folder: Inode) -> io::Result<Self> {
        Ok(Self { id: StoreId::random()?, folder, copied_from: Vec::new() })
    }

    /// That of a copy of this store in another folder.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn copied_to(&self, folder: Inode) -> io::Result<Self> {
        let former = self.copied_from.iter().copied().filter(|former| *former != self.id);
        let copied_from = std::iter::once(self.id).chain(former).take(FORMER).collect();
        Ok(Self { id: StoreId::random()?, folder, copied_from })
    }

    /// Whether a segment with this header was written for this store, or for one that it was copied from. Of a store that was
    /// copied more often than ids are kept, it cannot be known.
    pub(in crate::disk) fn wrote(&self, header: &SegmentHeader) -> bool {
        let is_former = self.copied_from.len() >= FORMER || self.copied_from.contains(&header.store);
        header.format == FORMAT && (header.store == self.id || is_former)
    }

    /// The content of `FORMAT`.
    pub fn encode(&self) -> String {
        let Self { id, folder: Inode { device, inode }, copied_from } = self;
        let mut text = format!("annals store {FORMAT}\nid {id}\nfolder {device} {inode}\n");
        copied_from.iter().for_each(|former| text.push_str(&format!("copied-from {former}\n")));
        let sum = crc32c::crc32c(text.as_bytes());
        text.push_str(&format!("checksum {sum:08x}\n"));
        text
    }

    /// Reads the content of `FORMAT`.
    ///
    /// # Errors
    /// See [`NoIdentity`].
    pub fn decode(bytes: &[u8]) -> Result<Self, NoIdentity> {
        let text = std::str::from_utf8(bytes).map_err(|_| NoIdentity::Damaged)?;
        // Formats up to 3 were this one line.
        if (1..4).any(|former| text == format!("annals store {former}\n")) {
            return Err(NoIdentity::Other(text.trim_end().to_owned()));
        }
        let body = checked(text).ok_or(NoIdentity::Damaged)?;
        let first = body.lines().next().unwrap_or_default();
        if first != format!("annals store {FORMAT}") {
            return Err(NoIdentity::Other(first.chars().take(80).collect()));
        }
        let identity = Self::fields(body).ok_or(NoIdentity::Damaged)?;
        // One form only: what reads alike is written alike.
        if identity.encode() == text { Ok(identity) } else { Err(NoIdentity::Damaged) }
    }

    fn fields(body: &str) -> Option<Self> {
        let mut lines = body.lines().skip(1);
        let id = lines.next()?.strip_prefix("id ")?.parse().ok()?;
        let (device, inode) = lines.next()?.strip_prefix("folder ")?.split_once(' ')?;
        let folder = Inode { device: device.parse().ok()?, inode: inode.parse().ok()? };
        let former = |line: &str| line.strip_prefix("copied-from ")?.parse().ok();
        let copied_from = lines.map(former).collect::<Option<Vec<_>>>()?;
        (copied_from.len() <= FORMER).then_some(Self { id, folder, copied_from })
    }
}

/// The text before the line with the checksum, if that matches.
fn checked(text: &str) -> Option<&str> {
    let at = text.rfind("checksum ")?;
    let (body, line) = text.split_at_checked(at)?;
    let sum = crc32c::crc32c(body.as_bytes());
    (line == format!("checksum {sum:08x}\n")).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::{FORMER, Identity, Inode, NoIdentity, StoreId};

    fn identity() -> Identity {
        let folder = Inode { device: 2049, inode: 1_310_735 };
        Identity { id: StoreId([0xa1; 16]), folder, copied_from: vec![StoreId([2; 16]), StoreId([3; 16])] }
    }

    #[test]
    fn an_identity_is_read_as_it_was_written() {
        insta::assert_snapshot!(identity().encode(), @r"
        annals store 7
        id a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1
        folder 2049 1310735
        copied-from 02020202020202020202020202020202
        copied-from 03030303030303030303030303030303
        checksum 6e963157
        ");
        assert_eq!(Identity::decode(identity().encode().as_bytes()), Ok(identity()));
    }

    #[test]
    fn every_changed_bit_and_every_cut_is_damage_and_never_another_format() {
        let text = identity().encode();
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                assert_eq!(Identity::decode(&bytes), Err(NoIdentity::Damaged), "byte {at}, bit {bit}");
            }
            assert_eq!(Identity::decode(&text.as_bytes()[..at]), Err(NoIdentity::Damaged), "{at} bytes");
        }
    }

    #[test]
    fn other_formats_are_named() {
        assert_eq!(Identity::decode(b"annals store 3\n"), Err(NoIdentity::Other("annals store 3".into())));
        let body = "annals store 8\nanything\n";
        let later = format!("{body}checksum {:08x}\n", crc32c::crc32c(body.as_bytes()));
        assert_eq!(Identity::decode(later.as_bytes()), Err(NoIdentity::Other("annals store 8".into())));
        for other in ["", "annals store 9\n", "FORMAT\n", "checksum 00000000\n"] {
            assert!(Identity::decode(other.as_bytes()).is_err(), "{other:?}");
        }
    }

    #[test]
    fn a_copy_has_an_id_of_its_own_and_names_where_it_came_from() {
        let mut identity = identity();
        for inode in 0..FORMER as u64 + 5 {
            let copy = identity.copied_to(Inode { device: 1, inode }).unwrap();
            assert_eq!(copy.copied_from.first(), Some(&identity.id));
            assert!(copy.id != identity.id && copy.copied_from.len() <= FORMER);
            assert_eq!(Identity::decode(copy.encode().as_bytes()), Ok(copy.clone()));
            identity = copy;
        }
    }
}
