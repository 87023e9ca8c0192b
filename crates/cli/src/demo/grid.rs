//! How requests are spread over the columns of a chart.
//!
//! Promises that a column always stands for the same number of requests, or a request for the same number of columns,
//! so that no pattern is an artefact of the width. Does not know what a column shows.

/// The columns of a chart. One of `requests_per_column` and `columns_per_request` is 1; neither is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) columns: u64,
    pub(crate) requests_per_column: u64,
    pub(crate) columns_per_request: u64,
}

impl Grid {
    /// Spreads `requests` over at most `room` columns. If there are too many, zooms in on the beginning: about twice
    /// the way to the first denial, or all of it where nothing is denied.
    pub(crate) fn fit(requests: u64, first_denial: Option<u64>, room: u64) -> Grid {
        let (requests, room) = (requests.max(1), room.max(1));
        if requests <= room {
            let columns_per_request = room / requests;
            return Grid {
                columns: requests * columns_per_request,
                requests_per_column: 1,
                columns_per_request,
            };
        }
        let requests_per_column = match first_denial {
            None => requests.div_ceil(room),
            Some(number) => {
                let worth_seeing = number.saturating_mul(2).min(requests);
                ((worth_seeing + room / 2) / room).max(1)
            }
        };
        let columns = requests.div_ceil(requests_per_column).min(room);
        Grid { columns, requests_per_column, columns_per_request: 1 }
    }

    /// The column in which the request of that number (from 1) comes.
    pub(crate) fn column_of(&self, number: u64) -> u64 {
        (number - 1) / self.requests_per_column * self.columns_per_request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(requests: u64, first_denial: Option<u64>, room: u64) -> (u64, u64, u64) {
        let grid = Grid::fit(requests, first_denial, room);
        (grid.columns, grid.requests_per_column, grid.columns_per_request)
    }

    #[test]
    fn few_requests_are_spread_and_many_are_gathered() {
        assert_eq!(fit(20, Some(5), 70), (60, 1, 3));
        assert_eq!(fit(300, None, 70), (60, 5, 1));
        assert_eq!(fit(1_000_000, None, 70), (70, 14_286, 1));
    }

    #[test]
    fn many_requests_are_cut_to_about_twice_the_way_to_the_first_denial() {
        assert_eq!(fit(300, Some(60), 70), (70, 2, 1));
        assert_eq!(fit(300, Some(60), 110), (110, 1, 1));
        assert_eq!(fit(300, Some(2), 70), (70, 1, 1));
    }

    #[test]
    fn the_first_denial_is_always_within_the_chart() {
        for requests in [1, 2, 71, 300, 999, 1_000_000] {
            for number in [1, 2, 60, 105, 106, 500, 999_999, 1_000_000].into_iter().filter(|n| *n <= requests)
            {
                for room in [1, 38, 70, 150] {
                    let grid = Grid::fit(requests, Some(number), room);
                    assert!(
                        grid.column_of(number) < grid.columns && grid.columns <= room,
                        "{number} in {grid:?}"
                    );
                }
            }
        }
    }
}
