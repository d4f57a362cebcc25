//! A backend of quoin in Rust, without a line of C and without the standard library: ADD, and MATMUL with F32 or Q8_0 weights.
//!
//!   abi.rs      the structs of the ABI, with their layout checked
//!   report.rs   how a verb fails: a code and a text in the host's record
//!   program.rs  a program's bytes, validated; compile, weights, sessions
//!   ops.rs      the two ops, straight from their sheets in <quoin/ops.h>
//!   plugin.rs   query, start, devices, open: the entry, the note and the table of verbs
//!
//! A panic must not leave the plugin (no unwinding, no abort): every index is checked or comes from a loop over its own slice, and
//! the handler below is there because the language wants one.
#![no_std]

mod abi;
mod ops;
mod plugin;
mod program;
mod report;

// memcpy and memset, which the compiler calls on its own.
#[link(name = "c")]
extern "C" {}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
