//! The arguments of one request, where they lie in the bytes that were read.

/// Arguments that are kept beside the frame, without a further allocation. Only `TOLLGATE.CHECK` looks at further ones.
pub(super) const ARGS_KEPT_MAX: usize = 16;

/// Where one argument lies, from the start of the request's bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: usize,
    pub(super) len: usize,
}

/// The arguments of one request, the command's name first. `'b` is the life of the bytes, `'p` that of the places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Args<'b, 'p> {
    bytes: &'b [u8],
    /// Of the first [`ARGS_KEPT_MAX`].
    places: &'p [Place],
    /// Of those behind them.
    further: &'p [Place],
    count: usize,
}

impl<'b, 'p> Args<'b, 'p> {
    /// `count` arguments, of which the first lie at `places` and those behind them at `further`.
    pub(super) fn new(bytes: &'b [u8], places: &'p [Place], further: &'p [Place], count: usize) -> Self {
        Args { bytes, places, further, count }
    }

    /// How many there are, the name and those not kept among them.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The command's name as it was sent; empty if there is none.
    #[inline]
    pub(super) fn name(&self) -> &'b [u8] {
        self.get(0).unwrap_or_default()
    }

    /// The argument at `index`, the name being 0; `None` if there is none or it was not kept.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&'b [u8]> {
        let place = self.places.get(index)?;
        self.bytes.get(place.start..place.start + place.len)
    }

    /// Whether the argument at `index` is `word`, in whatever case.
    #[inline]
    pub(super) fn is(&self, index: usize, word: &str) -> bool {
        self.get(index).is_some_and(|argument| argument.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Every argument, the name first; `None` if there are more than were noted.
    pub(super) fn all(&self) -> Option<impl Iterator<Item = &'b [u8]> + Clone + use<'b, 'p>> {
        let Args { bytes, places, further, count } = *self;
        let of = move |place: &Place| bytes.get(place.start..place.start + place.len).unwrap_or_default();
        (places.len() + further.len() == count).then(|| places.iter().chain(further).map(of))
    }

    /// Every argument behind the name; `None` if there are more than were noted.
    pub(super) fn behind_the_name(&self) -> Option<impl Iterator<Item = &'b [u8]> + use<'b, 'p>> {
        self.all().map(|all| all.skip(1))
    }

    /// The arguments from `first` on, of the first [`ARGS_KEPT_MAX`].
    pub(super) fn from(&self, first: usize) -> impl Iterator<Item = &'b [u8]> + use<'b, 'p> {
        let args = *self;
        (first..args.places.len()).map_while(move |index| args.get(index))
    }
}
