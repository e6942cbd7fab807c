//! The order in which Java iterates a `TreeSet` whose order changes while it is filled.
//!
//! Kafka Streams keeps the neighbours of a node in sets that are sorted by size, and lets the
//! sizes grow afterwards. Where an item went then depends on the sizes of that time and on the
//! shape of the tree, so that the tree has to be the same: a red-black tree with the insertion
//! that textbooks give, as Java's is.

use std::cmp::Ordering;

/// No node.
const NIL: usize = usize::MAX;

#[derive(Debug, Clone)]
struct Node<T> {
    item: T,
    left: usize,
    right: usize,
    parent: usize,
    red: bool,
}

/// A sorted set that is only added to.
#[derive(Debug, Clone)]
pub(crate) struct Tree<T> {
    nodes: Vec<Node<T>>,
    root: usize,
}

impl<T: Copy> Tree<T> {
    pub(crate) fn new() -> Self {
        Self { nodes: Vec::new(), root: NIL }
    }

    /// Adds an item unless one is met that is equal to it.
    pub(crate) fn add(&mut self, item: T, compare: impl Fn(&T, &T) -> Ordering) {
        let (mut at, mut parent, mut side) = (self.root, NIL, Ordering::Equal);
        while at != NIL {
            parent = at;
            side = compare(&item, &self.nodes[at].item);
            at = match side {
                Ordering::Less => self.nodes[at].left,
                Ordering::Greater => self.nodes[at].right,
                Ordering::Equal => return,
            };
        }
        let new = self.nodes.len();
        self.nodes.push(Node { item, left: NIL, right: NIL, parent, red: true });
        match (parent, side) {
            (NIL, _) => self.root = new,
            (_, Ordering::Less) => self.nodes[parent].left = new,
            _ => self.nodes[parent].right = new,
        }
        self.balance(new);
    }

    /// The items from left to right.
    pub(crate) fn items(&self) -> Vec<T> {
        let mut items = Vec::with_capacity(self.nodes.len());
        let mut stack = Vec::new();
        let mut at = self.root;
        while at != NIL || !stack.is_empty() {
            while at != NIL {
                stack.push(at);
                at = self.nodes[at].left;
            }
            if let Some(next) = stack.pop() {
                items.push(self.nodes[next].item);
                at = self.nodes[next].right;
            }
        }
        items
    }

    fn parent(&self, node: usize) -> usize {
        if node == NIL { NIL } else { self.nodes[node].parent }
    }

    fn is_red(&self, node: usize) -> bool {
        node != NIL && self.nodes[node].red
    }

    fn paint(&mut self, node: usize, red: bool) {
        if node != NIL {
            self.nodes[node].red = red;
        }
    }

    fn is_left(&self, node: usize) -> bool {
        let parent = self.parent(node);
        parent != NIL && self.nodes[parent].left == node
    }

    /// Restores the colours' rules from a new red node upwards.
    fn balance(&mut self, mut node: usize) {
        while node != self.root && self.is_red(self.parent(node)) {
            let parent = self.parent(node);
            let above = self.parent(parent);
            let left = self.is_left(parent);
            let uncle = match (above, left) {
                (NIL, _) => NIL,
                (_, true) => self.nodes[above].right,
                (_, false) => self.nodes[above].left,
            };
            if self.is_red(uncle) {
                self.paint(parent, false);
                self.paint(uncle, false);
                self.paint(above, true);
                node = above;
                continue;
            }
            if self.is_left(node) != left {
                node = parent;
                self.rotate(node, left);
            }
            let parent = self.parent(node);
            let above = self.parent(parent);
            self.paint(parent, false);
            self.paint(above, true);
            self.rotate(above, !left);
        }
        self.paint(self.root, false);
    }

    /// Turns a node down, to the left or to the right.
    fn rotate(&mut self, node: usize, to_left: bool) {
        if node == NIL {
            return;
        }
        let up = if to_left { self.nodes[node].right } else { self.nodes[node].left };
        if up == NIL {
            return;
        }
        let inner = if to_left { self.nodes[up].left } else { self.nodes[up].right };
        if to_left {
            self.nodes[node].right = inner;
        } else {
            self.nodes[node].left = inner;
        }
        if inner != NIL {
            self.nodes[inner].parent = node;
        }
        let parent = self.nodes[node].parent;
        self.nodes[up].parent = parent;
        if parent == NIL {
            self.root = up;
        } else if self.nodes[parent].left == node {
            self.nodes[parent].left = up;
        } else {
            self.nodes[parent].right = up;
        }
        if to_left {
            self.nodes[up].left = node;
        } else {
            self.nodes[up].right = node;
        }
        self.nodes[node].parent = up;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(tree: &Tree<u32>, at: usize) -> usize {
        if at == NIL {
            return 0;
        }
        let node = &tree.nodes[at];
        assert!(!(node.red && (tree.is_red(node.left) || tree.is_red(node.right))));
        1 + depth(tree, node.left).max(depth(tree, node.right))
    }

    #[test]
    fn a_tree_with_a_steady_order_is_sorted_and_shallow() {
        let mut tree = Tree::new();
        let mut next = 7u32;
        let mut wanted = std::collections::BTreeSet::new();
        for _ in 0..1000 {
            next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            tree.add(next % 512, u32::cmp);
            wanted.insert(next % 512);
        }
        assert_eq!(tree.items(), wanted.into_iter().collect::<Vec<_>>());
        assert!(depth(&tree, tree.root) <= 18);
        let mut ascending = Tree::new();
        (0..1024).for_each(|item| ascending.add(item, u32::cmp));
        assert!(depth(&ascending, ascending.root) <= 20);
    }
}
