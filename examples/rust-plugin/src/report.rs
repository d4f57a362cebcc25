//! report.rs — how a verb fails: a code and a text in the record that the host owns.
use crate::abi::*;
use core::fmt::{self, Write};

/// What goes up inside the plugin; a verb turns it into the host's record with `answer`.
pub struct Failure {
    pub code: Status,
    pub op: u32,
    text: Text<256>,
}
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub fn text(&self) -> &Text<256> {
        &self.text
    }
}

/// A text of at most N - 1 bytes, always terminated; what is longer is cut.
pub struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    pub fn new(args: fmt::Arguments) -> Self {
        let mut text = Text { bytes: [0; N], len: 0 };
        let _ = text.write_fmt(args);
        text
    }
    /// Writes as much as fits with a terminator, and returns the whole length.
    pub unsafe fn copy_to(&self, to: *mut u8, room: usize) -> u64 {
        if !to.is_null() && room > 0 {
            let n = self.len.min(room - 1);
            core::ptr::copy_nonoverlapping(self.bytes.as_ptr(), to, n);
            *to.add(n) = 0;
        }
        self.len as u64
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for &byte in s.as_bytes() {
            if self.len + 1 < N {
                if let Some(place) = self.bytes.get_mut(self.len) {
                    *place = byte;
                    self.len += 1;
                }
            }
        }
        Ok(())
    }
}

pub fn failure(code: Status, op: u32, args: fmt::Arguments) -> Failure {
    Failure { code, op, text: Text::new(args) }
}

/// fail!(CODE, "text {}", value): the error of an Outcome.
#[macro_export]
macro_rules! fail {
    ($code:expr, $($arg:tt)*) => { Err($crate::report::failure($code, $crate::abi::NO_OP, format_args!($($arg)*))) };
}

/// The answer of a verb: fills the host's record when it failed.
pub unsafe fn answer(outcome: Outcome<()>, err: *mut Error) -> Status {
    match outcome {
        Ok(()) => OK,
        Err(f) => {
            if !err.is_null() && (*err).size as usize >= core::mem::size_of::<Error>() {
                (*err).code = f.code;
                (*err).op = f.op;
                f.text.copy_to((*err).text.as_mut_ptr(), (*err).text.len());
            }
            f.code
        }
    }
}

/// A terminated string of the other side, for messages: at most 63 bytes of it.
pub unsafe fn shown(text: *const u8) -> Shown {
    Shown(text)
}
pub struct Shown(*const u8);
impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut at = self.0;
        for _ in 0..63 {
            let byte = if at.is_null() { 0 } else { unsafe { *at } };
            if byte == 0 {
                break;
            }
            f.write_char(if byte.is_ascii_graphic() || byte == b' ' { byte as char } else { '?' })?;
            at = unsafe { at.add(1) };
        }
        Ok(())
    }
}

pub unsafe fn is_same_text(a: *const u8, b: &[u8]) -> bool {
    b.iter().enumerate().all(|(i, &byte)| i > 0 && b.get(i - 1) == Some(&0) || *a.add(i) == byte)
}

/// Copies a size-first struct that the other side owns: too short is BAD_ARG, an unknown tail that is not zero is TOO_NEW.
pub unsafe fn copy_in<T: Copy>(what: &str, theirs: *const T) -> Outcome<T> {
    let own = core::mem::size_of::<T>();
    if theirs.is_null() {
        return fail!(BAD_ARG, "{}: absent", what);
    }
    let size = core::ptr::read_unaligned(theirs as *const u32) as usize;
    if size < own {
        return fail!(BAD_ARG, "{}: {} bytes, {} are needed", what, size, own);
    }
    if (own..size).any(|i| *(theirs as *const u8).add(i) != 0) {
        return fail!(TOO_NEW, "{}: a member that is not known here is set", what);
    }
    Ok(core::ptr::read_unaligned(theirs))
}
