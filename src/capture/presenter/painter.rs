//! Paints the presenter into a camera picture.
//!
//! Space: the camera at the origin looks along -z; +x is right in the picture (the person's left), +y up, centimetres.

use glam::{Mat3, Vec2, Vec3};

use super::body::{self, Cavity};
use super::mesh::{Mesh, normals_of};
use super::pose::PresenterPose;
use super::raster::{Canvas, Corner, Sides, Texture};
use super::skin::{EYES, Skin, open_jaw};
use super::textures;

/// Half the camera's vertical field of view: 63°, as the face model assumes (MediaPipe's face geometry).
const TAN_HALF_FOV: f32 = 0.612_8;
/// Canvas pixels per picture pixel and axis.
const FINER: usize = 2;
/// Subdivisions of the skin.
const SKIN_LEVELS: usize = 2;
/// Standard deviation of the sensor's noise in 8-bit steps.
const NOISE_STEPS: f32 = 1.6;
const NOISE_LEN: usize = 1 << 14;

/// What is before the camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scene {
    /// The person; `None` is the empty room.
    pub person: Option<PresenterPose>,
    /// True while a hand is held before the mouth.
    pub mouth_covered: bool,
    /// Share of the light that is on, 0..1.
    pub light: f32,
    /// Chooses the sensor's noise; the same seed gives the same bytes.
    pub noise_seed: u64,
}

impl Scene {
    /// This person in full light.
    pub fn of(person: PresenterPose) -> Self {
        Self { person: Some(person), mouth_covered: false, light: 1.0, noise_seed: 0 }
    }
}

/// How a surface takes light.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Surface {
    Skin,
    Hair,
    Cloth,
    Wet,
    /// As painted.
    Flat,
}

/// Canvas, projection and the buffers of one drawing step.
struct Easel {
    canvas: Canvas,
    corners: Vec<Corner>,
    focal_px: f32,
    center_px: Vec2,
}

/// A surface, what is painted on it, which sides are seen, and how much nearer than it is it counts (share of 1).
struct Look<'a>(Surface, Option<&'a Texture>, Sides, f32);

impl Easel {
    fn draw(&mut self, mesh: &Mesh, look: &Look<'_>, turn: Mat3, place: impl Fn(Vec3) -> Vec3) {
        let Look(surface, texture, sides, nearer) = *look;
        self.corners.clear();
        let points = mesh.positions.iter().zip(&mesh.normals).zip(mesh.uvs.iter().zip(&mesh.colors));
        for ((position, normal), (uv, color)) in points {
            let p = place(*position);
            let nearness = 1.0 / -p.z;
            let lit = light(surface, turn * *normal, sides) * *color;
            self.corners.push(Corner {
                x: self.center_px.x + self.focal_px * p.x * nearness,
                y: self.center_px.y - self.focal_px * p.y * nearness,
                nearness: nearness * (1.0 + nearer),
                blend: [uv.x, uv.y, lit.x, lit.y, lit.z],
            });
        }
        let mut i = 0;
        while i < mesh.triangles.len() {
            let [a, b, c] = mesh.triangles[i];
            if let (Some(a), Some(b), Some(c)) =
                (self.corners.get(a as usize), self.corners.get(b as usize), self.corners.get(c as usize))
            {
                self.canvas.triangle([a, b, c], sides, texture);
            }
            i += 1;
        }
    }
}

/// Window light from the right, a weaker fill from the front, warm shadows. Factors of the colour.
fn light(surface: Surface, normal: Vec3, sides: Sides) -> Vec3 {
    const KEY: Vec3 = Vec3::new(0.46, 0.42, 0.78);
    let normal = if sides == Sides::Both && normal.z < 0.0 { -normal } else { normal };
    let key = normal.dot(KEY);
    let wrap = ((key + 0.42) / 1.42).clamp(0.0, 1.0);
    let wrap = wrap * wrap * (3.0 - 2.0 * wrap);
    let sky = 0.5 + 0.5 * normal.y;
    let half = normal.dot(Vec3::new(0.243, 0.222, 0.944)).max(0.0);
    let grazing = 1.0 - normal.z.clamp(0.0, 1.0);
    let rim = grazing * grazing * grazing * normal.dot(Vec3::new(0.8, 0.45, -0.2)).max(0.0);
    match surface {
        Surface::Skin => {
            let shadow = Vec3::new(0.60, 0.475, 0.455);
            shadow.lerp(Vec3::new(1.055, 1.03, 1.01), wrap) * (0.87 + 0.13 * sky)
                + Vec3::splat(0.075 * half.powi(20) + 0.16 * rim)
        }
        Surface::Hair => {
            Vec3::new(0.42, 0.38, 0.42).lerp(Vec3::new(1.12, 1.06, 1.0), wrap) * (0.72 + 0.28 * sky)
                + Vec3::new(0.6, 0.5, 0.42) * rim
        }
        Surface::Cloth => {
            Vec3::new(0.50, 0.50, 0.58).lerp(Vec3::new(1.12, 1.10, 1.06), wrap) * (0.78 + 0.22 * sky)
                + Vec3::splat(0.25 * rim)
        }
        Surface::Wet => Vec3::splat(0.80 + 0.20 * wrap),
        Surface::Flat => Vec3::ONE,
    }
}

/// The fixed parts of the person.
struct Parts {
    hair: Mesh,
    ears: Mesh,
    eyes: [Mesh; 2],
    glint: Mesh,
    upper_teeth: Mesh,
    lower_mouth: Mesh,
    neck: Mesh,
    shoulders: Mesh,
    lining: Mesh,
    hand: Mesh,
}

/// Paints pictures of one size. Holds all buffers, so that a picture costs no allocation.
pub struct Painter {
    width: usize,
    height: usize,
    easel: Easel,
    /// The room at canvas size.
    room: Vec<u32>,
    /// The room at picture size.
    room_rgb: Vec<u8>,
    line: Vec<u8>,
    noise: Vec<i8>,
    skin: Skin,
    skin_texture: Texture,
    eye_texture: Texture,
    hair_texture: Texture,
    parts: Parts,
    // Refilled for every picture.
    coarse: Vec<Vec3>,
    face: Mesh,
    cavity: Cavity,
    sockets: [Mesh; 2],
    lashes: Mesh,
}

impl Painter {
    /// A painter of pictures of this size in pixels, each side 16..4096; `None` if it is not, or if the bundled face is
    /// broken. Takes some 100 ms to mix its colours.
    pub fn new(width: u32, height: u32) -> Option<Self> {
        if !(16..=4096).contains(&width) || !(16..=4096).contains(&height) {
            return None;
        }
        let (width, height) = (width as usize, height as usize);
        let skin = Skin::new(SKIN_LEVELS)?;
        let room_colors = textures::room(width, height);
        let room_rgb: Vec<u8> = room_colors.iter().flat_map(|c| c.to_array().map(|x| x as u8)).collect();
        let room: Vec<u32> = (0..height * FINER)
            .flat_map(|y| (0..width * FINER).map(move |x| (y / FINER) * width + x / FINER))
            .filter_map(|i| room_rgb.as_chunks::<3>().0.get(i))
            .map(|[r, g, b]| (u32::from(*r) << 16) | (u32::from(*g) << 8) | u32::from(*b))
            .collect();
        let mouth = skin.rest().get(13).copied()?;
        let mut face = Mesh::default();
        skin.smoother.apply(skin.rest(), &mut face.positions);
        face.triangles.clone_from(&skin.smoother.triangles);
        face.uvs = face.positions.iter().map(|p| textures::skin_uv(*p)).collect();
        face.colors = vec![Vec3::ONE; face.positions.len()];
        face.update_normals();
        let sockets = skin.eye_holes.each_ref().map(|holes| {
            let mut mesh = Mesh::default();
            for p in skin.rest() {
                mesh.push(*p, Vec3::new(204.0, 168.0, 162.0), Vec2::ZERO);
            }
            mesh.triangles.clone_from(holes);
            mesh.normals = vec![Vec3::Z; mesh.positions.len()];
            mesh
        });
        let parts = Parts {
            hair: body::hair(),
            ears: body::ears(),
            eyes: skin.eyeballs.each_ref().map(body::eyeball),
            glint: Mesh::ellipsoid(Vec3::ZERO, Vec3::new(0.13, 0.15, 0.03), Mat3::IDENTITY, Vec3::splat(255.0)),
            upper_teeth: body::upper_teeth(mouth),
            lower_mouth: body::lower_mouth(mouth),
            neck: body::neck(),
            shoulders: body::shoulders(),
            lining: body::collar_lining(),
            hand: body::hand(),
        };
        let easel = Easel {
            canvas: Canvas::new(width * FINER, height * FINER, &room),
            corners: Vec::new(),
            focal_px: (height * FINER) as f32 / 2.0 / TAN_HALF_FOV,
            center_px: Vec2::new((width * FINER) as f32 / 2.0, (height * FINER) as f32 / 2.0),
        };
        Some(Self {
            width,
            height,
            easel,
            room,
            room_rgb,
            line: vec![0; width * 3],
            noise: sensor_noise(width * 3),
            skin_texture: textures::skin(skin.rest()),
            eye_texture: textures::eye(),
            hair_texture: textures::hair(),
            parts,
            coarse: Vec::new(),
            face,
            cavity: Cavity::new(),
            sockets,
            lashes: Mesh::default(),
            skin,
        })
    }

    /// Bytes of a picture: width · height · 3.
    pub fn picture_len(&self) -> usize {
        self.width * self.height * 3
    }

    /// Paints the scene as rows of RGB from the top left; `out` is of `picture_len`, else nothing happens.
    pub fn paint(&mut self, scene: &Scene, out: &mut [u8]) {
        if out.len() != self.picture_len() {
            return;
        }
        self.easel.canvas.restore(&self.room);
        if let Some(pose) = scene.person {
            self.draw_person(&pose.clamped(), scene.mouth_covered);
        }
        self.develop(scene, out);
    }

    fn draw_person(&mut self, pose: &PresenterPose, mouth_covered: bool) {
        let turn = Mat3::from_quat(pose.head.to_quat());
        let camera = |p: Vec3| Vec3::new(p.x, p.y, -p.z) * 100.0;
        let head_at = camera(pose.head_position());
        let body_at = camera(pose.position);
        let in_head = |p: Vec3| head_at + turn * p;
        let in_body = |p: Vec3| body_at + p;
        let easel = &mut self.easel;
        let parts = &self.parts;

        self.skin.deform(pose, &mut self.coarse);
        self.skin.smoother.apply(&self.coarse, &mut self.face.positions);
        self.skin.lay_lids_over_eyes(&mut self.face.positions);
        normals_of(&self.face.positions, &self.face.triangles, &mut self.face.normals);
        let skin = Look(Surface::Skin, Some(&self.skin_texture), Sides::Front, 0.0);
        easel.draw(&self.face, &skin, turn, in_head);

        for (i, eye) in parts.eyes.iter().enumerate() {
            let ball = self.skin.eyeballs[i];
            let gaze = Mat3::from_rotation_y(pose.gaze.yaw) * Mat3::from_rotation_x(pose.gaze.pitch);
            let on_ball = |d: Vec3| in_head(ball.center + d * ball.radii);
            let look = Look(Surface::Wet, Some(&self.eye_texture), Sides::Front, 0.0);
            easel.draw(eye, &look, turn * gaze, |p| on_ball(gaze * (p / ball.radii.z)));
            let glint_at = (gaze * 0.5 + Mat3::IDENTITY * 0.5) * Vec3::new(0.17, 0.24, 0.95);
            let look = Look(Surface::Flat, None, Sides::Front, 0.0);
            easel.draw(&parts.glint, &look, turn, |p| on_ball(glint_at) + turn * p);
            if let Some(socket) = self.sockets.get_mut(i) {
                socket.positions.clone_from(&self.coarse);
                let back = Vec3::new(0.0, 0.0, -0.9);
                easel.draw(socket, &Look(Surface::Flat, None, Sides::Both, 0.0), turn, |p| in_head(p + back));
            }
            if let Some(points) = EYES.get(i) {
                body::lashes(points, &self.coarse, &mut self.lashes);
                easel.draw(&self.lashes, &Look(Surface::Flat, None, Sides::Both, 0.004), turn, in_head);
            }
        }

        if pose.jaw > 0.01 || pose.spread > 0.01 || pose.pucker > 0.01 {
            self.cavity.follow(&self.coarse);
            easel.draw(&self.cavity.mesh, &Look(Surface::Flat, None, Sides::Both, -0.002), turn, in_head);
            let teeth = Look(Surface::Wet, None, Sides::Both, 0.0);
            easel.draw(&parts.upper_teeth, &teeth, turn, in_head);
            easel.draw(&parts.lower_mouth, &teeth, turn, |p| in_head(open_jaw(p, pose.jaw * 0.97)));
        }

        let plain = |surface| Look(surface, None, Sides::Front, 0.0);
        easel.draw(&parts.ears, &plain(Surface::Skin), turn, in_head);
        easel.draw(&parts.hair, &Look(Surface::Hair, Some(&self.hair_texture), Sides::Both, 0.0), turn, in_head);
        easel.draw(&parts.neck, &plain(Surface::Skin), Mat3::IDENTITY, |p| {
            let share = body::neck_follows(p.y);
            // Half the turn reaches down the neck.
            in_body(p).lerp(in_head(p), share)
        });
        easel.draw(&parts.lining, &plain(Surface::Flat), Mat3::IDENTITY, in_body);
        easel.draw(&parts.shoulders, &plain(Surface::Cloth), Mat3::IDENTITY, in_body);
        if mouth_covered {
            let mouth = in_head(Vec3::new(0.0, -4.3, 5.5)) - Vec3::new(0.0, -4.3, 5.5);
            easel.draw(&parts.hand, &plain(Surface::Skin), Mat3::IDENTITY, |p| mouth + p);
        }
    }

    /// Canvas to picture: four canvas pixels to one, light, noise.
    fn develop(&mut self, scene: &Scene, out: &mut [u8]) {
        let drawn = self.easel.canvas.drawn();
        let (x0, x1) = (drawn.x0.min(self.width * FINER) / FINER, drawn.x1.div_ceil(FINER).min(self.width));
        let gain = (scene.light.clamp(0.0, 1.0) * 256.0) as i32;
        let stride = self.width * 3;
        for (y, (out, room)) in out.chunks_exact_mut(stride).zip(self.room_rgb.chunks_exact(stride)).enumerate() {
            self.line.copy_from_slice(room);
            if !drawn.is_empty() && y * FINER < drawn.y1 && (y + 1) * FINER > drawn.y0 {
                let above = self.easel.canvas.row(y * FINER, x0 * FINER, x1 * FINER);
                let below = self.easel.canvas.row(y * FINER + 1, x0 * FINER, x1 * FINER);
                let to = self.line.get_mut(x0 * 3..x1 * 3).unwrap_or_default();
                let pairs = above.as_chunks::<2>().0.iter().zip(below.as_chunks::<2>().0);
                for (rgb, ([a, b], [c, d])) in to.as_chunks_mut::<3>().0.iter_mut().zip(pairs) {
                    // Red and blue are far enough apart to be summed together.
                    let red_blue = (a & 0xff_00ff) + (b & 0xff_00ff) + (c & 0xff_00ff) + (d & 0xff_00ff) + 0x2_0002;
                    let green = (a & 0xff00) + (b & 0xff00) + (c & 0xff00) + (d & 0xff00) + 0x200;
                    *rgb = [(red_blue >> 18) as u8, (green >> 10) as u8, (red_blue >> 2) as u8];
                }
            }
            let start = hash(scene.noise_seed, y as u64) as usize % NOISE_LEN;
            let noise = self.noise.get(start..start + stride).unwrap_or_default();
            for ((to, from), noise) in out.iter_mut().zip(&self.line).zip(noise) {
                *to = (((i32::from(*from) * gain) >> 8) + i32::from(*noise)).clamp(0, 255) as u8;
            }
        }
    }
}

fn hash(a: u64, b: u64) -> u64 {
    // The mixing step of SplitMix64 (Steele, Lea and Flood 2014).
    let mut z =
        a.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(b.wrapping_mul(0xD1B5_4A32_D192_ED03)).wrapping_add(1);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Noise steps, long enough for any place within `NOISE_LEN` plus a row.
fn sensor_noise(row_len: usize) -> Vec<i8> {
    (0..(NOISE_LEN + row_len) as u64)
        .map(|i| {
            // The sum of four uniform numbers is near enough to a normal one; its deviation is 0.577.
            let bits = hash(i, 0x006e_6f69_7365);
            let sum: f32 = (0..4).map(|k| ((bits >> (16 * k)) & 0xffff) as f32 / 65536.0 - 0.5).sum();
            (sum / 0.577 * NOISE_STEPS).round() as i8
        })
        .collect()
}
