//! plugin.rs — the entry, the note and the table of verbs; start, stop, devices, open, close.
use crate::abi::*;
use crate::fail;
use crate::program;
use crate::report::{answer, copy_in, is_same_text, shown, Outcome};
use core::mem::size_of;

const DEVICE_ID: &[u8] = b"cpu\0";
const VERSION: &[u8] = b"1\0";

pub struct PluginState {
    pub host: Host, // our own copy: the host's table is valid for the call only
    n_devices: u32,
}

pub struct Device {
    pub plugin: *mut PluginState,
    pub n_programs: u32,
}

/// N bytes that begin with `text`, the rest zero.
const fn padded<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    let mut i = 0;
    while i < text.len() {
        out[i] = text[i];
        i += 1;
    }
    out
}

#[used]
#[link_section = ".note.quoin"]
static NOTE: ElfNote = ElfNote {
    owner_bytes: 6, content_bytes: 240, kind: 1, owner: *b"QUOIN\0\0\0",
    size: 240, abi_majors: 1, abi_minors: [0; 4],
    arch: if cfg!(target_arch = "x86_64") { 1 } else if cfg!(target_arch = "aarch64") { 2 } else { 0 },
    os: if cfg!(target_os = "linux") { 1 } else { 0 },
    cpu_features: [0; 8], device_class: DEVICE_CPU, flags: 0, sanitizer: 0, reserved: 0,
    name: padded(b"rust"), version: padded(VERSION), licence: padded(b"Apache-2.0"), build_id: padded(VERSION),
};

/// Zeroed memory of the host, aligned to 64.
pub unsafe fn mem_alloc(plugin: *const PluginState, kind: u32, bytes: u64) -> Outcome<*mut u8> {
    let host = &(*plugin).host;
    let memory = (host.mem_alloc)(host.ctx, kind, bytes.max(1), 64) as *mut u8;
    if memory.is_null() { fail!(NO_HOST_MEM, "no memory for {} bytes", bytes) } else { Ok(memory) }
}

unsafe fn refuse_options(options: *const Opt, n_options: u32) -> Outcome<()> {
    if n_options > 0 {
        return fail!(UNSUPPORTED, "option '{}' is unknown: this backend has none", shown((*options).key));
    }
    Ok(())
}

unsafe extern "C" fn start(host: *const Host, options: *const Opt, n_options: u32, out: *mut *mut PluginState, err: *mut Error) -> Status {
    let outcome = || {
        let host = copy_in("host table", host)?;
        refuse_options(options, n_options)?;
        if out.is_null() {
            return fail!(BAD_ARG, "start: no place for the result");
        }
        let plugin = (host.mem_alloc)(host.ctx, MEM_OTHER, size_of::<PluginState>() as u64, 64) as *mut PluginState;
        if plugin.is_null() {
            return fail!(NO_HOST_MEM, "start: no memory for {} bytes", size_of::<PluginState>());
        }
        *plugin = PluginState { host, n_devices: 0 };
        *out = plugin;
        Ok(())
    };
    answer(outcome(), err)
}

unsafe extern "C" fn stop(plugin: *mut PluginState) {
    if plugin.is_null() {
        return;
    }
    let host = (*plugin).host;
    if (*plugin).n_devices > 0 {
        (host.log)(host.ctx, LOG_ERROR, b"rust: stop while a device is open: its memory is kept\0".as_ptr());
        return;
    }
    (host.mem_free)(host.ctx, plugin as *mut _);
}

unsafe extern "C" fn devices(plugin: *mut PluginState, infos: *mut DeviceInfo, stride: u64, room: u32, count: *mut u32,
                             err: *mut Error) -> Status {
    let outcome = || {
        if plugin.is_null() || count.is_null() {
            return fail!(BAD_ARG, "devices: no plugin or no place for the count");
        }
        *count = 1;
        if room == 0 {
            return Ok(());
        }
        if infos.is_null() || ((*infos).size as usize) < size_of::<DeviceInfo>() || stride < (*infos).size as u64 {
            return fail!(BAD_ARG, "devices: infos {} bytes apart, {} are needed", stride, size_of::<DeviceInfo>());
        }
        *infos = DeviceInfo {
            size: (*infos).size, device_class: DEVICE_CPU, flags: DEVICE_HOST_MEMORY | DEVICE_DETERMINISTIC, numeric: NUMERIC_F32ACC,
            id: padded(DEVICE_ID), name: padded(b"two ops in Rust"), driver: padded(b"none"), memory_total: 0, memory_free: 0,
            cell_block: 1, max_spans: 0,
        };
        Ok(())
    };
    answer(outcome(), err)
}

unsafe extern "C" fn open(plugin: *mut PluginState, device_id: *const u8, options: *const Opt, n_options: u32, out: *mut *mut Device,
                          err: *mut Error) -> Status {
    let outcome = || {
        if plugin.is_null() || device_id.is_null() || out.is_null() {
            return fail!(BAD_ARG, "open: no plugin, no device id or no place for the result");
        }
        if !is_same_text(device_id, DEVICE_ID) {
            return fail!(UNAVAILABLE, "open: no device '{}'; there is 'cpu'", shown(device_id));
        }
        refuse_options(options, n_options)?;
        let device = mem_alloc(plugin, MEM_OTHER, size_of::<Device>() as u64)? as *mut Device;
        *device = Device { plugin, n_programs: 0 };
        (*plugin).n_devices += 1;
        *out = device;
        Ok(())
    };
    answer(outcome(), err)
}

unsafe extern "C" fn close(device: *mut Device) {
    if device.is_null() {
        return;
    }
    let plugin = (*device).plugin;
    let host = &(*plugin).host;
    if (*device).n_programs > 0 {
        (host.log)(host.ctx, LOG_ERROR, b"rust: close while a program is there: its memory is kept\0".as_ptr());
        return;
    }
    (*plugin).n_devices -= 1;
    (host.mem_free)(host.ctx, device as *mut _);
}

static VERBS: Plugin = Plugin {
    size: 160, reserved: 0, start, stop, devices, open, close,
    check: program::check, plan: program::plan, compile: program::compile, prog_free: program::prog_free,
    bind_weights: program::bind_weights, seal: program::seal, session_new: program::session_new, session_free: program::session_free,
    step: program::step, state_move: core::ptr::null(), tap: Some(program::tap), trim: core::ptr::null(),
    describe: Some(program::describe), get_ext: core::ptr::null(),
};

/// Pure: writes constants.
#[no_mangle]
pub unsafe extern "C" fn quoin_backend_query_0(input: *const QueryIn, out: *mut QueryOut) -> Status {
    match copy_in("query", input) {
        Err(f) => f.code,
        Ok(_) if out.is_null() || ((*out).size as usize) < size_of::<QueryOut>() => BAD_ARG,
        Ok(_) => {
            *out = QueryOut { size: (*out).size, minor: 0, name: b"rust\0".as_ptr(), version: VERSION.as_ptr(), build_id: VERSION.as_ptr(),
                              licence: b"Apache-2.0\0".as_ptr(), plugin: &VERBS, options: core::ptr::null(), n_options: 0, option_stride: 0 };
            OK
        }
    }
}
