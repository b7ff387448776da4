// SPDX-License-Identifier: MIT

use std::{fmt, io};

/// A failure of the library. As an [`io::Error`], it has the kind of its cause.
#[derive(Debug)]
#[non_exhaustive]
pub struct Error {
    /// What failed.
    pub function: &'static str,
    /// Why.
    pub cause: io::Error,
}

/// The result of a function that may fail.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}: {}", self.function, self.cause)
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        io::Error::new(error.cause.kind(), error)
    }
}

pub(crate) fn fail<T>(function: &'static str, cause: impl Into<io::Error>) -> Result<T> {
    Err(Error { function, cause: cause.into() })
}

/// The result of a function that returns -1 with errno set.
pub(crate) fn check(function: &'static str, result: i64) -> Result<u64> {
    u64::try_from(result).or_else(|_| fail(function, io::Error::last_os_error()))
}

/// Calls a function of the library, for which the caller says why that is safe.
macro_rules! call {
    ($name:ident($($argument:expr),*)) => {
        $crate::error::check(stringify!($name), $crate::ffi::$name($($argument),*).into())
    };
}
pub(crate) use call;
