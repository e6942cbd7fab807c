//! Times and durations as text in JSON.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_MS: u64 = 86_400_000;
/// Last millisecond of the year 9999, beyond which the text form has no room.
const MILLIS_MAX: u64 = 253_402_300_799_999;

/// RFC 3339 in UTC with milliseconds.
pub(super) mod time {
    use super::*;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format_time(*time))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(from)?;
        parse_time(&text).ok_or_else(|| D::Error::custom("not a UTC time in RFC 3339"))
    }
}

/// The same or null.
pub(super) mod optional_time {
    use super::*;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<SystemTime>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => to.serialize_str(&format_time(*time)),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<SystemTime>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else {
            return Ok(None);
        };
        parse_time(&text).map(Some).ok_or_else(|| D::Error::custom("not a UTC time in RFC 3339"))
    }
}

/// Go's notation: `1h2m3.5s`, `1.5ms`, `0s`.
pub(super) mod duration {
    use super::*;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format_duration(*time))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(from)?;
        parse_duration(&text).ok_or_else(|| D::Error::custom("not a duration like 1m2.5s"))
    }
}

fn format_time(time: SystemTime) -> String {
    let millis = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
        .min(MILLIS_MAX);
    let (year, month, day) = civil(millis / DAY_MS);
    let in_day = millis % DAY_MS;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        in_day / 3_600_000,
        in_day / 60_000 % 60,
        in_day / 1000 % 60,
        in_day % 1000
    )
}

fn parse_time(text: &str) -> Option<SystemTime> {
    let text = text.strip_suffix('Z')?;
    let (date, clock) = text.split_once('T')?;
    let [year, month, day] = numbers::<3>(date, '-')?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [hour, minute, second] = numbers::<3>(clock, ':')?;
    // Before any arithmetic: the numbers are as large as somebody wrote them.
    if !(1970..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=days_in(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let nanos = fraction_nanos(fraction)?;
    let days = days_before(year) + (1..month).map(|m| days_in(year, m)).sum::<u64>();
    let seconds = (days + day - 1) * 86_400 + hour * 3600 + minute * 60 + second;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds) + Duration::from_nanos(nanos))
}

fn numbers<const N: usize>(text: &str, separator: char) -> Option<[u64; N]> {
    let parsed: Option<Vec<u64>> = text.split(separator).map(digits).collect();
    parsed?.try_into().ok()
}

/// Decimal digits only: `parse` alone would take a sign.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Digits after a point as nanoseconds; further ones are dropped.
fn fraction_nanos(fraction: &str) -> Option<u64> {
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    format!("{:0<9.9}", fraction).parse().ok()
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u64::from(is_leap(year)),
        _ => 31,
    }
}

/// Days from 1970-01-01 to the first of January of `year`.
fn days_before(year: u64) -> u64 {
    let leaps = |y: u64| y / 4 - y / 100 + y / 400;
    (year - 1970) * 365 + leaps(year - 1) - leaps(1969)
}

fn civil(days: u64) -> (u64, u64, u64) {
    // At most one year too early: a year is never longer than 366 days, and the estimate is
    // corrected upwards.
    let mut year = 1970 + days / 366;
    while days_before(year + 1) <= days {
        year += 1;
    }
    let mut day = days - days_before(year);
    let mut month = 1;
    while day >= days_in(year, month) {
        day -= days_in(year, month);
        month += 1;
    }
    (year, month, day + 1)
}

fn format_duration(time: Duration) -> String {
    let nanos = time.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    if nanos < 1_000_000_000 {
        let (unit, name) = match nanos {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "\u{b5}s"),
            _ => (1_000_000, "ms"),
        };
        return format!("{}{name}", decimal(nanos / unit, nanos % unit, unit));
    }
    let seconds = time.as_secs();
    let rest = decimal(u128::from(seconds % 60), u128::from(time.subsec_nanos()), 1_000_000_000);
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => format!("{rest}s"),
        (0, minutes) => format!("{minutes}m{rest}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{rest}s"),
    }
}

/// `whole` and `part`/`unit` as a decimal number without trailing zeros.
fn decimal(whole: u128, part: u128, unit: u128) -> String {
    if part == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    let text = format!("{whole}.{part:0width$}");
    text.trim_end_matches('0').to_owned()
}

fn parse_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let unit_end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let unit = match unit {
            "h" => 3_600_000_000_000,
            "m" => 60_000_000_000,
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ns" => 1,
            _ => return None,
        };
        total = total.checked_add(scaled(number, unit)?)?;
        rest = after;
    }
    Some(total)
}

fn scaled(number: &str, unit_nanos: u64) -> Option<Duration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole = u128::from(digits(whole)?) * u128::from(unit_nanos);
    // Nine digits are exact for every unit up to a second; for minutes and hours Go itself
    // writes none.
    let part = u128::from(fraction_nanos(fraction)?) * u128::from(unit_nanos) / 1_000_000_000;
    let nanos = whole.checked_add(part)?;
    let seconds = u64::try_from(nanos / 1_000_000_000).ok()?;
    Some(Duration::new(seconds, u32::try_from(nanos % 1_000_000_000).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_milliseconds() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_001, "2000-02-29T00:00:00.001Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (MILLIS_MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_millis(millis);
            assert_eq!(format_time(time), text);
            assert_eq!(parse_time(text), Some(time));
        }
        assert_eq!(format_time(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        for day in 0..146_097 {
            let time = UNIX_EPOCH + Duration::from_millis(day * DAY_MS);
            assert_eq!(parse_time(&format_time(time)), Some(time), "{day}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "Z",
            "2024-01-01",
            "2024-01-01T00:00:00",
            "2024-13-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2024-01-00T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:60:00Z",
            "+2024-01-01T00:00:00Z",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00.xZ",
            "1969-12-31T00:00:00Z",
            "99999-01-01T00:00:00Z",
            "2024-0-01T00:00:00Z",
            "2024-9999999999999999999-01T00:00:00Z",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
        let exact = parse_time("2024-01-01T00:00:00.123456789123Z").expect("more digits");
        assert_eq!(exact.duration_since(UNIX_EPOCH).expect("after").subsec_nanos(), 123_456_789);
    }

    #[test]
    fn durations_are_written_as_go_does_and_come_back() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5\u{b5}s"),
            (1_000_000, "1ms"),
            (1_234_567, "1.234567ms"),
            (1_000_000_001, "1.000000001s"),
            (61_000_000_000, "1m1s"),
            (3_600_000_000_000, "1h0m0s"),
            (90_061_500_000_000, "25h1m1.5s"),
        ] {
            let time = Duration::from_nanos(nanos);
            assert_eq!(format_duration(time), text);
            assert_eq!(parse_duration(text), Some(time), "{text}");
        }
        assert_eq!(parse_duration("1us"), Some(Duration::from_micros(1)));
        assert_eq!(parse_duration("0"), Some(Duration::ZERO));
        assert_eq!(parse_duration(&format_duration(Duration::MAX)), Some(Duration::MAX));
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "1", "s", "1x", "-1s", "1.s", "1..5s", "99999999999999999999s", "1s2"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
