//! A z-buffered triangle painter in software, at twice the picture's size for smooth edges.
//!
//! Knows nothing of people. Space: pixels of the large canvas, x right, y down; nearness is `1 / distance`.

/// A corner of a triangle on the canvas.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Corner {
    /// Canvas pixels, right and down.
    pub x: f32,
    /// Canvas pixels, right and down.
    pub y: f32,
    /// One over the distance from the camera; 0 or less is behind it and is not drawn.
    pub nearness: f32,
    /// What is blended over the triangle: texture u and v in texels, then red, green, blue.
    /// With a texture the colours are factors (1 leaves the texel), without one they are 0..255.
    pub blend: [f32; 5],
}

/// A picture that colours come from; sampled to the nearest texel.
#[derive(Clone, Debug)]
pub(super) struct Texture {
    /// Texels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Row by row from the top left; `width · height` of them, at least one.
    pub texels: Vec<[f32; 3]>,
}

/// Which part of the canvas has been drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rect {
    pub x0: usize,
    pub y0: usize,
    pub x1: usize,
    pub y1: usize,
}

impl Rect {
    const EMPTY: Self = Self { x0: usize::MAX, y0: usize::MAX, x1: 0, y1: 0 };

    fn grow(&mut self, other: Self) {
        self.x0 = self.x0.min(other.x0);
        self.y0 = self.y0.min(other.y0);
        self.x1 = self.x1.max(other.x1);
        self.y1 = self.y1.max(other.y1);
    }

    /// True if it holds no pixel.
    pub fn is_empty(&self) -> bool {
        self.x0 >= self.x1 || self.y0 >= self.y1
    }
}

/// Which sides of a triangle are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    /// The outside only.
    Front,
    /// Both.
    Both,
}

/// The large canvas: colour as 0x00RRGGBB and depth.
pub(super) struct Canvas {
    width: usize,
    height: usize,
    colors: Vec<u32>,
    nearness: Vec<f32>,
    drawn: Rect,
}

/// Spans are widened by this much, so that rounding never leaves a gap between neighbours; the depth test makes the
/// overlap harmless.
const SEAM_PX: f32 = 1.0 / 64.0;

impl Canvas {
    pub fn new(width: usize, height: usize, background: &[u32]) -> Self {
        let mut colors = background.to_vec();
        colors.resize(width * height, 0);
        Self { width, height, colors, nearness: vec![0.0; width * height], drawn: Rect::EMPTY }
    }

    /// What has been drawn on since the last `restore`.
    pub fn drawn(&self) -> Rect {
        self.drawn
    }

    /// The colours of part of a row, 0x00RRGGBB.
    pub fn row(&self, y: usize, x0: usize, x1: usize) -> &[u32] {
        self.colors.get(y * self.width + x0..y * self.width + x1).unwrap_or_default()
    }

    /// Puts the background back where something has been drawn.
    pub fn restore(&mut self, background: &[u32]) {
        if self.drawn.is_empty() {
            return;
        }
        for y in self.drawn.y0..self.drawn.y1 {
            let span = y * self.width + self.drawn.x0..y * self.width + self.drawn.x1;
            if let (Some(to), Some(from)) = (self.colors.get_mut(span.clone()), background.get(span.clone())) {
                to.copy_from_slice(from);
            }
            if let Some(depth) = self.nearness.get_mut(span) {
                depth.fill(0.0);
            }
        }
        self.drawn = Rect::EMPTY;
    }

    /// Draws a triangle whose corners, seen from outside, run counter-clockwise with y up.
    ///
    /// Most triangles cover a handful of pixels and this is most of what a picture costs, in unoptimised test builds
    /// too: hence plain loops without iterators, and no calls to `floor` and `ceil`.
    pub fn triangle(&mut self, [a, b, c]: [&Corner; 3], sides: Sides, texture: Option<&Texture>) {
        let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
        // y points down here, so what was counter-clockwise has a negative area. NaN is no triangle either.
        if !(area < 0.0 || (sides == Sides::Both && area > 0.0)) {
            return;
        }
        let (b, c, area) = if area < 0.0 { (c, b, -area) } else { (b, c, area) };
        let nearest = a.nearness.max(b.nearness).max(c.nearness);
        let farthest = a.nearness.min(b.nearness).min(c.nearness);
        if !(farthest > 0.0 && nearest < 1.0 && area < 1e9) {
            return;
        }
        let (width, height) = (self.width as f32, self.height as f32);
        let y0 = pixel_after(a.y.min(b.y).min(c.y).clamp(0.0, height));
        let y1 = pixel_after(a.y.max(b.y).max(c.y).clamp(0.0, height));
        let x0 = pixel_after((a.x.min(b.x).min(c.x) - SEAM_PX).clamp(0.0, width));
        let x1 = pixel_after((a.x.max(b.x).max(c.x) + SEAM_PX).clamp(0.0, width));
        if y0 >= y1 || x0 >= x1 {
            return;
        }
        self.drawn.grow(Rect { x0, y0, x1, y1 });

        let (ab_x, ab_y, ac_x, ac_y) = (b.x - a.x, b.y - a.y, c.x - a.x, c.y - a.y);
        let per_area = 1.0 / area;
        let plane = |fa: f32, fb: f32, fc: f32| {
            let (db, dc) = ((fb - fa) * per_area, (fc - fa) * per_area);
            Plane { at: fa, dx: db * ac_y - dc * ab_y, dy: dc * ab_x - db * ac_x }
        };
        let near = plane(a.nearness, b.nearness, c.nearness);
        let red = plane(a.blend[2], b.blend[2], c.blend[2]);
        let green = plane(a.blend[3], b.blend[3], c.blend[3]);
        let blue = plane(a.blend[4], b.blend[4], c.blend[4]);
        let (u, v) = match texture {
            Some(_) => (plane(a.blend[0], b.blend[0], c.blend[0]), plane(a.blend[1], b.blend[1], c.blend[1])),
            None => (Plane::ZERO, Plane::ZERO),
        };
        let (e, f, g) = (edge(a, b), edge(b, c), edge(c, a));
        let mut y = y0;
        while y < y1 {
            let py = y as f32 + 0.5;
            let (mut left, mut right) = (x0 as f32, x1 as f32);
            e.narrow(py, &mut left, &mut right);
            f.narrow(py, &mut left, &mut right);
            g.narrow(py, &mut left, &mut right);
            // `left` and `right` lie within the canvas, as they began there and only came closer.
            let (from, to) = (pixel_after(left), pixel_after(right.max(0.0)));
            if from < to {
                let (dx, dy) = (from as f32 + 0.5 - a.x, py - a.y);
                let start = y * self.width + from;
                let end = y * self.width + to;
                if let (Some(colors), Some(depths)) =
                    (self.colors.get_mut(start..end), self.nearness.get_mut(start..end))
                {
                    let near = (near.value(dx, dy), near.dx);
                    let rgb = [red.value(dx, dy), green.value(dx, dy), blue.value(dx, dy)];
                    let rgb_step = [red.dx, green.dx, blue.dx];
                    match texture {
                        Some(texture) => {
                            let uv = [u.value(dx, dy), v.value(dx, dy)];
                            fill_textured(colors, depths, near, (rgb, rgb_step), (uv, [u.dx, v.dx]), texture);
                        }
                        None => fill_plain(colors, depths, near, (rgb, rgb_step)),
                    }
                }
            }
            y += 1;
        }
    }
}

/// The first pixel whose centre is not left of `x`, which is not negative.
fn pixel_after(x: f32) -> usize {
    // Truncation rounds down; the sum of a half and just under a half rounds a centre hit up.
    (x + (0.5 - 1.0 / 4096.0)) as usize
}

/// A value that changes evenly over a triangle, from its first corner.
#[derive(Clone, Copy)]
struct Plane {
    at: f32,
    dx: f32,
    dy: f32,
}

impl Plane {
    const ZERO: Self = Self { at: 0.0, dx: 0.0, dy: 0.0 };

    fn value(&self, dx: f32, dy: f32) -> f32 {
        self.at + self.dx * dx + self.dy * dy
    }
}

/// The line through an edge as x over y, and on which side of it the inside lies.
struct Edge {
    x: f32,
    y: f32,
    slope: f32,
    /// 1 the edge is on the left, -1 on the right, 0 it is level and bounds no row.
    side: i8,
}

fn edge(from: &Corner, to: &Corner) -> Edge {
    let dy = to.y - from.y;
    if dy.abs() < 1e-6 {
        return Edge { x: from.x, y: from.y, slope: 0.0, side: 0 };
    }
    Edge { x: from.x, y: from.y, slope: (to.x - from.x) / dy, side: if dy < 0.0 { 1 } else { -1 } }
}

impl Edge {
    fn narrow(&self, y: f32, left: &mut f32, right: &mut f32) {
        let x = self.x + self.slope * (y - self.y);
        if self.side > 0 && x - SEAM_PX > *left {
            *left = x - SEAM_PX;
        } else if self.side < 0 && x + SEAM_PX < *right {
            *right = x + SEAM_PX;
        }
    }
}

fn pack(r: f32, g: f32, b: f32) -> u32 {
    // `as` saturates, so no clamp is needed.
    (u32::from(r as u8) << 16) | (u32::from(g as u8) << 8) | u32::from(b as u8)
}

type Ramp<const N: usize> = ([f32; N], [f32; N]);

fn fill_plain(colors: &mut [u32], depths: &mut [f32], (mut near, near_step): (f32, f32), (rgb, step): Ramp<3>) {
    let [mut r, mut g, mut b] = rgb;
    let mut i = 0;
    while i < colors.len() && i < depths.len() {
        if near > depths[i] {
            depths[i] = near;
            colors[i] = pack(r, g, b);
        }
        near += near_step;
        r += step[0];
        g += step[1];
        b += step[2];
        i += 1;
    }
}

fn fill_textured(
    colors: &mut [u32],
    depths: &mut [f32],
    (mut near, near_step): (f32, f32),
    (rgb, step): Ramp<3>,
    (uv, uv_step): Ramp<2>,
    texture: &Texture,
) {
    let [mut r, mut g, mut b] = rgb;
    let [mut u, mut v] = uv;
    let (last_x, last_y) = (texture.width - 1, texture.height - 1);
    let mut i = 0;
    while i < colors.len() && i < depths.len() {
        if near > depths[i] {
            depths[i] = near;
            let (mut x, mut y) = (u as usize, v as usize);
            if x > last_x {
                x = last_x;
            }
            if y > last_y {
                y = last_y;
            }
            let texel = &texture.texels[y * texture.width + x];
            colors[i] = pack(texel[0] * r, texel[1] * g, texel[2] * b);
        }
        near += near_step;
        u += uv_step[0];
        v += uv_step[1];
        r += step[0];
        g += step[1];
        b += step[2];
        i += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corner(x: f32, y: f32, nearness: f32, value: f32) -> Corner {
        Corner { x, y, nearness, blend: [0.0, 0.0, value, value, value] }
    }

    fn count(canvas: &Canvas) -> usize {
        canvas.colors.iter().filter(|c| **c != 0).count()
    }

    #[test]
    fn a_triangle_covers_its_area_and_neighbours_leave_no_gap() {
        let mut canvas = Canvas::new(64, 64, &[]);
        let p = [
            corner(3.2, 4.7, 0.1, 200.0),
            corner(60.1, 9.3, 0.1, 200.0),
            corner(50.6, 58.8, 0.1, 200.0),
            corner(6.4, 51.5, 0.1, 200.0),
        ];
        canvas.triangle([&p[0], &p[1], &p[2]], Sides::Both, None);
        let half = count(&canvas);
        canvas.triangle([&p[0], &p[2], &p[3]], Sides::Both, None);
        let shoelace: f32 = (0..4).map(|i| p[i].x * p[(i + 1) % 4].y - p[(i + 1) % 4].x * p[i].y).sum::<f32>() / 2.0;
        assert!(half > 0);
        assert!((count(&canvas) as f32 - shoelace).abs() < 60.0, "{} {shoelace}", count(&canvas));
        for y in 12..48 {
            let row = canvas.row(y, 8, 50);
            assert!(row.iter().all(|c| *c != 0), "gap in row {y}");
        }
    }

    #[test]
    fn the_nearer_one_is_seen_whatever_the_order_and_backs_are_hidden() {
        for order in [[0, 1], [1, 0]] {
            let mut canvas = Canvas::new(16, 16, &[]);
            for i in order {
                let (near, value) = [(0.1, 50.0), (0.2, 250.0)][i];
                let (a, b, c) =
                    (corner(0.0, 0.0, near, value), corner(0.0, 16.0, near, value), corner(16.0, 0.0, near, value));
                canvas.triangle([&a, &b, &c], Sides::Front, None);
                canvas.triangle([&c, &b, &a], Sides::Front, None);
            }
            assert_eq!(canvas.row(2, 2, 3), &[0x00fa_fafa]);
        }
        let mut canvas = Canvas::new(16, 16, &[]);
        let (a, b, c) = (corner(0.0, 0.0, 0.1, 9.0), corner(0.0, 16.0, 0.1, 9.0), corner(16.0, 0.0, 0.1, 9.0));
        canvas.triangle([&c, &b, &a], Sides::Front, None);
        assert_eq!(count(&canvas), 0);
    }

    #[test]
    fn what_is_far_out_or_no_number_is_left_alone_and_restore_clears() {
        let mut canvas = Canvas::new(16, 16, &[]);
        for (x, near) in
            [(f32::NAN, 0.1), (f32::INFINITY, 0.1), (1e30, 0.1), (-1e30, 0.1), (5.0, -1.0), (5.0, f32::NAN)]
        {
            canvas.triangle(
                [&corner(x, 1.0, near, 9.0), &corner(2.0, 9.0, 0.1, 9.0), &corner(8.0, 3.0, 0.1, 9.0)],
                Sides::Both,
                None,
            );
        }
        canvas.restore(&[0; 256]);
        assert_eq!(count(&canvas), 0);
        assert!(canvas.drawn().is_empty());
    }
}
