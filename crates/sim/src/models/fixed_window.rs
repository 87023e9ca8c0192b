//! A quota per window on a blackboard: what is left of it, window after window.

use super::CalendarModel;

/// What is left in the window of the last question. Times are wall times, in nanoseconds since 1970.
#[derive(Debug, Clone)]
pub struct FixedWindowModel {
    calendar: CalendarModel,
    quota: i128,
    /// Micro-tokens; negative is debt, paid by the next windows.
    left: i128,
    number: i128,
}

impl FixedWindowModel {
    /// Nothing spent.
    pub fn full(quota: u64, calendar: CalendarModel, wall: i128) -> FixedWindowModel {
        let quota = i128::from(quota);
        FixedWindowModel { calendar, quota, left: quota, number: calendar.number(wall) }
    }

    /// What is left at a wall time, in micro-tokens.
    pub fn left(&mut self, wall: i128) -> i128 {
        let number = self.calendar.number(wall);
        while self.number < number && self.left < self.quota {
            self.left = (self.left + self.quota).min(self.quota);
            self.number += 1;
        }
        self.number = self.number.max(number);
        self.left
    }

    /// Takes so many micro-tokens, into debt if need be; negative ones are given back, up to the quota.
    pub fn take(&mut self, micros: i128, wall: i128) {
        self.left = (self.left(wall) - micros).min(self.quota);
    }

    /// When at least `need` micro-tokens will be left: the start of a window, or `wall` itself.
    pub fn when_left(&self, need: i128, wall: i128) -> i128 {
        let mut model = self.clone();
        let (mut at, mut number) = (wall, self.calendar.number(wall));
        while model.left(at) < need {
            number += 1;
            at = self.calendar.start(number);
        }
        at
    }
}
