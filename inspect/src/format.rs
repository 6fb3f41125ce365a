//! Numbers, sizes and durations as people write them.

/// `s` unless it is one.
pub fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A count of something, with the English plural: `1 event`, `1,204 events`, `2 matches`, `3 bodies`.
pub fn counted(count: u64, noun: &str) -> String {
    let number = thousands(count);
    match noun.strip_suffix('y') {
        _ if count == 1 => format!("{number} {noun}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number} {stem}ies"),
        None if noun.ends_with("ch") => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

/// With separators: `1,204`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A duration: `12 ms`, `1.2 s`, `2m 05s`, `1h 02m`, `3d 4h`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60_000..3_600_000 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600_000..86_400_000 => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Nano-dollars as money: `$1.20`, `$0.0012`, `<$0.0001`.
pub fn money(nano: u64) -> String {
    match nano {
        0 => "$0".to_owned(),
        1..100_000 => "<$0.0001".to_owned(),
        100_000..1_000_000_000 => format!("$0.{:04}", nano / 100_000),
        _ => format!("${}.{:02}", thousands(nano / 1_000_000_000), nano / 10_000_000 % 100),
    }
}

/// Bytes for people: `812 bytes`, `12.3 kB`, `2.2 MB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} byte{}", plural(bytes)),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes / 100 % 10),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(
            [thousands(0), thousands(999), thousands(1_204), thousands(12_345_678)].join(" "),
            "0 999 1,204 12,345,678"
        );
        assert_eq!(
            [12, 1_250, 125_000, 3_720_000, 273_600_000].map(duration).join(" | "),
            "12 ms | 1.2 s | 2m 05s | 1h 02m | 3d 4h"
        );
        assert_eq!([0, 7, 1_250_000, 1_200_000_000].map(money).join(" "), "$0 <$0.0001 $0.0012 $1.20");
        assert_eq!(counted(1, "retry") + " " + &counted(2, "retry"), "1 retry 2 retries");
        assert_eq!(counted(2, "match") + " " + &counted(0, "day"), "2 matches 0 days");
        assert_eq!([1, 812, 12_345, 2_289_664].map(size).join(" | "), "1 byte | 812 bytes | 12.3 kB | 2.2 MB");
    }
}
