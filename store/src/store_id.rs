//! The id of a store.

use std::fmt;
use std::io;
use std::str::FromStr;

/// The random id of a store: 16 bytes, shown in hex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreId(pub [u8; 16]);

impl StoreId {
    /// A new id.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn random() -> io::Result<Self> {
        let mut id = [0; 16];
        let mut filled = 0;
        while let Some(rest) = id.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
        }
        Ok(Self(id))
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is not the id of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a store: 32 hexadecimal digits")]
pub struct NoStoreId;

impl FromStr for StoreId {
    type Err = NoStoreId;

    fn from_str(text: &str) -> Result<Self, NoStoreId> {
        let mut id = [0; 16];
        if text.len() != 2 * id.len() || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(NoStoreId);
        }
        for (at, byte) in id.iter_mut().enumerate() {
            let digits = text.get(2 * at..2 * at + 2).ok_or(NoStoreId)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NoStoreId)?;
        }
        Ok(Self(id))
    }
}
