//! The order in which Java iterates a `HashSet` of strings.
//!
//! Kafka Streams sends some lists, and prints others, in that order, so that equality with a
//! Java member needs it. Tables are the plain ones; buckets that Java would turn into trees
//! (eight strings with one bucket) keep their order of insertion there as well.

/// Java's `String.hashCode`.
pub(crate) fn hash_code(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// Smallest table.
const TABLE: usize = 16;

fn bucket(hash: i32, table: usize) -> usize {
    let hash = hash as u32;
    (hash ^ (hash >> 16)) as usize & (table - 1)
}

fn ordered<T>(
    items: impl IntoIterator<Item = T>,
    table: usize,
    hash: impl Fn(&T) -> i32,
) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    // Stable: within a bucket the order of insertion stays.
    items.sort_by_key(|item| bucket(hash(item), table));
    items
}

/// Distinct strings as a set iterates them that was filled one by one.
pub(crate) fn grown<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Vec<S> {
    let items = distinct(items);
    let mut table = TABLE;
    while items.len() * 4 > table * 3 {
        table *= 2;
    }
    ordered(items, table, |item| hash_code(item.as_ref()))
}

/// Distinct strings as a set iterates them that was made as a copy of a collection.
pub(crate) fn copied<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Vec<S> {
    let items: Vec<S> = items.into_iter().collect();
    let table = table_for(items.len());
    ordered(distinct(items), table, |item| hash_code(item.as_ref()))
}

/// Items of any type as a set iterates them that was made as a copy of `len` items.
pub(crate) fn by_hash<T>(items: Vec<T>, len: usize, hash: impl Fn(&T) -> i32) -> Vec<T> {
    ordered(items, table_for(len), hash)
}

/// The table of a set made for `len` items.
fn table_for(len: usize) -> usize {
    // As Java computes it, in 32-bit floats.
    let wanted = (len as f32 / 0.75f32) as usize + 1;
    wanted.max(TABLE).next_power_of_two()
}

fn distinct<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Vec<S> {
    let mut seen = std::collections::HashSet::new();
    items.into_iter().filter(|item| seen.insert(item.as_ref().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_codes_are_javas() {
        assert_eq!(hash_code(""), 0);
        assert_eq!(hash_code("a"), 97);
        assert_eq!(hash_code("hello"), 99_162_322);
        assert_eq!(hash_code("polygenelubricants"), i32::MIN);
        assert_eq!(hash_code("\u{1F600}"), 1_772_899);
    }

    #[test]
    fn buckets_ascend_and_keep_their_order_of_insertion() {
        // 'b' is 98 and 'r' 114: both in bucket 2 of 16; 'a' is 97.
        assert_eq!(grown(["r", "b", "a", "r"]), ["a", "r", "b"]);
        assert_eq!(grown(["b", "r", "a"]), ["a", "b", "r"]);
    }

    #[test]
    fn a_copy_of_twelve_has_a_larger_table_than_twelve_added() {
        // In a table of 32 'r' (114) comes after 'b' (98), whatever was first.
        let names = ["r", "b", "a", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
        let place = |names: &[&str], name: &str| names.iter().position(|n| *n == name);
        let grown = grown(names);
        let copied = copied(names);
        assert!(place(&grown, "r") < place(&grown, "b"));
        assert!(place(&copied, "r") > place(&copied, "b"));
        assert_eq!(table_for(11), 16);
        assert_eq!(table_for(12), 32);
    }
}
