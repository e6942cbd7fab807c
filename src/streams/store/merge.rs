//! Several ordered layers read as one: the newest layer that knows a key decides.

use std::cmp::Ordering;
use std::iter::Peekable;

use bytes::Bytes;

use super::bytes_store::{Entry, EntryIter, Order};
use super::error::StoreError;

/// One layer, in order; a `None` value hides the key in older layers.
pub(super) type Layer = Box<dyn Iterator<Item = Result<(Bytes, Option<Bytes>), StoreError>> + Send>;

/// Merges layers given newest first, all in `order`.
pub(super) fn merge(layers: Vec<Layer>, order: Order) -> EntryIter {
    Box::new(Merge {
        layers: layers.into_iter().map(Iterator::peekable).collect(),
        order,
        failed: false,
    })
}

struct Merge {
    layers: Vec<Peekable<Layer>>,
    order: Order,
    failed: bool,
}

impl Merge {
    /// The layer whose head comes next; the newest one among equal keys.
    fn next_layer(&mut self) -> Option<usize> {
        let mut best: Option<(usize, Bytes)> = None;
        for (index, layer) in self.layers.iter_mut().enumerate() {
            let key = match layer.peek() {
                None => continue,
                // An error is delivered before anything else.
                Some(Err(_)) => return Some(index),
                Some(Ok((key, _))) => key,
            };
            let before = match self.order {
                Order::Ascending => Ordering::Less,
                Order::Descending => Ordering::Greater,
            };
            if best.as_ref().is_none_or(|(_, found)| key.cmp(found) == before) {
                best = Some((index, key.clone()));
            }
        }
        best.map(|(index, _)| index)
    }
}

impl Iterator for Merge {
    type Item = Result<Entry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            let index = self.next_layer()?;
            let (key, value) = match self.layers[index].next()? {
                Ok(entry) => entry,
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            };
            for older in &mut self.layers[index + 1..] {
                older.next_if(|head| head.as_ref().is_ok_and(|(other, _)| *other == key));
            }
            if let Some(value) = value {
                return Some(Ok((key, value)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(entries: &[(&'static str, Option<&'static str>)]) -> Layer {
        let entries: Vec<_> = entries
            .iter()
            .map(|(key, value)| Ok((Bytes::from(*key), value.map(Bytes::from))))
            .collect();
        Box::new(entries.into_iter())
    }

    #[test]
    fn the_newest_layer_decides_and_deletions_hide() {
        let newest = layer(&[("b", None), ("c", Some("new"))]);
        let oldest =
            layer(&[("a", Some("1")), ("b", Some("2")), ("c", Some("3")), ("d", Some("4"))]);
        let got: Vec<_> =
            merge(vec![newest, oldest], Order::Ascending).map(Result::unwrap).collect();
        let pair = |key: &'static str, value: &'static str| (Bytes::from(key), Bytes::from(value));
        assert_eq!(got, [pair("a", "1"), pair("c", "new"), pair("d", "4")]);
    }

    #[test]
    fn an_error_ends_the_iteration() {
        let bad: Layer = Box::new(std::iter::once(Err(StoreError::Config("broken".into()))));
        let mut merged = merge(vec![layer(&[("a", Some("1"))]), bad], Order::Ascending);
        assert!(merged.next().unwrap().is_err());
        assert!(merged.next().is_none());
    }
}
