use std::fmt;

/// A point.
#[derive(Debug)]
pub struct Point { x: i32 }

impl Point {
    pub fn new(x: i32) -> Self {
        Point { x }
    }
}
