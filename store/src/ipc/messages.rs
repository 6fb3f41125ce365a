//! Messages on a socket: four bytes of length, big-endian, then the bytes.
//!
//! No memory is reserved for an announced length before the bytes have arrived.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use std::io;
use tokio_util::codec::{Decoder, Encoder};

/// A connection between an owner and a guest.
pub(super) type Connection = tokio_util::codec::Framed<tokio::net::UnixStream, MessageCodec>;

/// The bytes before a message.
const LENGTH: usize = 4;

/// The longest greeting, in bytes.
pub(super) const GREETING_MAX: usize = 4 * 1024;

/// Splits a stream of bytes into messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageCodec {
    /// The longest message that is taken, in bytes.
    pub max: usize,
}

impl Decoder for MessageCodec {
    type Item = BytesMut;
    type Error = io::Error;

    fn decode(&mut self, arrived: &mut BytesMut) -> io::Result<Option<BytesMut>> {
        let Some(length) = arrived.first_chunk::<LENGTH>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > self.max {
            let what = format!("a message of {length} bytes; at most {} are taken", self.max);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if arrived.len() < LENGTH + length {
            return Ok(None);
        }
        arrived.advance(LENGTH);
        Ok(Some(arrived.split_to(length)))
    }
}

impl Encoder<Bytes> for MessageCodec {
    type Error = io::Error;

    fn encode(&mut self, message: Bytes, out: &mut BytesMut) -> io::Result<()> {
        let length = u32::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        out.reserve(LENGTH + message.len());
        out.put_u32(length);
        out.put(message);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{GREETING_MAX, MessageCodec};
    use bytes::{Bytes, BytesMut};
    use tokio_util::codec::{Decoder, Encoder};

    #[test]
    fn a_message_is_given_when_it_has_arrived_and_no_room_is_made_before() {
        let mut messages = MessageCodec { max: 1 << 30 };
        let mut arrived = BytesMut::new();
        messages.encode(Bytes::from_static(b"one"), &mut arrived).unwrap();
        let mut rest = arrived.split_off(5);
        assert!(messages.decode(&mut arrived).unwrap().is_none());
        arrived.unsplit(rest.split());
        assert_eq!(messages.decode(&mut arrived).unwrap().unwrap(), "one");
        let mut arrived = BytesMut::from(&(1u32 << 30).to_be_bytes()[..]);
        assert!(messages.decode(&mut arrived).unwrap().is_none());
        assert!(arrived.capacity() < 1024, "{}", arrived.capacity());
    }

    #[test]
    fn a_greeting_is_short() {
        let mut arrived = BytesMut::from(&(1u32 << 30).to_be_bytes()[..]);
        assert!(MessageCodec { max: GREETING_MAX }.decode(&mut arrived).is_err());
    }
}
