//! When a provider asks to be asked again (`docs/reference/wire.md#errors`).

use crate::wire::RetryAdvice;
use annals_core::Time;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use std::time::{Duration, UNIX_EPOCH};

/// Reads `retry-after-ms`, `retry-after` (seconds or a date) and `x-should-retry`. `now` counts when the answer has no
/// date of its own.
pub(super) fn read(headers: &HeaderMap, now: Time) -> RetryAdvice {
    let retry = match text(headers, "x-should-retry") {
        Some("true") => Some(true),
        Some("false") => Some(false),
        _ => None,
    };
    let ms = text(headers, "retry-after-ms").and_then(|text| millis(text, 1.0));
    let after_ms = ms.or_else(|| {
        let asked = text(headers, RETRY_AFTER.as_str())?;
        millis(asked, 1_000.0).or_else(|| {
            let at = httpdate::parse_http_date(asked).ok()?;
            let sent = text(headers, DATE.as_str()).and_then(|text| httpdate::parse_http_date(text).ok());
            let sent = sent.unwrap_or(UNIX_EPOCH + Duration::from_millis(now.millis()));
            Some(at.duration_since(sent).map_or(0, |wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
        })
    });
    RetryAdvice { after_ms, retry }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

/// A number of units, rounded up; `None` if it is not a time to wait.
fn millis(text: &str, unit: f64) -> Option<u64> {
    let number: f64 = text.parse().ok()?;
    // Beyond every wait that the turn allows the exact number does not matter.
    (number.is_finite() && number >= 0.0).then(|| (number * unit).min(1e12).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn read(pairs: &[(&'static str, &'static str)]) -> RetryAdvice {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.insert(*name, HeaderValue::from_static(value));
        }
        super::read(&map, Time(784_111_777_000))
    }

    #[test]
    fn milliseconds_come_before_seconds_and_seconds_before_a_date() {
        assert_eq!(read(&[("retry-after-ms", "1500"), ("retry-after", "9")]).after_ms, Some(1_500));
        assert_eq!(read(&[("retry-after", "9")]).after_ms, Some(9_000));
        assert_eq!(read(&[("retry-after", "0.25")]).after_ms, Some(250));
        assert_eq!(read(&[("retry-after-ms", "soon"), ("retry-after", "2")]).after_ms, Some(2_000));
    }

    #[test]
    fn a_date_counts_from_the_answers_own_or_from_now() {
        let date = "Sun, 06 Nov 1994 08:50:37 GMT"; // a minute after `now`
        assert_eq!(read(&[("retry-after", date)]).after_ms, Some(60_000));
        assert_eq!(read(&[("retry-after", date), ("date", "Sun, 06 Nov 1994 08:50:00 GMT")]).after_ms, Some(37_000));
        assert_eq!(read(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")]).after_ms, Some(0));
    }

    #[test]
    fn what_is_no_time_is_passed_over() {
        for text in ["", "soon", "-1", "NaN", "inf"] {
            assert_eq!(read(&[("retry-after", text)]).after_ms, None, "{text}");
        }
        assert!(read(&[("retry-after", "1e300")]).after_ms.is_some());
    }

    #[test]
    fn a_provider_may_say_whether_it_wants_another_attempt() {
        assert_eq!(read(&[("x-should-retry", "true")]).retry, Some(true));
        assert_eq!(read(&[("x-should-retry", "false")]).retry, Some(false));
        assert_eq!(read(&[("x-should-retry", "perhaps")]).retry, None);
    }
}
