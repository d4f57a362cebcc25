//! program.rs — from a program's bytes to sessions: check, plan, compile, bind_weights, seal, session_new, step, tap.
//!
//! Every act buffer has a place of its own in the arena (nothing is shared), so MATERIALIZE is how it always runs.
use crate::abi::*;
use crate::fail;
use crate::ops::{self, Matrix, Rows};
use crate::plugin::{mem_alloc, Device};
use crate::report::{answer, copy_in, failure, shown, Outcome, Text};
use core::mem::size_of;

/// The most that one compiled program may take: sums stay far below 2^64.
const MOST_ELEMENTS: u64 = 1 << 40;

#[repr(C)]
#[derive(Clone, Copy)]
struct Place {
    data: *const u8, // weights: element 0, or null before it is bound
    copy: *mut u8,   // our own copy of it
    arena_at: u64,   // acts
}

pub struct Prog {
    device: *mut Device,
    program: *mut u8, // own copy
    limits: Limits,
    flags: u32,
    is_sealed: bool,
    n_sessions: u32,
    places: *mut Place, // [n_buffers]
    arena_bytes: u64,
}

pub struct Session {
    prog: *mut Prog,
    arena: *mut u8,
    n_tokens: u32,
    n_outputs: u32,
}

/* --- The bytes -------------------------------------------------------------------------------------------------------- */

/// A program whose header and sections are known to be inside its bytes, and whose buffers are sound.
#[derive(Clone, Copy)]
struct View {
    bytes: *const u8,
    head: Program,
}

impl View {
    unsafe fn open(program: *const Program) -> Outcome<View> {
        if program.is_null() || program as usize % 8 != 0 {
            return fail!(BAD_ARG, "program: absent or not aligned to 8");
        }
        let head = core::ptr::read(program);
        if head.magic != PROGRAM_MAGIC || head.encoding != 0 || head.reserved != [0; 3] {
            return fail!(BAD_ARG, "program: magic 0x{:08x}, encoding {}", head.magic, head.encoding);
        }
        if !head.profile.starts_with(b"decode-core-0\0") {
            return fail!(UNSUPPORTED, "program: its profile is not decode-core-0");
        }
        if head.n_buffers > MAX_BUFFERS || head.n_ops > MAX_OPS || head.n_ops == 0 || head.n_groups as usize > MAX_GROUPS {
            return fail!(BAD_ARG, "program: {} buffers, {} ops, {} groups", head.n_buffers, head.n_ops, head.n_groups);
        }
        if (head.buffer_stride as usize) < size_of::<Buffer>() || (head.op_stride as usize) < size_of::<Op>()
            || head.group_stride < 8 || (head.buffer_stride | head.op_stride | head.group_stride) % 8 != 0 {
            return fail!(BAD_ARG, "program: strides {} of buffers, {} of ops, {} of groups", head.buffer_stride, head.op_stride, head.group_stride);
        }
        let sections = [
            (head.buffers_at, head.n_buffers as u64 * head.buffer_stride as u64),
            (head.ops_at, head.n_ops as u64 * head.op_stride as u64),
            (head.groups_at, head.n_groups as u64 * head.group_stride as u64),
            (head.operands_at, head.n_operands as u64 * 4),
            (head.attrs_at, head.attrs_bytes as u64),
            (head.names_at, head.names_bytes as u64),
        ];
        for (at, bytes) in sections {
            if at % 8 != 0 || (at as usize) < size_of::<Program>() || at as u64 + bytes > head.total_bytes {
                return fail!(BAD_ARG, "program: a section of {} bytes at {} is not inside the {}", bytes, at, head.total_bytes);
            }
        }
        let view = View { bytes: program as *const u8, head };
        if head.names_bytes == 0 || *view.bytes.add((head.names_at + head.names_bytes - 1) as usize) != 0 {
            return fail!(BAD_ARG, "program: the names do not end");
        }
        for b in 0..head.n_buffers {
            view.check_buffer(b)?;
        }
        for i in 0..head.n_ops {
            view.check_operands(i)?;
        }
        Ok(view)
    }

    unsafe fn buffer<'a>(&self, b: u32) -> &'a Buffer {
        &*(self.bytes.add(self.head.buffers_at as usize + b as usize * self.head.buffer_stride as usize) as *const Buffer)
    }
    unsafe fn op<'a>(&self, i: u32) -> &'a Op {
        &*(self.bytes.add(self.head.ops_at as usize + i as usize * self.head.op_stride as usize) as *const Op)
    }
    /// Operand n of an op that check_operands has seen.
    unsafe fn operand(&self, op: &Op, n: u32) -> u32 {
        *(self.bytes.add(self.head.operands_at as usize) as *const u32).add(op.operands_at as usize + n as usize)
    }
    unsafe fn name(&self, b: u32) -> *const u8 {
        self.bytes.add((self.head.names_at + self.buffer(b).name_at) as usize)
    }

    unsafe fn check_buffer(&self, b: u32) -> Outcome<()> {
        let buffer = self.buffer(b);
        if buffer.name_at >= self.head.names_bytes || buffer.role < ROLE_WEIGHT || buffer.role > ROLE_ACT || buffer.rank < 1 || buffer.rank > 4 {
            return fail!(BAD_ARG, "program: buffer {}: role {}, rank {}, name at {}", b, buffer.role, buffer.rank, buffer.name_at);
        }
        let mut elements: u64 = 1;
        for (dim, symbol) in buffer.dims.iter().zip(buffer.symbols) {
            if (symbol == DIM_FIXED) != (*dim > 0) || *dim > MOST_ELEMENTS / elements {
                return fail!(BAD_ARG, "program: buffer {} ({}): dimension {} with symbol {}", b, shown(self.name(b)), dim, symbol);
            }
            elements *= (*dim).max(1);
        }
        Ok(())
    }

    unsafe fn check_operands(&self, i: u32) -> Outcome<()> {
        let op = self.op(i);
        let n = op.n_inputs as u64 + op.n_outputs as u64;
        if op.n_inputs > 64 || op.n_outputs > 64 || op.operands_at as u64 + n > self.head.n_operands as u64 {
            return fail!(BAD_ARG, "program: op {}: {} operands at {} of {}", i, n, op.operands_at, self.head.n_operands);
        }
        for k in 0..n as u32 {
            if self.operand(op, k) >= self.head.n_buffers {
                return fail!(BAD_ARG, "program: op {}: operand {} is buffer {} of {}", i, k, self.operand(op, k), self.head.n_buffers);
            }
        }
        Ok(())
    }

    /// f32 rows [TOKENS or OUTPUTS][columns].
    unsafe fn is_rows(&self, b: u32) -> bool {
        let x = self.buffer(b);
        x.role >= ROLE_INPUT && x.format == FORMAT_F32 && x.rank == 2 && x.symbols[0] == DIM_FIXED
            && (x.symbols[1] == DIM_TOKENS || x.symbols[1] == DIM_OUTPUTS)
    }
    unsafe fn is_vector(&self, b: u32, n: u64) -> bool {
        let x = self.buffer(b);
        x.role == ROLE_WEIGHT && x.format == FORMAT_F32 && x.rank == 1 && x.dims[0] == n
    }

    /// The one place that decides what this plugin can do; UNSUPPORTED with the reason, BAD_ARG when an operand breaks the sheet.
    unsafe fn can_run(&self, i: u32) -> Outcome<()> {
        let op = self.op(i);
        let refuse = |code, text: &str| Err(failure(code, i, format_args!("op {}: {}", i, text)));
        match op.op {
            OP_ADD if op.n_inputs == 2 && op.n_outputs == 1 => {
                let (a, b, y) = (self.operand(op, 0), self.operand(op, 1), self.operand(op, 2));
                let (x, z) = (self.buffer(a), self.buffer(y));
                let is_same = |u: &Buffer| u.dims[0] == z.dims[0] && u.symbols[1] == z.symbols[1];
                let fits = self.is_rows(a) && self.is_rows(y) && is_same(x)
                    && (self.is_vector(b, z.dims[0]) || self.is_rows(b) && is_same(self.buffer(b)));
                if fits { Ok(()) } else { refuse(BAD_ARG, "add: a, b, y [rows][n] F32, or b [n] F32 weight") }
            }
            OP_MATMUL if (op.n_inputs == 2 || op.n_inputs == 3) && op.n_outputs == 1 => {
                let (w, x, y) = (self.operand(op, 0), self.operand(op, 1), self.operand(op, op.n_inputs));
                let (m, u, z) = (self.buffer(w), self.buffer(x), self.buffer(y));
                let fits = m.role == ROLE_WEIGHT && m.rank == 2 && self.is_rows(x) && self.is_rows(y) && u.dims[0] == m.dims[0]
                    && z.dims[0] == m.dims[1] && u.symbols[1] == z.symbols[1]
                    && (op.n_inputs == 2 || self.is_vector(self.operand(op, 2), m.dims[1]));
                if !fits {
                    return refuse(BAD_ARG, "matmul: W [N][K] weight, x [rows][K] F32, bias [N] F32 weight, y [rows][N] F32");
                }
                match m.format {
                    FORMAT_F32 => Ok(()),
                    FORMAT_Q8_0 if m.dims[0] % 32 == 0 => Ok(()),
                    FORMAT_Q8_0 => refuse(BAD_ARG, "matmul: the rows of W are no whole blocks"),
                    _ => refuse(UNSUPPORTED, "matmul: weights are F32 or Q8_0 here"),
                }
            }
            _ => refuse(UNSUPPORTED, "this backend has add and matmul alone"),
        }
    }

    unsafe fn rows_bytes(&self, b: u32, tokens: u32, outputs: u32) -> u64 {
        let x = self.buffer(b);
        let mut elements: u64 = 1;
        for (dim, symbol) in x.dims.iter().zip(x.symbols) {
            elements = elements.saturating_mul(match symbol {
                DIM_TOKENS => tokens as u64,
                DIM_OUTPUTS => outputs as u64,
                _ => *dim,
            });
        }
        elements.saturating_mul(4)
    }

    /// Places of the acts, and the bytes of all; NO_HOST_MEM when that is more than anybody has.
    unsafe fn arena(&self, limits: &Limits, mut place: impl FnMut(u32, u64)) -> Outcome<u64> {
        let mut at: u64 = 0;
        for b in (0..self.head.n_buffers).filter(|b| self.buffer(*b).role == ROLE_ACT) {
            place(b, at);
            let bytes = self.rows_bytes(b, limits.max_tokens, limits.max_outputs);
            if bytes > 1 << 48 || at > 1 << 48 {
                return fail!(NO_HOST_MEM, "buffer {} ({}) is too large with {} tokens a step", b, shown(self.name(b)), limits.max_tokens);
            }
            at += (bytes + 63) / 64 * 64;
        }
        Ok(at)
    }
}

/* --- check, plan, compile --------------------------------------------------------------------------------------------- */

unsafe fn read_options(theirs: *const CompileOptions) -> Outcome<CompileOptions> {
    let own = copy_in("compile options", theirs)?;
    if own.flags & !(COMPILE_MATERIALIZE | COMPILE_DETERMINISTIC) != 0 {
        return fail!(TOO_NEW, "compile options: flags 0x{:x} are not known here", own.flags);
    }
    if own.numeric & NUMERIC_F32ACC == 0 {
        return fail!(UNSUPPORTED, "numeric classes 0x{:x}: this backend has f32acc only", own.numeric);
    }
    if own.n_options > 0 {
        return fail!(UNSUPPORTED, "option '{}' is unknown: this backend has none", shown((*own.options).key));
    }
    Ok(own)
}

unsafe fn read_limits(view: &View, theirs: *const Limits) -> Outcome<Limits> {
    let own = copy_in("limits", theirs)?;
    if own.max_tokens == 0 || own.max_outputs == 0 || own.max_outputs > own.max_tokens || own.max_sequences == 0
        || own.n_groups != view.head.n_groups {
        return fail!(BAD_ARG, "limits: {} tokens, {} outputs, {} sequences, {} cell groups", own.max_tokens, own.max_outputs,
                     own.max_sequences, own.n_groups);
    }
    Ok(own)
}

/// Everything that compile will look at; plan asks the same.
unsafe fn read_all(program: *const Program, limits: *const Limits, options: *const CompileOptions) -> Outcome<(View, Limits, CompileOptions)> {
    let view = View::open(program)?;
    let options = read_options(options)?;
    let limits = read_limits(&view, limits)?;
    for i in 0..view.head.n_ops {
        view.can_run(i)?;
    }
    Ok((view, limits, options))
}

pub unsafe extern "C" fn check(device: *mut Device, program: *const Program, options: *const CompileOptions, verdicts: *mut Verdict,
                               stride: u64, err: *mut Error) -> Status {
    let outcome = || {
        let view = View::open(program)?;
        read_options(options)?;
        if device.is_null() || verdicts.is_null() || (stride as usize) < size_of::<Verdict>() || stride % 8 != 0 {
            return fail!(BAD_ARG, "check: no device or no place for the verdicts");
        }
        for i in 0..view.head.n_ops {
            let verdict = &mut *((verdicts as *mut u8).add((i as u64 * stride) as usize) as *mut Verdict);
            verdict.verdict = VERDICT_YES;
            verdict.text[0] = 0;
            match view.can_run(i) {
                Ok(()) => {}
                Err(f) if f.code == UNSUPPORTED => {
                    verdict.verdict = VERDICT_NO;
                    f.text().copy_to(verdict.text.as_mut_ptr(), verdict.text.len());
                }
                Err(f) => return Err(f),
            }
        }
        Ok(())
    };
    answer(outcome(), err)
}

fn code_bytes(head: &Program) -> u64 {
    head.total_bytes + head.n_buffers as u64 * size_of::<Place>() as u64 + size_of::<Prog>() as u64
}

pub unsafe extern "C" fn plan(device: *mut Device, program: *const Program, limits: *const Limits, options: *const CompileOptions,
                              out: *mut MemoryPlan, err: *mut Error) -> Status {
    let outcome = || {
        let (view, limits, _) = read_all(program, limits, options)?;
        if device.is_null() || out.is_null() || ((*out).size as usize) < size_of::<MemoryPlan>() {
            return fail!(BAD_ARG, "plan: no device or no place for the result");
        }
        let size = (*out).size;
        let mut plan = MemoryPlan { size, numeric: NUMERIC_F32ACC, host_bytes: [0; MEM_KINDS], device_bytes: [0; MEM_KINDS],
                                    borrowed_bytes: 0, peak_load_bytes: 0 };
        plan.host_bytes[MEM_CODE as usize] = code_bytes(&view.head);
        plan.host_bytes[MEM_SCRATCH as usize] = view.arena(&limits, |_, _| ())? + size_of::<Session>() as u64;
        for b in (0..view.head.n_buffers).filter(|b| view.buffer(*b).role == ROLE_WEIGHT) {
            plan.borrowed_bytes += ops::format_bytes(view.buffer(b).format, view.buffer(b).dims.iter().product());
        }
        *out = plan;
        Ok(())
    };
    answer(outcome(), err)
}

pub unsafe extern "C" fn compile(device: *mut Device, program: *const Program, limits: *const Limits, options: *const CompileOptions,
                                 out: *mut *mut Prog, err: *mut Error) -> Status {
    let outcome = || {
        if device.is_null() || out.is_null() {
            return fail!(BAD_ARG, "compile: no device or no place for the result");
        }
        let (view, limits, options) = read_all(program, limits, options)?;
        let arena_bytes = view.arena(&limits, |_, _| ())?;
        let prog = mem_alloc((*device).plugin, MEM_CODE, size_of::<Prog>() as u64)? as *mut Prog;
        *prog = Prog { device, program: core::ptr::null_mut(), limits, flags: options.flags, is_sealed: false, n_sessions: 0,
                       places: core::ptr::null_mut(), arena_bytes };
        (*device).n_programs += 1;
        let filled = fill(prog, &view);
        if filled.is_err() {
            prog_free(prog);
            return filled;
        }
        *out = prog;
        Ok(())
    };
    answer(outcome(), err)
}

unsafe fn fill(prog: *mut Prog, view: &View) -> Outcome<()> {
    let plugin = (*(*prog).device).plugin;
    (*prog).program = mem_alloc(plugin, MEM_CODE, view.head.total_bytes)?;
    core::ptr::copy_nonoverlapping(view.bytes, (*prog).program, view.head.total_bytes as usize);
    (*prog).places = mem_alloc(plugin, MEM_CODE, view.head.n_buffers as u64 * size_of::<Place>() as u64)? as *mut Place;
    let places = (*prog).places;
    view.arena(&(*prog).limits, |b, at| (*places.add(b as usize)).arena_at = at)?;
    Ok(())
}

/// Our own copy was validated when it was made.
unsafe fn view_of(prog: *const Prog) -> View {
    View { bytes: (*prog).program, head: core::ptr::read((*prog).program as *const Program) }
}

pub unsafe extern "C" fn prog_free(prog: *mut Prog) {
    if prog.is_null() {
        return;
    }
    let device = (*prog).device;
    let host = &(*(*device).plugin).host;
    if (*prog).n_sessions > 0 {
        (host.log)(host.ctx, LOG_ERROR, b"rust: prog_free while a session is there: its memory is kept\0".as_ptr());
        return;
    }
    if !(*prog).places.is_null() {
        for b in 0..view_of(prog).head.n_buffers {
            (host.mem_free)(host.ctx, (*(*prog).places.add(b as usize)).copy as *mut _);
        }
    }
    (*device).n_programs -= 1;
    (host.mem_free)(host.ctx, (*prog).program as *mut _);
    (host.mem_free)(host.ctx, (*prog).places as *mut _);
    (host.mem_free)(host.ctx, prog as *mut _);
}

/* --- Weights ---------------------------------------------------------------------------------------------------------- */

unsafe fn bind_weight(prog: *mut Prog, weight: &Weight) -> Outcome<()> {
    let view = view_of(prog);
    if weight.buffer >= view.head.n_buffers || view.buffer(weight.buffer).role != ROLE_WEIGHT {
        return fail!(BAD_ARG, "bind_weights: buffer {} is not a weight", weight.buffer);
    }
    let (buffer, name) = (view.buffer(weight.buffer), shown(view.name(weight.buffer)));
    let place = &mut *(*prog).places.add(weight.buffer as usize);
    if !place.data.is_null() {
        return fail!(BAD_STATE, "bind_weights: {} is bound already", name);
    }
    if weight.flags != WEIGHT_COPY && weight.flags != WEIGHT_BORROW {
        return fail!(BAD_ARG, "bind_weights: {}: flags 0x{:x} are neither COPY nor BORROW", name, weight.flags);
    }
    if weight.data.is_null() || weight.data as usize % 4 != 0 {
        return fail!(BAD_ARG, "bind_weights: {}: data at {:p} is not aligned to 4", name, weight.data);
    }
    if weight.first_element > MOST_ELEMENTS || weight.first_element % ops::block_elems(buffer.format) != 0 {
        return fail!(BAD_ARG, "bind_weights: {}: first element {} is not at a block", name, weight.first_element);
    }
    let skipped = ops::format_bytes(buffer.format, weight.first_element);
    let bytes = ops::format_bytes(buffer.format, buffer.dims.iter().product());
    if weight.bytes < skipped + bytes {
        return fail!(BAD_ARG, "bind_weights: {}: {} bytes, {} are needed", name, weight.bytes, skipped + bytes);
    }
    let data = weight.data.add(skipped as usize);
    if weight.flags == WEIGHT_COPY {
        place.copy = mem_alloc((*(*prog).device).plugin, MEM_WEIGHTS, bytes)?;
        core::ptr::copy_nonoverlapping(data, place.copy, bytes as usize);
    }
    place.data = if place.copy.is_null() { data } else { place.copy };
    Ok(())
}

pub unsafe extern "C" fn bind_weights(prog: *mut Prog, weights: *const Weight, stride: u64, n_weights: u32, err: *mut Error) -> Status {
    let outcome = || {
        if prog.is_null() || n_weights > 0 && (weights.is_null() || (stride as usize) < size_of::<Weight>() || stride % 8 != 0) {
            return fail!(BAD_ARG, "bind_weights: no program, or {} weights {} bytes apart", n_weights, stride);
        }
        if (*prog).is_sealed {
            return fail!(BAD_STATE, "bind_weights: the program is sealed");
        }
        for i in 0..n_weights as u64 {
            let own = copy_in("bind_weights", (weights as *const u8).add((i * stride) as usize) as *const Weight)?;
            bind_weight(prog, &own)?;
        }
        Ok(())
    };
    answer(outcome(), err)
}

pub unsafe extern "C" fn seal(prog: *mut Prog, err: *mut Error) -> Status {
    let outcome = || {
        if prog.is_null() {
            return fail!(BAD_ARG, "seal: no program");
        }
        if (*prog).is_sealed {
            return fail!(BAD_STATE, "seal: the program is sealed already");
        }
        let view = view_of(prog);
        for b in 0..view.head.n_buffers {
            if view.buffer(b).role == ROLE_WEIGHT && (*(*prog).places.add(b as usize)).data.is_null() {
                return fail!(BAD_ARG, "seal: weight {} ({}) is not bound", b, shown(view.name(b)));
            }
        }
        (*prog).is_sealed = true;
        Ok(())
    };
    answer(outcome(), err)
}

/* --- Sessions --------------------------------------------------------------------------------------------------------- */

pub unsafe extern "C" fn session_new(prog: *mut Prog, out: *mut *mut Session, err: *mut Error) -> Status {
    let outcome = || {
        if prog.is_null() || out.is_null() {
            return fail!(BAD_ARG, "session_new: no program or no place for the result");
        }
        if !(*prog).is_sealed {
            return fail!(BAD_STATE, "session_new: the program is not sealed");
        }
        let plugin = (*(*prog).device).plugin;
        let session = mem_alloc(plugin, MEM_SCRATCH, size_of::<Session>() as u64)? as *mut Session;
        *session = Session { prog, arena: core::ptr::null_mut(), n_tokens: 0, n_outputs: 0 };
        (*prog).n_sessions += 1;
        match mem_alloc(plugin, MEM_SCRATCH, (*prog).arena_bytes) {
            Ok(arena) => (*session).arena = arena,
            Err(f) => {
                session_free(session);
                return Err(f);
            }
        }
        *out = session;
        Ok(())
    };
    answer(outcome(), err)
}

pub unsafe extern "C" fn session_free(session: *mut Session) {
    if session.is_null() {
        return;
    }
    let prog = (*session).prog;
    let host = &(*(*(*prog).device).plugin).host;
    (*prog).n_sessions -= 1;
    (host.mem_free)(host.ctx, (*session).arena as *mut _);
    (host.mem_free)(host.ctx, session as *mut _);
}

/* --- Steps ------------------------------------------------------------------------------------------------------------ */

unsafe fn binding_of(step: &Step, buffer: u32) -> Option<Binding> {
    (0..step.n_bindings as u64)
        .map(|i| core::ptr::read((step.bindings as *const u8).add((i * step.binding_stride) as usize) as *const Binding))
        .find(|b| b.buffer == buffer)
}

unsafe fn read_step(prog: *const Prog, theirs: *const Step) -> Outcome<Step> {
    let (view, limits) = (view_of(prog), &(*prog).limits);
    let own = copy_in("step", theirs)?;
    if own.n_tokens == 0 || own.n_tokens > limits.max_tokens || own.n_outputs > limits.max_outputs || own.n_sequences == 0
        || own.n_sequences > limits.max_sequences || own.positions.is_null() {
        return fail!(BAD_ARG, "step: {} tokens, {} outputs, {} sequences; compiled for at most {}, {}, {}", own.n_tokens, own.n_outputs,
                     own.n_sequences, limits.max_tokens, limits.max_outputs, limits.max_sequences);
    }
    for t in 0..own.n_tokens as usize {
        let sequence = if own.sequences.is_null() { 0 } else { *own.sequences.add(t) };
        if *own.positions.add(t) < 0 || sequence >= own.n_sequences {
            return fail!(BAD_ARG, "step: token {}: position {} in sequence {} of {}", t, *own.positions.add(t), sequence, own.n_sequences);
        }
    }
    if own.n_bindings > 0 && (own.bindings.is_null() || (own.binding_stride as usize) < size_of::<Binding>() || own.binding_stride % 8 != 0) {
        return fail!(BAD_ARG, "step: {} bindings, {} bytes apart", own.n_bindings, own.binding_stride);
    }
    let mut n_bound = 0;
    for b in (0..view.head.n_buffers).filter(|b| matches!(view.buffer(*b).role, ROLE_INPUT | ROLE_OUTPUT)) {
        let bytes = view.rows_bytes(b, own.n_tokens, own.n_outputs);
        match binding_of(&own, b) {
            Some(x) if x.bytes == bytes && (bytes == 0 || !x.data.is_null()) && x.data as usize % 4 == 0 => n_bound += 1,
            Some(x) => return fail!(BAD_ARG, "step: {} is bound to {} bytes at {:p}; it needs {}, aligned to 4", shown(view.name(b)), x.bytes,
                                    x.data, bytes),
            None => return fail!(BAD_ARG, "step: {} is not bound", shown(view.name(b))),
        }
    }
    if n_bound != own.n_bindings {
        return fail!(BAD_ARG, "step: {} bindings for {} inputs and outputs", own.n_bindings, n_bound);
    }
    Ok(own)
}

unsafe fn rows_of(session: *const Session, step: &Step, b: u32) -> Rows {
    let prog = (*session).prog;
    let buffer = view_of(prog).buffer(b);
    let place = &*(*prog).places.add(b as usize);
    let data = match buffer.role {
        ROLE_WEIGHT => place.data as *mut u8,
        ROLE_ACT => (*session).arena.add(place.arena_at as usize),
        _ => binding_of(step, b).map_or(core::ptr::NonNull::<f32>::dangling().as_ptr() as *mut u8, |x| x.data),
    };
    let rows = match buffer.symbols[1] {
        DIM_TOKENS => step.n_tokens as usize,
        DIM_OUTPUTS => step.n_outputs as usize,
        _ => 1,
    };
    Rows { data: data as *mut f32, columns: buffer.dims[0] as usize, rows }
}

unsafe fn run_op(session: *mut Session, step: &Step, op: &Op) {
    let prog = (*session).prog;
    let view = view_of(prog);
    let rows = |n| rows_of(session, step, view.operand(op, n));
    match op.op {
        OP_ADD => ops::add(rows(0), rows(1), rows(2)),
        _ => {
            let w = view.operand(op, 0);
            let matrix = Matrix { format: view.buffer(w).format, data: (*(*prog).places.add(w as usize)).data,
                                  columns: view.buffer(w).dims[0] as usize };
            let bias = if op.n_inputs == 3 { Some(rows(2)) } else { None };
            ops::matmul(&matrix, rows(1), bias, rows(op.n_inputs));
        }
    }
}

pub unsafe extern "C" fn step(session: *mut Session, theirs: *const Step, err: *mut Error) -> Status {
    let outcome = || {
        if session.is_null() {
            return fail!(BAD_ARG, "step: no session");
        }
        let prog = (*session).prog;
        let step = read_step(prog, theirs)?;
        let view = view_of(prog);
        (*session).n_tokens = 0;
        for i in 0..view.head.n_ops {
            if core::ptr::read_volatile((*(*(*prog).device).plugin).host.cancel) != 0 {
                return Err(failure(CANCELLED, i, format_args!("step: cancelled before op {} of {}", i, view.head.n_ops)));
            }
            run_op(session, &step, view.op(i));
        }
        (*session).n_tokens = step.n_tokens;
        (*session).n_outputs = step.n_outputs;
        Ok(())
    };
    answer(outcome(), err)
}

pub unsafe extern "C" fn tap(session: *mut Session, buffer: u32, data: *mut u8, room: u64, out_bytes: *mut u64, err: *mut Error) -> Status {
    let outcome = || {
        if session.is_null() || out_bytes.is_null() || data.is_null() && room > 0 || buffer >= view_of((*session).prog).head.n_buffers {
            return fail!(BAD_ARG, "tap: no session, no place for the size, or no buffer {}", buffer);
        }
        let prog = (*session).prog;
        let view = view_of(prog);
        if (*prog).flags & COMPILE_MATERIALIZE == 0 {
            return fail!(UNSUPPORTED, "tap: the program was compiled without MATERIALIZE");
        }
        if (*session).n_tokens == 0 {
            return fail!(BAD_STATE, "tap: no step has been run");
        }
        if view.buffer(buffer).role != ROLE_ACT {
            return fail!(UNSUPPORTED, "tap: {} is not an act buffer", shown(view.name(buffer)));
        }
        let bytes = view.rows_bytes(buffer, (*session).n_tokens, (*session).n_outputs);
        let from = (*session).arena.add((*(*prog).places.add(buffer as usize)).arena_at as usize);
        core::ptr::copy_nonoverlapping(from, data, bytes.min(room) as usize);
        *out_bytes = bytes;
        Ok(())
    };
    answer(outcome(), err)
}

pub unsafe extern "C" fn describe(prog: *mut Prog, op: u32, text: *mut u8, room: u64) -> u64 {
    let view = if prog.is_null() { None } else { Some(view_of(prog)) };
    let line: Text<96> = match view {
        Some(v) if op < v.head.n_ops && v.op(op).op == OP_ADD => Text::new(format_args!("add:rust")),
        Some(v) if op < v.head.n_ops => Text::new(format_args!("matmul:rust")),
        _ => Text::new(format_args!("rust: scalar, f64 accumulators")),
    };
    line.copy_to(text, room as usize)
}
