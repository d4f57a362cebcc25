//! ops.rs — what ADD and MATMUL mean, straight from their sheets in <quoin/ops.h>. One thread; sums in f64.
use crate::abi::*;

/// Rows of f32; `row` answers an empty slice for a row that is not there.
#[derive(Clone, Copy)]
pub struct Rows {
    pub data: *mut f32,
    pub columns: usize,
    pub rows: usize,
}

impl Rows {
    unsafe fn row<'a>(&self, row: usize) -> &'a [f32] {
        let row = if self.rows == 1 { 0 } else { row };
        core::slice::from_raw_parts(self.data.add(row * self.columns), self.columns)
    }
    unsafe fn row_mut<'a>(&self, row: usize) -> &'a mut [f32] {
        core::slice::from_raw_parts_mut(self.data.add(row * self.columns), self.columns)
    }
}

/// y = a + b; b may be one row, which is added to each.
pub unsafe fn add(a: Rows, b: Rows, y: Rows) {
    for t in 0..y.rows {
        for ((to, x), z) in y.row_mut(t).iter_mut().zip(a.row(t)).zip(b.row(t)) {
            *to = x + z;
        }
    }
}

pub struct Matrix {
    pub format: u32,
    pub data: *const u8,
    pub columns: usize,
}

/// Bytes of n elements that begin at a block; 0 for a format that is not ours.
pub fn format_bytes(format: u32, n: u64) -> u64 {
    match format {
        FORMAT_F32 => n * 4,
        FORMAT_Q8_0 => n / 32 * 34,
        _ => 0,
    }
}

pub fn block_elems(format: u32) -> u64 {
    if format == FORMAT_Q8_0 { 32 } else { 1 }
}

/// y[t][n] = sum_k W[n][k] x[t][k] + bias[n]
pub unsafe fn matmul(w: &Matrix, x: Rows, bias: Option<Rows>, y: Rows) {
    let row_bytes = format_bytes(w.format, w.columns as u64) as usize;
    for t in 0..y.rows {
        for (n, to) in y.row_mut(t).iter_mut().enumerate() {
            let weights = core::slice::from_raw_parts(w.data.add(n * row_bytes), row_bytes);
            let product = if w.format == FORMAT_F32 { dot_f32(weights, x.row(t)) } else { dot_q8_0(weights, x.row(t)) };
            let start = bias.map_or(0.0, |b| b.row(0).get(n).copied().unwrap_or(0.0));
            *to = (product + start as f64) as f32;
        }
    }
}

fn dot_f32(weights: &[u8], x: &[f32]) -> f64 {
    let words = weights.chunks_exact(4).map(|b| match *b {
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
        _ => 0.0,
    });
    words.zip(x).map(|(w, x)| w as f64 * *x as f64).sum()
}

/// Blocks of 34 bytes: an f16 scale, then 32 signed bytes.
fn dot_q8_0(weights: &[u8], x: &[f32]) -> f64 {
    weights.chunks_exact(34).zip(x.chunks_exact(32)).map(|(block, x)| {
        let (scale, quants) = block.split_at(2);
        let sum: f64 = quants.iter().zip(x).map(|(q, x)| *q as i8 as f64 * *x as f64).sum();
        match *scale {
            [low, high] => f16_value(u16::from_le_bytes([low, high])) * sum,
            _ => 0.0,
        }
    }).sum()
}

/// What a binary16 is worth. Exact: powers of two are made from their bits.
fn f16_value(bits: u16) -> f64 {
    let power = |e: i32| f64::from_bits(((e + 1023) as u64) << 52);
    let (exponent, fraction) = ((bits >> 10 & 31) as i32, (bits & 1023) as f64);
    let magnitude = match exponent {
        0 => fraction * power(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1024.0 + fraction) * power(e - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}
