//! Whole numbers in and out, quickly: five come and five go with every `CL.THROTTLE`.

/// Digits that cannot overflow 64 bits.
const SAFE_DIGITS: usize = 18;
/// The longest number, in bytes: a sign and 19 digits.
pub(super) const BYTES_MAX: usize = 20;

/// Reads what Rust's own `parse::<i64>` takes: an optional sign and digits, no spaces. redis-cell reads its arguments so.
#[inline]
pub(super) fn parse(bytes: &[u8]) -> Option<i64> {
    if bytes.is_empty() || bytes.len() > SAFE_DIGITS {
        return parse_any(bytes);
    }
    let mut value = 0;
    for byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return parse_any(bytes);
        }
        value = value * 10 + i64::from(digit);
    }
    Some(value)
}

#[cold]
fn parse_any(bytes: &[u8]) -> Option<i64> {
    str::from_utf8(bytes).ok()?.parse().ok()
}

/// Appends a number in decimal.
#[inline]
pub(super) fn write(value: i64, output: &mut Vec<u8>) {
    let mut digits = [0_u8; BYTES_MAX];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + low_digit(rest);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        // The longest number has 19 digits, so there is room.
        at -= 1;
        digits[at] = b'-';
    }
    output.extend_from_slice(&digits[at..]);
}

const fn low_digit(value: u64) -> u8 {
    (value % 10) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_sim::seeds::for_each_seed;

    fn written(value: i64) -> String {
        let mut output = Vec::new();
        write(value, &mut output);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn every_number_is_written_as_rust_writes_it_and_read_back() {
        let check = |value: i64| {
            assert_eq!(written(value), value.to_string());
            assert_eq!(parse(value.to_string().as_bytes()), Some(value));
        };
        [0, 1, 9, 10, 99, 100, -1, -10, i64::MAX, i64::MIN, 999_999_999_999_999_999]
            .into_iter()
            .for_each(check);
        for_each_seed(0..1_000, |rng| check(rng.i64(..) >> rng.u32(0..64)));
    }

    #[test]
    fn what_rust_does_not_read_is_no_number() {
        for text in
            ["", "-", "+", " 1", "1 ", "1.0", "0x1", "1_000", "9223372036854775808", "-9223372036854775809"]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(parse(b"\xff"), None);
        assert_eq!(parse(b"+7"), Some(7));
        assert_eq!(parse(b"000000000000000000000000007"), Some(7));
    }
}
