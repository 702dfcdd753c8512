//! Pictures on a software adapter: what must hold for any picture, and golden ones.
//!
//! Without an adapter these tests say so and pass, except where `CI` is set: there they fail.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "the helpers of tests, too, may fail")]

mod golden;
mod models;

use std::sync::{Mutex, MutexGuard, OnceLock};

use glam::{Mat4, Quat, Vec2, Vec3};
use image::RgbaImage;
use omote::avatar::{AlphaMode, AvatarModel, OutlineMode, PosedAvatar, TextureRef, TextureTransform};
use omote::render::gpu::wgpu;
use omote::render::{
    AdapterChoice, Background, Bounds, Camera, DeformOn, Framing, Gpu, GpuOptions, GpuState, Lighting, Msaa, Outlines,
    PixelAlpha, Preview, RenderError, RenderOptions, Renderer, Scene, SnapshotOptions, Target, frame_avatar,
    list_adapters, snapshot,
};
use omote::types::ErrorKind;

use models::{Builder, checker, toon};

/// The device of all tests: opening one takes longer than drawing. One test at a time draws.
struct Shared(Gpu);

impl Drop for Shared {
    fn drop(&mut self) {
        // A software driver that is still working when the process ends may crash it.
        self.0.flush().unwrap();
        if !std::thread::panicking() {
            assert_eq!(self.0.state(), GpuState::Working);
        }
    }
}

/// Locks the device and hands out a picture's worth of use; `None` (and a message) where there is no adapter.
fn gpu() -> Option<(MutexGuard<'static, ()>, Shared)> {
    static DEVICE: OnceLock<Option<Gpu>> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let gpu = DEVICE.get_or_init(|| match Gpu::new(GpuOptions { adapter: AdapterChoice::Software, display: None }) {
        Ok(gpu) => Some(gpu),
        Err(error) if std::env::var_os("CI").is_some() => panic!("pictures cannot be checked: {error}"),
        Err(error) => {
            eprintln!("SKIPPED: pictures are not checked on this machine: {error}");
            None
        }
    });
    gpu.clone().map(|gpu| (turn, Shared(gpu)))
}

/// Looks at the origin from the front, 2.4 units high.
fn front_camera() -> Camera {
    Camera {
        position: Vec3::new(0.0, 0.0, 4.5),
        target: Vec3::ZERO,
        fov_y_rad: 30f32.to_radians(),
        near_m: 0.05,
        far_m: 50.0,
    }
}

fn options() -> SnapshotOptions {
    SnapshotOptions { camera: Some(front_camera()), width: 96, height: 96, msaa: Msaa::Off, ..Default::default() }
}

fn shoot(gpu: &Gpu, model: &AvatarModel) -> RgbaImage {
    shoot_with(gpu, model, &PosedAvatar::rest(model), &options())
}

fn shoot_with(gpu: &Gpu, model: &AvatarModel, posed: &PosedAvatar, options: &SnapshotOptions) -> RgbaImage {
    snapshot(gpu, model, posed, options).unwrap()
}

fn middle(picture: &RgbaImage) -> [u8; 4] {
    picture.get_pixel(picture.width() / 2, picture.height() / 2).0
}

fn assert_near(actual: [u8; 4], expected: [u8; 4]) {
    let worst = actual.iter().zip(expected).map(|(a, e)| a.abs_diff(e)).max().unwrap();
    assert!(worst <= 1, "{actual:?} is not {expected:?}");
}

/// Pixels that differ by more than `tolerance` in any channel.
fn differing(a: &RgbaImage, b: &RgbaImage, tolerance: u8) -> usize {
    assert_eq!(a.dimensions(), b.dimensions());
    a.pixels().zip(b.pixels()).filter(|(a, b)| a.0.iter().zip(b.0).any(|(x, y)| x.abs_diff(y) > tolerance)).count()
}

fn srgb(linear: f32) -> u8 {
    let encoded = if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    (encoded * 255.0).round() as u8
}

#[test]
fn adapters_are_listed_and_a_missing_one_is_a_setup_error() {
    let Some((_turn, shared)) = gpu() else { return };
    let adapters = list_adapters();
    assert!(adapters.iter().any(|a| a.name == shared.0.report().name && a.is_software), "{adapters:?}");
    let wanted = AdapterChoice::Named("no such adapter".to_owned());
    let error = Gpu::new(GpuOptions { adapter: wanted, display: None }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setup);
    assert!(error.to_string().contains("choose another"), "{error}");
}

#[test]
fn background_is_clear_or_coloured_and_surfaces_are_solid() {
    let Some((_turn, shared)) = gpu() else { return };
    let model = Builder::new().sphere(0.8, toon(Vec3::new(0.5, 0.2, 0.1))).build();
    let clear = shoot(&shared.0, &model);
    assert_eq!(clear.get_pixel(0, 0).0, [0, 0, 0, 0]);
    assert_eq!(middle(&clear)[3], 255);
    let background = Background::Color([12, 200, 34]);
    let posed = PosedAvatar::rest(&model);
    let green = shoot_with(&shared.0, &model, &posed, &SnapshotOptions { background, ..options() });
    assert_eq!(green.get_pixel(0, 0).0, [12, 200, 34, 255]);
    assert_eq!(middle(&green), middle(&clear));
    // No half-transparent pixel without multisampling, and some with it.
    assert!(clear.pixels().all(|p| p.0[3] == 0 || p.0[3] == 255));
    let smooth = shoot_with(&shared.0, &model, &posed, &SnapshotOptions { msaa: Msaa::X4, ..options() });
    let edge: Vec<_> = smooth.pixels().filter(|p| p.0[3] != 0 && p.0[3] != 255).collect();
    assert!(!edge.is_empty());
    // Straight alpha: the edge has the surface's colours, not darker ones. The darkest of the surface is its shade.
    let darkest = clear.pixels().filter(|p| p.0[3] == 255).map(|p| p.0[0]).min().unwrap();
    assert!(edge.iter().all(|p| p.0[0] + 3 >= darkest), "{edge:?} against {darkest}");
}

#[test]
fn lit_surfaces_show_their_base_colour_and_shaded_ones_their_shade() {
    let Some((_turn, shared)) = gpu() else { return };
    let mut material = toon(Vec3::new(0.5, 0.25, 0.125));
    material.toon.as_mut().unwrap().shade_color = Vec3::new(0.1, 0.2, 0.3);
    let model = Builder::new().quad(1.0, material).build();
    let posed = PosedAvatar::rest(&model);
    let lit = Lighting { direction: Vec3::Z, ..Lighting::PLAIN };
    let picture = shoot_with(&shared.0, &model, &posed, &SnapshotOptions { lighting: lit, ..options() });
    assert_near(middle(&picture), [srgb(0.5), srgb(0.25), srgb(0.125), 255]);
    let away = Lighting { direction: Vec3::NEG_Z, ..Lighting::PLAIN };
    let picture = shoot_with(&shared.0, &model, &posed, &SnapshotOptions { lighting: away, ..options() });
    assert_near(middle(&picture), [srgb(0.1), srgb(0.2), srgb(0.3), 255]);
    // In the app nothing is black.
    let studio = shoot_with(&shared.0, &model, &posed, &SnapshotOptions { lighting: Lighting::STUDIO, ..options() });
    assert_near(middle(&studio), [srgb(0.5), srgb(0.25), srgb(0.125), 255]);
}

#[test]
fn toon_shading_follows_the_specified_ramp() {
    let Some((_turn, shared)) = gpu() else { return };
    // toony, shift, N·L, expected share of light.
    let cases = [
        (0.9, 0.0, -0.05, 0.25),
        (0.9, 0.0, 0.0, 0.5),
        (0.9, 0.0, 0.05, 0.75),
        (0.95, -0.05, 0.05, 0.5),
        (0.0, 0.0, 0.0, 0.5),
        (1.0, 0.0, 0.01, 1.0),
        (1.0, 0.0, -0.01, 0.0),
        (0.5, 0.2, 0.05, 0.75),
    ];
    for (toony, shift, n_dot_l, expected) in cases {
        let mut material = toon(Vec3::ONE);
        let t = material.toon.as_mut().unwrap();
        (t.shading_toony, t.shading_shift, t.shade_color) = (toony, shift, Vec3::ZERO);
        let model = Builder::new().quad(1.0, material).build();
        let direction = Vec3::new((1.0f32 - n_dot_l * n_dot_l).sqrt(), 0.0, n_dot_l);
        let lighting = Lighting { direction, ..Lighting::PLAIN };
        let picture =
            shoot_with(&shared.0, &model, &PosedAvatar::rest(&model), &SnapshotOptions { lighting, ..options() });
        let level = srgb(expected);
        assert_near(middle(&picture), [level, level, level, 255]);
    }
}

#[test]
fn opaque_ignores_alpha_mask_cuts_and_blend_mixes() {
    let Some((_turn, shared)) = gpu() else { return };
    let draw = |alpha: AlphaMode, value: f32| {
        let mut material = toon(Vec3::ONE);
        material.base_color.w = value;
        material.alpha = alpha;
        let model = Builder::new().quad(1.0, material).build();
        let lighting = Lighting { direction: Vec3::Z, ..Lighting::PLAIN };
        middle(&shoot_with(&shared.0, &model, &PosedAvatar::rest(&model), &SnapshotOptions { lighting, ..options() }))
    };
    assert_eq!(draw(AlphaMode::Opaque, 0.0), [255, 255, 255, 255], "solid although the file says alpha 0");
    assert_eq!(draw(AlphaMode::Mask { cutoff: 0.5 }, 0.4), [0, 0, 0, 0]);
    assert_eq!(draw(AlphaMode::Mask { cutoff: 0.5 }, 0.6), [255, 255, 255, 255]);
    // Eight bits of colour times alpha give back the colour less exactly than eight bits of colour.
    let [red, .., alpha] = draw(AlphaMode::Blend { writes_depth: false }, 0.5);
    assert!(red >= 253 && alpha == 128, "{red} {alpha}");
    let [red, .., alpha] = draw(AlphaMode::Blend { writes_depth: true }, 0.25);
    assert!(red >= 251 && alpha == 64, "{red} {alpha}");
}

#[test]
fn blended_surfaces_are_ordered_by_queue_then_distance() {
    let Some((_turn, shared)) = gpu() else { return };
    let half = |color: Vec3, render_order: i32| {
        let mut material = toon(color);
        material.base_color.w = 0.5;
        material.alpha = AlphaMode::Blend { writes_depth: false };
        material.render_order = render_order;
        material
    };
    let lighting = Lighting { direction: Vec3::Z, ..Lighting::PLAIN };
    let draw = |model: &AvatarModel| {
        middle(&shoot_with(&shared.0, model, &PosedAvatar::rest(model), &SnapshotOptions { lighting, ..options() }))
    };
    // Red in front, listed first: it must still be drawn last.
    let near_first =
        Builder::new().quad_at(1.0, Vec3::Z * 0.5, half(Vec3::X, 0)).quad_at(1.0, Vec3::ZERO, half(Vec3::Z, 0)).build();
    let [red, _, blue, _] = draw(&near_first);
    assert!(red > blue, "the near one covers the far one: {red} {blue}");
    // An order overrules distance.
    let ordered = Builder::new()
        .quad_at(1.0, Vec3::Z * 0.5, half(Vec3::X, -1))
        .quad_at(1.0, Vec3::ZERO, half(Vec3::Z, 0))
        .build();
    let [red, _, blue, alpha] = draw(&ordered);
    assert!(blue > red && alpha > 150, "{red} {blue}");
}

#[test]
fn morphs_move_by_weight_and_not_at_all_at_none() {
    let Some((_turn, shared)) = gpu() else { return };
    let model = Builder::new().sphere(0.5, toon(Vec3::ONE)).morph(|p| Vec3::X * (0.4 + 0.0 * p.x)).build();
    let plain = Builder::new().sphere(0.5, toon(Vec3::ONE)).build();
    let mut posed = PosedAvatar::rest(&model);
    assert_eq!(differing(&shoot(&shared.0, &model), &shoot(&shared.0, &plain), 0), 0);
    posed.morph_weights[0] = 1.0;
    let moved = shoot_with(&shared.0, &model, &posed, &options());
    assert!(differing(&moved, &shoot(&shared.0, &plain), 0) > 200);
    // The same as moving the whole sphere.
    let mut shifted = PosedAvatar::rest(&plain);
    shifted.joint_matrices[0] = Mat4::from_translation(Vec3::X * 0.4);
    assert!(differing(&moved, &shoot_with(&shared.0, &plain, &shifted, &options()), 1) <= 2);
}

#[test]
fn morph_normals_change_the_light() {
    let Some((_turn, shared)) = gpu() else { return };
    // One target that moves nothing but turns the normal from +Z to +X, lit from the avatar's left.
    let mut model = Builder::new().quad(1.0, toon(Vec3::ONE)).morph(|_| Vec3::X * 1e-6).build();
    for primitive in &mut model.meshes[0].primitives {
        let target = &mut primitive.morphs[0];
        target.normals = vec![Vec3::new(1.0, 0.0, -1.0); target.vertices.len()];
    }
    let lighting = Lighting { direction: Vec3::X, ..Lighting::PLAIN };
    let mut posed = PosedAvatar::rest(&model);
    let options = SnapshotOptions { lighting, ..options() };
    let before = middle(&shoot_with(&shared.0, &model, &posed, &options));
    posed.morph_weights[0] = 1.0;
    let after = middle(&shoot_with(&shared.0, &model, &posed, &options));
    // Edge-on to the light is half lit, so three quarters as bright.
    assert_near(before, [srgb(0.75), srgb(0.75), srgb(0.75), 255]);
    assert_eq!(after, [255; 4]);
}

#[test]
fn gpu_and_cpu_deform_alike() {
    let Some((_turn, shared)) = gpu() else { return };
    let model = Builder::new()
        .sphere(0.6, toon(Vec3::new(0.8, 0.5, 0.4)))
        .morph(|p| Vec3::new(0.0, 0.2 * p.x, 0.1))
        .morph(|p| p * 0.3)
        .skinned(3)
        .build();
    let mut posed = PosedAvatar::rest(&model);
    posed.morph_weights.copy_from_slice(&[0.7, -0.4]);
    posed.joint_matrices[1] =
        Mat4::from_scale_rotation_translation(Vec3::new(1.0, 1.4, -0.8), Quat::from_rotation_y(0.6), Vec3::Y * 0.1);
    let picture = |deform: DeformOn| {
        let mut target = Target::new(&shared.0, 96, 96, Msaa::Off).unwrap();
        let options = RenderOptions { msaa: Msaa::Off, deform };
        let mut renderer = Renderer::new(&shared.0, &model, options).unwrap();
        assert_eq!(renderer.deforms_on_cpu(), deform == DeformOn::Cpu);
        renderer.draw(&posed, &scene(), &target).unwrap();
        target.read_back(&shared.0, PixelAlpha::Straight).unwrap()
    };
    let (on_gpu, on_cpu) = (picture(DeformOn::Gpu), picture(DeformOn::Cpu));
    assert!(differing(&on_gpu, &shoot(&shared.0, &model), 8) > 100, "the pose shows");
    assert!(differing(&on_gpu, &on_cpu, 2) <= 2);
}

fn scene() -> Scene {
    Scene {
        camera: front_camera(),
        lighting: Lighting::PLAIN,
        background: Background::Transparent,
        outlines: Outlines::Shown,
    }
}

#[test]
fn many_morphs_and_joints_work() {
    let Some((_turn, shared)) = gpu() else { return };
    let mut builder = Builder::new().sphere(0.5, toon(Vec3::ONE));
    for _ in 0..450 {
        builder = builder.morph(|_| Vec3::X * 0.001);
    }
    let model = builder.skinned(600).build();
    let mut posed = PosedAvatar::rest(&model);
    assert_eq!((posed.morph_weights.len(), posed.joint_matrices.len()), (450, 600));
    posed.morph_weights.fill(1.0);
    posed.joint_matrices.fill(Mat4::from_translation(Vec3::Y * 0.2));
    let picture = shoot_with(&shared.0, &model, &posed, &options());
    let plain = Builder::new().sphere(0.5, toon(Vec3::ONE)).build();
    let mut shifted = PosedAvatar::rest(&plain);
    shifted.joint_matrices[0] = Mat4::from_translation(Vec3::new(0.45, 0.2, 0.0));
    assert!(differing(&picture, &shoot_with(&shared.0, &plain, &shifted, &options()), 2) <= 4);
}

#[test]
fn mirrored_and_double_sided_surfaces_are_lit_on_the_side_that_shows() {
    let Some((_turn, shared)) = gpu() else { return };
    let lighting = Lighting { direction: Vec3::Z, ..Lighting::PLAIN };
    let options = SnapshotOptions { lighting, ..options() };
    let facing = Builder::new().quad(1.0, toon(Vec3::ONE)).build();
    let mut turned = PosedAvatar::rest(&facing);
    turned.joint_matrices[0] = Mat4::from_rotation_y(std::f32::consts::PI);
    assert_eq!(middle(&shoot_with(&shared.0, &facing, &turned, &options))[3], 0, "its back is not drawn");
    let mut material = toon(Vec3::ONE);
    material.double_sided = true;
    let both = Builder::new().quad(1.0, material).build();
    assert_eq!(middle(&shoot_with(&shared.0, &both, &turned, &options)), [255; 4], "its back is lit");
    // A node that mirrors turns the triangles round; its front still shows.
    let mut mirrored = Builder::new().quad(1.0, toon(Vec3::ONE)).build();
    mirrored.nodes[0].rest.scale = Vec3::new(-1.0, 1.0, 1.0);
    mirrored.nodes[0].avatar_from_node = mirrored.nodes[0].rest.to_mat4();
    let posed = PosedAvatar::rest(&mirrored);
    assert_eq!(middle(&shoot_with(&shared.0, &mirrored, &posed, &options)), [255; 4]);
}

#[test]
fn symmetric_avatars_give_symmetric_pictures() {
    let Some((_turn, shared)) = gpu() else { return };
    let model = Builder::new()
        .sphere(0.6, toon(Vec3::new(0.9, 0.6, 0.5)))
        .sphere_at(0.2, Vec3::new(0.5, 0.5, 0.3), toon(Vec3::X))
        .sphere_at(0.2, Vec3::new(-0.5, 0.5, 0.3), toon(Vec3::X))
        .build();
    let lighting = Lighting { direction: Vec3::new(0.0, 1.0, 1.0), ..Lighting::PLAIN };
    let posed = PosedAvatar::rest(&model);
    let picture = shoot_with(&shared.0, &model, &posed, &SnapshotOptions { lighting, ..options() });
    let mirrored = image::imageops::flip_horizontal(&picture);
    assert!(differing(&picture, &mirrored, 8) <= picture.pixels().len() / 100, "{}", differing(&picture, &mirrored, 8));
}

#[test]
fn outlines_change_edges_only() {
    let Some((_turn, shared)) = gpu() else { return };
    for mode in [OutlineMode::WorldCoordinates, OutlineMode::ScreenCoordinates] {
        let mut material = toon(Vec3::ONE);
        let t = material.toon.as_mut().unwrap();
        // Both are 0.06 units wide here: half the picture is 1.2 units high.
        t.outline = mode;
        t.outline_width = if mode == OutlineMode::WorldCoordinates { 0.06 } else { 0.05 };
        t.outline_color = Vec3::new(1.0, 0.0, 0.0);
        t.outline_lighting_mix = 0.0;
        let model = Builder::new().sphere(0.7, material).build();
        let posed = PosedAvatar::rest(&model);
        let with = shoot(&shared.0, &model);
        let without =
            shoot_with(&shared.0, &model, &posed, &SnapshotOptions { outlines: Outlines::Hidden, ..options() });
        let (mut ring, mut inside) = (0, 0);
        for (a, b) in with.pixels().zip(without.pixels()) {
            if a != b {
                assert_eq!(a.0, [255, 0, 0, 255], "outlines are red");
                if b.0[3] == 0 { ring += 1 } else { inside += 1 }
            }
        }
        // A ring of radius 28 px (96 px are 2.41 units) and 2.4 px width has about 440 pixels.
        assert!((330..=560).contains(&ring), "{mode:?}: {ring}");
        assert!(inside <= 12, "{mode:?}: {inside} pixels of the surface are covered");
    }
}

#[test]
fn textures_transforms_and_scrolling_pick_the_right_texel() {
    let Some((_turn, shared)) = gpu() else { return };
    let draw = |change: &dyn Fn(&mut TextureRef), time_secs: f32, scroll: Vec2, state_offset: Vec2| {
        let mut material = toon(Vec3::ONE);
        let mut texture = TextureRef { texture: 0, uv_set: 0, transform: TextureTransform::default() };
        change(&mut texture);
        material.base_texture = Some(texture);
        material.toon.as_mut().unwrap().uv_scroll = scroll;
        let mut model = Builder::new().quad(1.0, material).build();
        model.textures.push(checker());
        let mut posed = PosedAvatar::rest(&model);
        posed.time_secs = time_secs;
        posed.materials[0].uv_offset = state_offset;
        let lighting = Lighting { direction: Vec3::Z, ..Lighting::PLAIN };
        let picture = shoot_with(&shared.0, &model, &posed, &SnapshotOptions { lighting, ..options() });
        // The middle of the upper left quarter.
        picture.get_pixel(32, 32).0
    };
    const RED: [u8; 4] = [255, 0, 0, 255];
    const GREEN: [u8; 4] = [0, 255, 0, 255];
    const BLUE: [u8; 4] = [0, 0, 255, 255];
    assert_eq!(draw(&|_| {}, 0.0, Vec2::ZERO, Vec2::ZERO), RED);
    assert_eq!(draw(&|t| t.transform.offset.x = 0.5, 0.0, Vec2::ZERO, Vec2::ZERO), GREEN);
    assert_eq!(draw(&|t| t.transform.offset.y = 0.5, 0.0, Vec2::ZERO, Vec2::ZERO), BLUE);
    assert_eq!(draw(&|_| {}, 0.0, Vec2::ZERO, Vec2::new(0.5, 0.0)), GREEN, "moved by an expression");
    assert_eq!(draw(&|_| {}, 2.0, Vec2::new(0.25, 0.0), Vec2::ZERO), GREEN, "scrolled");
    assert_eq!(draw(&|_| {}, 2.0, Vec2::new(0.0, 0.25), Vec2::ZERO), BLUE);
}

#[test]
fn previews_arrive_without_waiting_and_show_the_picture() {
    let Some((_turn, shared)) = gpu() else { return };
    let model = Builder::new().quad(3.0, toon(Vec3::new(0.5, 0.25, 0.125))).build();
    let target = Target::new(&shared.0, 128, 96, Msaa::Off).unwrap();
    let mut renderer =
        Renderer::new(&shared.0, &model, RenderOptions { msaa: Msaa::Off, ..Default::default() }).unwrap();
    let mut preview = Preview::new(&shared.0, 40, 30).unwrap();
    let mut pixels = Vec::new();
    assert!(!preview.take(&shared.0, &mut pixels), "nothing was asked for");
    let mut scene = scene();
    scene.lighting.direction = Vec3::Z;
    for _ in 0..8 {
        // More than there are slots: the surplus is left out, nothing blocks or fails.
        renderer.draw(&PosedAvatar::rest(&model), &scene, &target).unwrap();
        preview.request(&shared.0, &target);
    }
    shared.0.flush().unwrap();
    assert!(preview.take(&shared.0, &mut pixels));
    assert_eq!(pixels.len(), 40 * 30 * 4);
    let at = (15 * 40 + 20) * 4;
    assert_near(pixels[at..at + 4].try_into().unwrap(), [srgb(0.5), srgb(0.25), srgb(0.125), 255]);
    assert!(!preview.take(&shared.0, &mut pixels), "taken once");
    preview.request(&shared.0, &target);
    shared.0.flush().unwrap();
    assert!(preview.take(&shared.0, &mut pixels), "slots are free again");
}

#[test]
fn sizes_change_and_impossible_ones_are_refused() {
    let Some((_turn, shared)) = gpu() else { return };
    let mut target = Target::new(&shared.0, 8, 8, Msaa::X4).unwrap();
    target.resize(&shared.0, 33, 17).unwrap();
    assert_eq!(target.size(), (33, 17));
    let model = Builder::new().quad(3.0, toon(Vec3::ONE)).build();
    // Made for one sample, drawn with four.
    let mut renderer =
        Renderer::new(&shared.0, &model, RenderOptions { msaa: Msaa::Off, ..Default::default() }).unwrap();
    let mut scene = scene();
    scene.lighting.direction = Vec3::Z;
    renderer.draw(&PosedAvatar::rest(&model), &scene, &target).unwrap();
    let picture = target.read_back(&shared.0, PixelAlpha::Premultiplied).unwrap();
    assert_eq!((picture.dimensions(), middle(&picture)), ((33, 17), [255; 4]));
    let error = Target::new(&shared.0, u32::MAX, 8, Msaa::Off).unwrap_err();
    assert!(matches!(error, RenderError::TooLarge { .. }), "{error}");
}

#[test]
fn poses_of_other_avatars_and_empty_avatars_do_no_harm() {
    let Some((_turn, shared)) = gpu() else { return };
    let model = Builder::new().sphere(0.5, toon(Vec3::ONE)).morph(|p| p).skinned(4).build();
    shoot_with(&shared.0, &model, &PosedAvatar::default(), &options());
    let long = PosedAvatar {
        morph_weights: vec![1.0; 1000],
        joint_matrices: vec![Mat4::IDENTITY; 1000],
        ..PosedAvatar::default()
    };
    shoot_with(&shared.0, &model, &long, &options());
    let empty = Builder::new().build();
    let picture = shoot(&shared.0, &empty);
    assert!(picture.pixels().all(|p| p.0 == [0; 4]));
    let camera = frame_avatar(&empty, Framing::Bust, 0.5, 1.0);
    assert!(camera.clip_from_avatar(1.0).is_finite());
}

#[test]
fn normal_textures_lean_right_with_red_and_up_with_green() {
    let Some((_turn, shared)) = gpu() else { return };
    let brightness = |leaning: Vec3, direction: Vec3| {
        let mut material = models::plain(Vec3::ONE);
        material.normal_texture = Some(TextureRef { texture: 0, uv_set: 0, transform: TextureTransform::default() });
        let mut model = Builder::new().quad(1.0, material).build();
        model.textures.push(models::leaning(leaning));
        let lighting = Lighting { direction, ..Lighting::PLAIN };
        let posed = PosedAvatar::rest(&model);
        i32::from(middle(&shoot_with(&shared.0, &model, &posed, &SnapshotOptions { lighting, ..options() }))[0])
    };
    for (leaning, towards) in [(Vec3::new(0.6, 0.0, 0.8), Vec3::X), (Vec3::new(0.0, 0.6, 0.8), Vec3::Y)] {
        let (lit, away) = (brightness(leaning, towards + Vec3::Z), brightness(leaning, Vec3::Z - towards));
        // N·L is 1.4 / √2 and 0.2 / √2.
        let expected = [0.99, 0.1414].map(|l| i32::from(srgb(l)));
        assert!((lit - expected[0]).abs() <= 2 && (away - expected[1]).abs() <= 4, "{leaning}: {lit} {away}");
    }
}

#[test]
fn refusals_of_the_driver_and_device_loss_become_states() {
    let Some((_turn, _shared)) = gpu() else { return };
    // A device of its own: it is broken on purpose.
    let gpu = Gpu::new(GpuOptions { adapter: AdapterChoice::Software, display: None }).unwrap();
    let model = Builder::new().quad(1.0, toon(Vec3::ONE)).build();
    let mut renderer = Renderer::new(&gpu, &model, RenderOptions::default()).unwrap();
    let target = Target::new(&gpu, 16, 16, Msaa::X4).unwrap();
    assert_eq!(gpu.state(), GpuState::Working);
    let _ = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: !3,
        usage: wgpu::BufferUsages::VERTEX,
        mapped_at_creation: false,
    });
    assert!(matches!(gpu.state(), GpuState::Faulty { count: 1, .. }), "{:?}", gpu.state());
    renderer.draw(&PosedAvatar::rest(&model), &scene(), &target).unwrap();
    gpu.device.destroy();
    let _ = gpu.flush();
    assert!(matches!(gpu.state(), GpuState::Lost(_)), "{:?}", gpu.state());
    let error = renderer.draw(&PosedAvatar::rest(&model), &scene(), &target).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
}

#[test]
fn drawing_may_happen_on_another_thread() {
    fn check<T: Send>() {}
    check::<Gpu>();
    check::<Renderer>();
    check::<Target>();
    check::<Preview>();
    check::<omote::render::OutputSurface>();
}

/// The bundled avatar with some expressions, by name, laid on by hand.
fn bundled(expressions: &[(&str, f32)]) -> (AvatarModel, PosedAvatar) {
    let model = omote::avatar::bundled().unwrap();
    let mut posed = PosedAvatar::rest(&model);
    for (name, weight) in expressions {
        let expression = model.expressions.iter().find(|e| e.name == *name).unwrap();
        for bind in &expression.binds.morphs {
            posed.morph_weights[bind.morph] += bind.weight * weight;
        }
    }
    (model, posed)
}

#[test]
fn framing_fits_the_avatar() {
    let model = omote::avatar::bundled().unwrap();
    let bounds = Bounds::of(&model).unwrap();
    let head = model.nodes[model.bone(omote::types::Bone::Head).unwrap()].avatar_from_node.w_axis.truncate();
    for aspect in [0.5625, 1.0, 16.0 / 9.0] {
        let seen = |framing, point: Vec3| {
            frame_avatar(&model, framing, Camera::FOV_Y_RAD, aspect).clip_from_avatar(aspect).project_point3(point)
        };
        let crown = Vec3::new(head.x, bounds.max.y, head.z);
        for framing in [Framing::Head, Framing::Bust, Framing::Full] {
            assert!((0.3..1.0).contains(&seen(framing, crown).y), "{framing:?} {aspect}: {}", seen(framing, crown));
            assert!(seen(framing, head).abs().max_element() < 1.0, "{framing:?} {aspect}");
        }
        let feet = Vec3::new(0.0, bounds.min.y, 0.0);
        assert!(seen(Framing::Full, feet).y > -1.0 && seen(Framing::Bust, feet).y < -1.0, "{aspect}");
        assert!(seen(Framing::Full, bounds.max).x < 1.0 && seen(Framing::Full, bounds.min).x > -1.0, "{aspect}");
        // The nearer the framing, the larger the head.
        let size = |framing| seen(framing, crown).y - seen(framing, head).y;
        assert!(size(Framing::Head) >= size(Framing::Bust) && size(Framing::Bust) > size(Framing::Full), "{aspect}");
    }
}

#[test]
fn the_bundled_avatar_looks_as_before() {
    let Some((_turn, shared)) = gpu() else { return };
    let (model, rest) = bundled(&[]);
    let plain = SnapshotOptions { width: 160, height: 160, msaa: Msaa::Off, ..Default::default() };
    let head = shoot_with(&shared.0, &model, &rest, &plain);
    golden::check("bundled_rest", &head);
    let (_, speaking) = bundled(&[("aa", 1.0), ("blinkLeft", 1.0)]);
    let camera = Some(frame_avatar(&model, Framing::Bust, Camera::FOV_Y_RAD, 4.0 / 3.0));
    let background = Background::Color([0, 255, 0]);
    let bust = SnapshotOptions { camera, width: 192, height: 144, background, lighting: Lighting::STUDIO, ..plain };
    golden::check("bundled_speaking", &shoot_with(&shared.0, &model, &speaking, &bust));
    // Not only the stored pictures say that the face moves.
    let still = shoot_with(&shared.0, &model, &rest, &bust);
    assert!(differing(&still, &shoot_with(&shared.0, &model, &speaking, &bust), 16) > 30);
}

#[test]
fn odd_materials_look_as_before() {
    let Some((_turn, shared)) = gpu() else { return };
    let model = models::material_board();
    let mut posed = PosedAvatar::rest(&model);
    posed.time_secs = 0.3;
    let lighting = Lighting { direction: Vec3::new(0.6, 0.8, 1.0), ..Lighting::STUDIO };
    let options = SnapshotOptions { lighting, width: 192, height: 192, ..options() };
    golden::check("materials", &shoot_with(&shared.0, &model, &posed, &options));
}
