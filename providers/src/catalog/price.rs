//! Prices: decimal text in dollars, read exactly. A float would make some of them another number.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;
use std::str::FromStr;

/// Decimal places of a nano-dollar.
const PLACES: i64 = 9;

/// An amount of dollars, in whole nano-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars(u64);

/// The text is not a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// It is not a decimal number.
    #[error("not an amount of dollars such as 0.25")]
    NotANumber,
    /// It is finer than a nano-dollar: round it.
    #[error("finer than a nano-dollar (nine decimal places)")]
    TooFine,
    /// It is beyond what an event holds (2^53 nano-dollars).
    #[error("more than nine million dollars")]
    TooMuch,
}

impl Dollars {
    /// In nano-dollars.
    pub const fn nano(self) -> u64 {
        self.0
    }
}

impl FromStr for Dollars {
    type Err = PriceError;

    /// Reads a decimal number as JSON writes it: `3`, `0.25`, `1e-7`.
    fn from_str(text: &str) -> Result<Self, PriceError> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i16>().map_err(|_| PriceError::NotANumber)?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        if whole.is_empty() || mantissa.ends_with('.') || !digits().all(|byte| byte.is_ascii_digit()) {
            return Err(PriceError::NotANumber);
        }
        // The number of digits before the point once dollars are nano-dollars.
        let whole_digits = whole.len() as i64 + i64::from(exponent) + PLACES;
        let mut nano: u64 = 0;
        let mut place: i64 = 0;
        for digit in digits().map(|byte| u64::from(byte - b'0')) {
            place += 1;
            if place <= whole_digits {
                nano = nano.checked_mul(10).and_then(|nano| nano.checked_add(digit)).ok_or(PriceError::TooMuch)?;
            } else if digit != 0 {
                return Err(PriceError::TooFine);
            }
        }
        while place < whole_digits && nano != 0 {
            nano = nano.checked_mul(10).ok_or(PriceError::TooMuch)?;
            place += 1;
        }
        if nano >= 1 << 53 { Err(PriceError::TooMuch) } else { Ok(Self(nano)) }
    }
}

impl Serialize for Dollars {
    /// As a text: `0.25`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = format!("{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        serializer.serialize_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl<'de> Deserialize<'de> for Dollars {
    /// From a JSON number, or a text that is one; letter for letter, never through a float.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        raw.get().trim_matches('"').parse().map_err(|error| de::Error::custom(format!("{}: {error}", raw.get())))
    }
}

#[cfg(test)]
mod tests {
    use super::{Dollars, PriceError};
    use proptest::prelude::*;

    #[test]
    fn dollars_are_read_to_the_nano_dollar() {
        for (text, nano) in [
            ("0", 0),
            ("3", 3_000_000_000),
            ("0.25", 250_000_000),
            ("0.083333", 83_333_000),
            ("0.003625", 3_625_000),
            ("1e-7", 100),
            ("2.5E+1", 25_000_000_000),
            ("0.0000000010", 1),
            ("9007199.254740991", 9_007_199_254_740_991),
        ] {
            assert_eq!(text.parse::<Dollars>().map(Dollars::nano), Ok(nano), "{text}");
        }
    }

    #[test]
    fn what_is_no_price_is_said_to_be_none() {
        for text in ["", ".5", "1.", "-1", "1,5", "NaN", "1e", "0x10", "1e99999", " 1"] {
            assert_eq!(text.parse::<Dollars>(), Err(PriceError::NotANumber), "{text}");
        }
        assert_eq!("0.0000000001".parse::<Dollars>(), Err(PriceError::TooFine));
        for text in ["9007199.254740992", "1e30000", "99999999999999999999999"] {
            assert_eq!(text.parse::<Dollars>(), Err(PriceError::TooMuch), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_amount_is_read_as_it_was_written(nano in 0..(1u64 << 53)) {
            let text = format!("{}.{:09}", nano / 1_000_000_000, nano % 1_000_000_000);
            prop_assert_eq!(text.parse::<Dollars>().map(Dollars::nano), Ok(nano));
        }
    }
}
