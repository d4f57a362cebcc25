//! abi.rs — the parts of <quoin/abi.h>, <quoin/program.h> and <quoin/note.h> that this plugin uses, spelled in Rust.
//!
//! Layouts are checked below while the compiler runs: the numbers are those of abi/layout_check.c, so that a change of the ABI
//! stops this build and not somebody's program.
#![allow(dead_code)]
use core::ffi::c_void;

pub type Status = i32;
pub const OK: Status = 0;
pub const BAD_ARG: Status = -1;
pub const BAD_STATE: Status = -2;
pub const UNSUPPORTED: Status = -3;
pub const UNAVAILABLE: Status = -4;
pub const TOO_NEW: Status = -8;
pub const NO_HOST_MEM: Status = -9;
pub const CANCELLED: Status = -11;

pub const NO_OP: u32 = u32::MAX;

pub const MEM_WEIGHTS: u32 = 0;
pub const MEM_SCRATCH: u32 = 2;
pub const MEM_CODE: u32 = 3;
pub const MEM_OTHER: u32 = 4;
pub const MEM_KINDS: usize = 5;
pub const LOG_ERROR: u32 = 0;

pub const DEVICE_CPU: u32 = 1;
pub const DEVICE_HOST_MEMORY: u32 = 2;
pub const DEVICE_DETERMINISTIC: u32 = 4;
pub const NUMERIC_F32ACC: u32 = 1;

pub const ROLE_WEIGHT: u32 = 1;
pub const ROLE_STATE: u32 = 2;
pub const ROLE_INPUT: u32 = 3;
pub const ROLE_OUTPUT: u32 = 4;
pub const ROLE_ACT: u32 = 5;
pub const DIM_FIXED: u32 = 0;
pub const DIM_TOKENS: u32 = 1;
pub const DIM_OUTPUTS: u32 = 2;
pub const FORMAT_F32: u32 = 0;
pub const FORMAT_Q8_0: u32 = 8;
pub const OP_MATMUL: u32 = 2;
pub const OP_ADD: u32 = 3;

pub const COMPILE_MATERIALIZE: u32 = 1;
pub const COMPILE_DETERMINISTIC: u32 = 2;
pub const VERDICT_NO: u32 = 0;
pub const VERDICT_YES: u32 = 1;
pub const WEIGHT_COPY: u32 = 1;
pub const WEIGHT_BORROW: u32 = 2;

pub const PROGRAM_MAGIC: u32 = 0x5051_4e51;
pub const MAX_BUFFERS: u32 = 65536;
pub const MAX_OPS: u32 = 65536;
pub const MAX_GROUPS: usize = 16;

#[repr(C)]
pub struct Error {
    pub size: u32,
    pub code: i32,
    pub op: u32,
    pub reserved: u32,
    pub native_code: i64,
    pub text: [u8; 1000],
}

/// The host's table; services that this plugin does not call are opaque.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Host {
    pub size: u32,
    pub minor: u32,
    pub ctx: *mut c_void,
    pub name: *const u8,
    pub version: *const u8,
    pub build_id: *const u8,
    pub machine: *const c_void,
    pub log: unsafe extern "C" fn(*mut c_void, u32, *const u8),
    pub mem_alloc: unsafe extern "C" fn(*mut c_void, u32, u64, u64) -> *mut c_void,
    pub mem_free: unsafe extern "C" fn(*mut c_void, *mut c_void),
    pub mem_note: *const c_void,
    pub team_run: *const c_void,
    pub team_barrier: *const c_void,
    pub team_next: *const c_void,
    pub team_reset: *const c_void,
    pub weight_done: *const c_void,
    pub blob_get: *const c_void,
    pub blob_put: *const c_void,
    pub time_ns: *const c_void,
    pub cancel: *const u32,
    pub get_ext: *const c_void,
}

#[repr(C)]
pub struct Opt {
    pub key: *const u8,
    pub value: *const u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DeviceInfo {
    pub size: u32,
    pub device_class: u32,
    pub flags: u32,
    pub numeric: u32,
    pub id: [u8; 64],
    pub name: [u8; 128],
    pub driver: [u8; 128],
    pub memory_total: u64,
    pub memory_free: u64,
    pub cell_block: u32,
    pub max_spans: u32,
}

#[repr(C)]
pub struct Buffer {
    pub role: u32,
    pub format: u32,
    pub rank: u32,
    pub group: u32,
    pub dims: [u64; 4],
    pub symbols: [u32; 4],
    pub name_at: u32,
    pub flags: u32,
}

#[repr(C)]
pub struct Op {
    pub op: u32,
    pub flags: u32,
    pub layer: u32,
    pub n_inputs: u32,
    pub n_outputs: u32,
    pub operands_at: u32,
    pub attrs_at: u32,
    pub attrs_bytes: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Program {
    pub magic: u32,
    pub encoding: u32,
    pub total_bytes: u64,
    pub profile: [u8; 32],
    pub n_buffers: u32,
    pub buffer_stride: u32,
    pub buffers_at: u32,
    pub n_ops: u32,
    pub op_stride: u32,
    pub ops_at: u32,
    pub n_groups: u32,
    pub group_stride: u32,
    pub groups_at: u32,
    pub n_operands: u32,
    pub operands_at: u32,
    pub attrs_at: u32,
    pub attrs_bytes: u32,
    pub names_at: u32,
    pub names_bytes: u32,
    pub reserved: [u32; 3],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Limits {
    pub size: u32,
    pub max_tokens: u32,
    pub max_outputs: u32,
    pub max_sequences: u32,
    pub n_groups: u32,
    pub reserved: u32,
    pub cells: [u32; MAX_GROUPS],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CompileOptions {
    pub size: u32,
    pub flags: u32,
    pub numeric: u32,
    pub n_options: u32,
    pub options: *const Opt,
}

#[repr(C)]
pub struct Verdict {
    pub size: u32,
    pub verdict: u32,
    pub text: [u8; 184],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemoryPlan {
    pub size: u32,
    pub numeric: u32,
    pub host_bytes: [u64; MEM_KINDS],
    pub device_bytes: [u64; MEM_KINDS],
    pub borrowed_bytes: u64,
    pub peak_load_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Weight {
    pub size: u32,
    pub buffer: u32,
    pub flags: u32,
    pub fd: i32,
    pub data: *const u8,
    pub bytes: u64,
    pub fd_offset: u64,
    pub first_element: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Binding {
    pub buffer: u32,
    pub reserved: u32,
    pub data: *mut u8,
    pub bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Step {
    pub size: u32,
    pub n_tokens: u32,
    pub n_outputs: u32,
    pub n_sequences: u32,
    pub positions: *const i32,
    pub sequences: *const u32,
    pub placements: *const c_void,
    pub placement_stride: u64,
    pub bindings: *const Binding,
    pub binding_stride: u64,
    pub n_bindings: u32,
    pub reserved: u32,
}

// The handles are ours to define; the host sees pointers.
pub use crate::plugin::{Device, PluginState};
pub use crate::program::{Prog, Session};

#[repr(C)]
pub struct Plugin {
    pub size: u32,
    pub reserved: u32,
    pub start: unsafe extern "C" fn(*const Host, *const Opt, u32, *mut *mut PluginState, *mut Error) -> Status,
    pub stop: unsafe extern "C" fn(*mut PluginState),
    pub devices: unsafe extern "C" fn(*mut PluginState, *mut DeviceInfo, u64, u32, *mut u32, *mut Error) -> Status,
    pub open: unsafe extern "C" fn(*mut PluginState, *const u8, *const Opt, u32, *mut *mut Device, *mut Error) -> Status,
    pub close: unsafe extern "C" fn(*mut Device),
    pub check: unsafe extern "C" fn(*mut Device, *const Program, *const CompileOptions, *mut Verdict, u64, *mut Error) -> Status,
    pub plan: unsafe extern "C" fn(*mut Device, *const Program, *const Limits, *const CompileOptions, *mut MemoryPlan, *mut Error) -> Status,
    pub compile: unsafe extern "C" fn(*mut Device, *const Program, *const Limits, *const CompileOptions, *mut *mut Prog, *mut Error) -> Status,
    pub prog_free: unsafe extern "C" fn(*mut Prog),
    pub bind_weights: unsafe extern "C" fn(*mut Prog, *const Weight, u64, u32, *mut Error) -> Status,
    pub seal: unsafe extern "C" fn(*mut Prog, *mut Error) -> Status,
    pub session_new: unsafe extern "C" fn(*mut Prog, *mut *mut Session, *mut Error) -> Status,
    pub session_free: unsafe extern "C" fn(*mut Session),
    pub step: unsafe extern "C" fn(*mut Session, *const Step, *mut Error) -> Status,
    pub state_move: *const c_void,
    pub tap: Option<unsafe extern "C" fn(*mut Session, u32, *mut u8, u64, *mut u64, *mut Error) -> Status>,
    pub trim: *const c_void,
    pub describe: Option<unsafe extern "C" fn(*mut Prog, u32, *mut u8, u64) -> u64>,
    pub get_ext: *const c_void,
}
/// Constant.
unsafe impl Sync for Plugin {}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct QueryIn {
    pub size: u32,
    pub minor: u32,
    pub build_id: *const u8,
    pub cpu_features: [u64; 4],
    pub sanitizer: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct QueryOut {
    pub size: u32,
    pub minor: u32,
    pub name: *const u8,
    pub version: *const u8,
    pub build_id: *const u8,
    pub licence: *const u8,
    pub plugin: *const Plugin,
    pub options: *const c_void,
    pub n_options: u32,
    pub option_stride: u32,
}

/// The note of <quoin/note.h>, as it lies in the file.
#[repr(C)]
pub struct ElfNote {
    pub owner_bytes: u32,
    pub content_bytes: u32,
    pub kind: u32,
    pub owner: [u8; 8],
    pub size: u32,
    pub abi_majors: u32,
    pub abi_minors: [u32; 4],
    pub arch: u32,
    pub os: u32,
    pub cpu_features: [u32; 8],
    pub device_class: u32,
    pub flags: u32,
    pub sanitizer: u32,
    pub reserved: u32,
    pub name: [u8; 32],
    pub version: [u8; 32],
    pub licence: [u8; 32],
    pub build_id: [u8; 64],
}

macro_rules! size { ($($t:ty = $n:expr),* $(,)?) => { $(const _: () = assert!(core::mem::size_of::<$t>() == $n);)* } }
size!(Error = 1024, Host = 160, Opt = 16, DeviceInfo = 360, Plugin = 160, QueryIn = 56, QueryOut = 64, Buffer = 72, Op = 32,
      Program = 120, Limits = 88, CompileOptions = 24, Verdict = 192, MemoryPlan = 104, Weight = 48, Binding = 24, Step = 72,
      ElfNote = 20 + 240);
