//! The ways in which a provider fails.

use super::answer::ServedProtocol;
use serde_json::json;
use std::str::FromStr;
use std::time::Duration;

/// How often a piece of an answer that is too long is sent: 64 MiB in all.
const FLOOD: usize = 1_024;
/// The length of such a piece.
const PIECE: usize = 64 << 10;

/// One thing that the server does.
pub(super) enum Act {
    /// Sends bytes at once.
    Send(Vec<u8>),
    /// Sends the same bytes so many times, or until the other side closes.
    Flood(Vec<u8>, usize),
    /// Waits.
    Wait(Duration),
    /// Sends nothing until the other side closes.
    Hang,
    /// Closes the connection.
    Close,
}

macro_rules! faults {
    ($( $variant:ident $name:literal $about:literal )*) => {
        /// A way in which a provider fails.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ProviderFault {
            $( #[doc = $about] $variant, )*
        }

        impl ProviderFault {
            /// Every fault.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// Its name on the command line.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )* }
            }

            /// What happens, in one sentence.
            pub const fn about(self) -> &'static str {
                match self { $( Self::$variant => $about, )* }
            }
        }
    };
}

faults! {
    None "none" "The request is answered."
    RateLimited "429" "It is refused as one too many, with a retry after one second."
    Failed "500" "It is refused as an internal error."
    Overloaded "529" "It is refused since the provider is overloaded."
    Unauthorized "401" "It is refused since the key is wrong."
    TooLong "overflow" "It is refused since it is longer than the window of the model."
    Page "page" "A page of HTML is answered, as by a proxy."
    Redirect "redirect" "It is sent to another host."
    Reset "reset" "The connection is closed before an answer."
    Cut "cut" "The stream breaks off in the middle of its content."
    CutEarly "cut-early" "The stream breaks off before its first event."
    CutEvent "cut-event" "The stream breaks off in the middle of an event."
    Unfinished "unfinished" "The stream ends as it should, but the answer does not."
    Slow "slow" "Each event waits (--pause)."
    Bytes "bytes" "Each byte is sent alone."
    Hang "hang" "Nothing more is sent in the middle of the content."
    Malformed "malformed" "An event is not JSON."
    NotText "not-text" "An event is not UTF-8."
    Overlong "overlong" "An event does not end for 64 MiB."
    Empty "empty" "The answer has no content."
}

/// A name is that of no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no fault {0:?}; annals dev lab provider --list shows them")]
pub struct NoProviderFault(String);

impl FromStr for ProviderFault {
    type Err = NoProviderFault;

    fn from_str(text: &str) -> Result<Self, NoProviderFault> {
        Self::ALL.iter().copied().find(|fault| fault.name() == text).ok_or_else(|| NoProviderFault(text.to_owned()))
    }
}

impl ProviderFault {
    /// What the server does instead of answering with the events of `whole`.
    pub(super) fn acts(self, protocol: ServedProtocol, whole: &[String], pause: Duration) -> Vec<Act> {
        let (first, rest) = whole.split_at(whole.len() / 2);
        let (first, rest) = (first.concat(), rest.concat());
        let open = |events: Vec<Act>| [vec![head()], events].concat_acts();
        match self {
            Self::None => open(vec![chunk(whole.concat().as_bytes()), end()]),
            Self::RateLimited => refusal(
                protocol,
                "429 Too Many Requests",
                "rate_limit_error",
                "too many requests",
                "retry-after: 1\r\n",
            ),
            Self::Failed => refusal(protocol, "500 Internal Server Error", "api_error", "internal error", ""),
            Self::Overloaded => refusal(protocol, "529 Overloaded", "overloaded_error", "overloaded", ""),
            Self::Unauthorized => refusal(protocol, "401 Unauthorized", "authentication_error", "invalid key", ""),
            Self::TooLong => {
                let message = match protocol {
                    ServedProtocol::Messages => "prompt is too long: 250000 tokens > 200000 maximum",
                    ServedProtocol::Chat | ServedProtocol::Responses => {
                        "This model's maximum context length is 128000 tokens. However, your messages resulted in 250000 tokens."
                    }
                };
                refusal(protocol, "400 Bad Request", "context_length_exceeded", message, "")
            }
            Self::Page => {
                plain("200 OK", "content-type: text/html\r\n", "<html><body>Sign in to continue</body></html>")
            }
            Self::Redirect => plain("302 Found", "location: http://127.0.0.1:9/elsewhere\r\n", ""),
            Self::Reset => vec![Act::Close],
            Self::Cut => open(vec![chunk(first.as_bytes()), Act::Close]),
            Self::CutEarly => open(vec![Act::Close]),
            Self::CutEvent => {
                let half = rest.as_bytes().get(..rest.len().min(20)).unwrap_or_default();
                open(vec![chunk(first.as_bytes()), chunk(half), Act::Close])
            }
            Self::Unfinished => open(vec![chunk(first.as_bytes()), end()]),
            Self::Slow => {
                let pieces = whole.iter().flat_map(|piece| [Act::Wait(pause), chunk(piece.as_bytes())]);
                open(pieces.chain([end()]).collect())
            }
            Self::Bytes => open(whole.concat().as_bytes().chunks(1).map(chunk).chain([end()]).collect()),
            Self::Hang => open(vec![chunk(first.as_bytes()), Act::Hang]),
            Self::Malformed => open(vec![chunk(first.as_bytes()), chunk(b"data: {\"choices\": [}\n\n"), end()]),
            Self::NotText => open(vec![chunk(first.as_bytes()), chunk(b"data: {\"text\": \"\xff\xfe\"}\n\n"), end()]),
            Self::Overlong => {
                let Act::Send(piece) = chunk(&[b'x'; PIECE]) else { return Vec::new() };
                open(vec![chunk(first.as_bytes()), chunk(b"data: "), Act::Flood(piece, FLOOD), end()])
            }
            Self::Empty => open(vec![chunk(protocol.text("").as_bytes()), end()]),
        }
    }
}

/// Acts one after the other.
trait ConcatActs {
    fn concat_acts(self) -> Vec<Act>;
}

impl ConcatActs for [Vec<Act>; 2] {
    fn concat_acts(self) -> Vec<Act> {
        self.into_iter().flatten().collect()
    }
}

/// The head of a stream of events, in chunks, on a connection that stays.
fn head() -> Act {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
    Act::Send(head.as_bytes().to_vec())
}

fn chunk(bytes: &[u8]) -> Act {
    // An empty chunk would end the answer.
    if bytes.is_empty() {
        return Act::Send(Vec::new());
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    Act::Send(chunk)
}

fn end() -> Act {
    Act::Send(b"0\r\n\r\n".to_vec())
}

fn refusal(protocol: ServedProtocol, status: &str, kind: &str, message: &str, headers: &str) -> Vec<Act> {
    let body = match protocol {
        ServedProtocol::Messages => json!({"type": "error", "error": {"type": kind, "message": message}}),
        ServedProtocol::Chat | ServedProtocol::Responses => {
            json!({"error": {"type": kind, "code": kind, "message": message}})
        }
    };
    plain(status, &format!("content-type: application/json\r\n{headers}"), &body.to_string())
}

fn plain(status: &str, headers: &str, body: &str) -> Vec<Act> {
    let text = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len());
    vec![Act::Send(text.into_bytes())]
}

#[cfg(test)]
mod tests {
    use super::ProviderFault;
    use std::collections::BTreeSet;

    #[test]
    fn every_fault_is_found_by_its_name() {
        let names: BTreeSet<_> = ProviderFault::ALL.iter().map(|fault| fault.name()).collect();
        assert_eq!(names.len(), ProviderFault::ALL.len());
        assert!(
            ProviderFault::ALL.iter().all(|fault| fault.name().parse() == Ok(*fault) && fault.about().ends_with('.'))
        );
        assert!("nothing".parse::<ProviderFault>().is_err());
    }
}
