//! Times in the past, as they are given on the command line.

/// Milliseconds of `90m`, `12h`, `7d`.
pub fn ago(text: &str) -> Result<u64, String> {
    let unit = |text: &str| match text {
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        "w" => Some(604_800_000),
        _ => None,
    };
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(at);
    number
        .parse::<u64>()
        .ok()
        .zip(unit(rest))
        .and_then(|(number, unit)| number.checked_mul(unit))
        .ok_or_else(|| "expected a time such as 90m, 12h or 7d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::ago;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        assert_eq!([ago("90m"), ago("12h"), ago("7d")], [Ok(5_400_000), Ok(43_200_000), Ok(604_800_000)]);
        assert!(ago("7").is_err() && ago("d").is_err() && ago("99999999999999999999d").is_err());
    }
}
