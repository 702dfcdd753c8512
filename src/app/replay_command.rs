//! `omote replay`, and `omote --demo --headless DIR`: files in, files out.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use tempfile::NamedTempFile;

use super::cli::{ReplayArgs, apply_sets};
use super::movie::{MovieSound, MovieWriter};
use super::say::say;
use crate::audio::presenter::{PresenterMicrophone, Recording, Voice};
use crate::audio::{open_audio, sound_of_video};
use crate::avatar::{self, AvatarModel, AvatarProfile};
use crate::capture::presenter::{Filming, PresenterCamera, PresenterScript};
use crate::capture::{VideoOptions, open_video};
use crate::engine::{StageFrame, scene_of};
use crate::face::{FaceModel, FaceOptions, FaceTracker};
use crate::render::{Camera, Gpu, GpuOptions, Msaa, PixelAlpha, RenderOptions, Renderer, Target};
use crate::replay::{
    Case, Inputs, Performance, PerformanceWriter, ReplayOptions, ReplaySink, ReplaySummary, SoundFeed, TimedExpression,
    TraceWriter, VideoFeed, compare_traces, run,
};
use crate::settings::{Settings, SettingsFile};
use crate::sync::{Pace, StepClock};
use crate::types::{AudioFault, AudioReport, FaceReport, Fault, FaultKind, Faults, Timestamp, VideoFault};
use crate::voice::{self, VisemeModel};

/// Name of the bundled presenter script on the command line.
const BUNDLED_SCRIPT: &str = "demo";

/// Runs a replay as the arguments say.
pub(super) fn replay(args: &ReplayArgs) -> anyhow::Result<()> {
    if let Some(folder) = &args.case {
        return run_case(folder, args);
    }
    let began = Instant::now();
    let faults = faults_of(args)?;
    let settings = settings_of(args)?;
    let inputs = inputs_of(args, &settings, &faults)?;
    let model = Arc::new(load_avatar(args.avatar.as_deref())?);
    let size = args.size.unwrap_or([640, 480]);
    let options = ReplayOptions {
        expressions: expressions_of(&args.expression, &model)?,
        settings,
        model: model.clone(),
        fps: args.fps,
        aspect: size[0] as f32 / size[1] as f32,
        seed: args.seed,
        is_realtime: args.realtime,
    };
    let mut outputs = Outputs::open(args, &options, size)?;
    let summary = run(inputs, &options, &mut outputs)?;
    outputs.finish()?;
    tell(&summary, began);
    Ok(())
}

/// Runs a case folder and compares its trace with what the case expects.
fn run_case(folder: &Path, args: &ReplayArgs) -> anyhow::Result<()> {
    let case = Case::load(folder)?;
    let temporary = args.trace.is_none().then(NamedTempFile::new).transpose();
    let temporary = temporary.context("the temporary folder cannot be written to")?.map(NamedTempFile::into_temp_path);
    let made = args.trace.clone().or(temporary.as_deref().map(Path::to_owned)).unwrap_or_default();
    let replayed = ReplayArgs {
        case: None,
        performance: case.performance,
        presenter: case.presenter,
        video: case.video,
        audio: case.audio,
        avatar: case.avatar.or_else(|| args.avatar.clone()),
        fps: case.fps.unwrap_or(args.fps),
        fps_in: case.fps_in.unwrap_or(args.fps_in),
        seed: case.seed,
        set: case.set,
        fault: case.fault,
        expression: case.expression,
        trace: Some(made.clone()),
        ..args.clone()
    };
    replay(&replayed)?;
    let trace = fs::read_to_string(&made).context("the new trace cannot be read")?;
    let Some(path) = case.trace else { return Ok(()) };
    let expected =
        fs::read_to_string(&path).with_context(|| format!("the trace cannot be read: {}", path.display()))?;
    let result = compare_traces(&expected, &trace, case.tolerance.unwrap_or(Case::TOLERANCE));
    match (result, case.known_failure) {
        (Ok(()), None) => say("the trace is as expected"),
        (Err(difference), Some(why)) => say(&format!("fails as known ({why}): {difference}")),
        (Ok(()), Some(why)) => bail!("this case is marked as failing ({why}) and does not fail: take the mark away"),
        (Err(difference), None) => bail!("the trace differs {difference}"),
    }
    Ok(())
}

fn tell(summary: &ReplaySummary, began: Instant) {
    say(&format!(
        "{} frames in {:.1} s: a face in {} of {} pictures, {:.1} s of sound",
        summary.frame_count,
        began.elapsed().as_secs_f64(),
        summary.tracked_count,
        summary.seen_count,
        summary.heard_count as f64 / 100.0,
    ));
}

/// The whole path over the bundled demo: a movie where ffmpeg is installed, else pictures; and a trace.
pub(super) fn demo(folder: &Path, settings: &[String]) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("the folder cannot be made: {}", folder.display()))?;
    let mut args = ReplayArgs {
        presenter: Some(BUNDLED_SCRIPT.into()),
        fps: 30,
        fps_in: 30.0,
        size: Some([640, 480]),
        trace: Some(folder.join("trace.jsonl")),
        set: settings.to_vec(),
        ..ReplayArgs::default()
    };
    let told = if MovieWriter::is_available() {
        let movie = folder.join("demo.mp4");
        args.movie = Some(movie.clone());
        movie
    } else {
        args.frames = Some(folder.join("frames"));
        folder.join("frames")
    };
    replay(&args)?;
    let sheet = folder.join("sheet.png");
    super::sheet::write(&args, &sheet)?;
    say(&format!("movie or pictures: {}", told.display()));
    say(&format!("picture sheet:     {}", sheet.display()));
    say(&format!("trace:             {}", folder.join("trace.jsonl").display()));
    Ok(())
}

/// The avatar of an argument; the bundled one without.
pub(super) fn load_avatar(path: Option<&Path>) -> anyhow::Result<AvatarModel> {
    let model = match path {
        Some(path) => avatar::load(path)?,
        None => avatar::bundled()?,
    };
    for warning in &model.warnings {
        say(&format!("avatar: {warning}"));
    }
    Ok(model)
}

/// Default settings, unmirrored, or the file's; then `--lipsync` and `--set`.
fn settings_of(args: &ReplayArgs) -> anyhow::Result<Settings> {
    let mut settings = Settings::default();
    settings.view.mirror = false;
    settings.output.msaa = 1;
    if let Some(path) = &args.settings {
        if !path.exists() {
            bail!("there is no settings file: {}", path.display());
        }
        let (loaded, warnings) = SettingsFile::at(path).load();
        warnings.iter().for_each(|w| say(w));
        settings = loaded;
    }
    if let Some(mode) = args.lipsync {
        settings.lipsync.mode = mode;
    }
    apply_sets(&mut settings, &args.set).map_err(anyhow::Error::msg)?;
    Ok(settings)
}

fn faults_of(args: &ReplayArgs) -> anyhow::Result<Faults> {
    let mut faults = Faults::default();
    for range in &args.drop_audio {
        faults.add(Fault::over(FaultKind::Audio(AudioFault::Disconnected), range).context("--drop-audio")?);
    }
    for range in &args.drop_video {
        faults.add(Fault::over(FaultKind::Video(VideoFault::Disconnected), range).context("--drop-video")?);
    }
    for text in &args.fault {
        faults.add(text.parse().context("--fault")?);
    }
    Ok(faults)
}

fn expressions_of(texts: &[String], model: &AvatarModel) -> anyhow::Result<Vec<TimedExpression>> {
    let names = AvatarProfile::of(model).expressions;
    texts
        .iter()
        .map(|text| {
            let (name, range) =
                text.rsplit_once('@').with_context(|| format!("--expression {text:?}: NAME@A..B is expected"))?;
            let slot = names
                .iter()
                .position(|n| n == name)
                .with_context(|| format!("this avatar has no expression {name:?}; it has {}", names.join(", ")))?;
            // The range has the same form as a fault's.
            let Fault { from, to, .. } =
                Fault::over(FaultKind::Video(VideoFault::Dark), range).context("--expression")?;
            Ok(TimedExpression { slot, from, to })
        })
        .collect()
}

/// Opens what the arguments name.
pub(super) fn inputs_of(args: &ReplayArgs, settings: &Settings, faults: &Faults) -> anyhow::Result<Inputs> {
    if let Some(path) = &args.performance {
        let file = File::open(path).with_context(|| format!("the performance cannot be read: {}", path.display()))?;
        let performance = Performance::read(BufReader::new(file)).with_context(|| path.display().to_string())?;
        return Ok(Inputs::Performance(performance));
    }
    if let Some(script) = &args.presenter {
        return presenter(script, args, settings, faults);
    }
    let video = match &args.video {
        Some(path) => {
            let options = VideoOptions { fps: Some(args.fps_in), size: None };
            Some(VideoFeed::file(open_video(path, options)?, faults.clone()))
        }
        None => None,
    };
    let sound = match (&args.audio, &args.video) {
        (Some(path), _) => Some(open_audio(path)?),
        (None, Some(video)) => sound_of_video(video)?,
        (None, None) => None,
    };
    if video.is_none() && sound.is_none() {
        bail!("nothing to replay: give --video, --audio, --performance or --presenter");
    }
    let audio = sound.map(|source| SoundFeed::file(source, faults.clone()));
    media(settings, video, audio)
}

/// The drawn presenter as camera and microphone.
fn presenter(script: &Path, args: &ReplayArgs, settings: &Settings, faults: &Faults) -> anyhow::Result<Inputs> {
    let is_bundled = script == Path::new(BUNDLED_SCRIPT);
    let mut loaded = if is_bundled { PresenterScript::demo()? } else { PresenterScript::load(script)? };
    loaded.warnings().iter().for_each(|w| say(w));
    faults.iter().for_each(|fault| loaded.add_fault(*fault));
    let voice = match (is_bundled, loaded.voice_file()) {
        (true, _) => Some(Voice::demo()?),
        (false, Some(name)) => {
            let path = script.parent().unwrap_or(Path::new("")).join(name);
            let bytes = fs::read(&path).with_context(|| format!("the voice cannot be read: {}", path.display()))?;
            Some(Voice::from_wav(&bytes)?)
        }
        (false, None) => None,
    };
    let clock = StepClock::default();
    let pace = Pace::Stepped(clock.clone());
    let fps = (args.fps_in.round() as u32).clamp(1, 240);
    let lasts = std::time::Duration::from_secs_f64(loaded.duration_secs());
    let audio = voice.map(|voice| {
        let recording = Recording {
            lasts: Some(lasts),
            faults: loaded.faults().clone(),
            pace: pace.clone(),
            ..Recording::default()
        };
        SoundFeed::stepped(Box::new(PresenterMicrophone::new(voice, recording)), clock.clone())
    });
    let filming = Filming { fps, pace, ..Filming::default() };
    let video = VideoFeed::stepped(Box::new(PresenterCamera::open(Arc::new(loaded), filming)?), clock);
    media(settings, Some(video), audio)
}

fn media(settings: &Settings, video: Option<VideoFeed>, audio: Option<SoundFeed>) -> anyhow::Result<Inputs> {
    let video = match video {
        Some(feed) => {
            let mut model = FaceTracker::load(FaceOptions::default())?;
            model.configure(&settings.video);
            Some((feed, Box::new(model) as Box<dyn FaceModel>))
        }
        None => None,
    };
    let audio = match audio {
        Some(feed) => {
            let model: Box<dyn VisemeModel> = Box::new(voice::Hearing::new()?);
            Some((feed, model))
        }
        None => None,
    };
    Ok(Inputs::Media { video, audio })
}

/// Everything a replay writes.
struct Outputs<'a> {
    options: &'a ReplayOptions,
    trace: Option<TraceWriter<BufWriter<File>>>,
    record: Option<PerformanceWriter<BufWriter<File>>>,
    pictures: Option<Pictures>,
}

impl<'a> Outputs<'a> {
    fn open(args: &ReplayArgs, options: &'a ReplayOptions, size: [u32; 2]) -> anyhow::Result<Self> {
        let trace = args.trace.as_deref().map(|path| create(path).map(TraceWriter::new)).transpose()?;
        let record = match &args.record {
            Some(path) => Some(PerformanceWriter::performance(create(path)?)?),
            None => None,
        };
        let sink = match (&args.frames, &args.movie) {
            (Some(folder), _) => {
                fs::create_dir_all(folder)
                    .with_context(|| format!("the folder cannot be made: {}", folder.display()))?;
                Some(PictureSink::Folder { folder: folder.clone(), count: 0 })
            }
            (None, Some(path)) => {
                Some(PictureSink::Movie(MovieWriter::create(path, size, args.fps, movie_sound(args))?))
            }
            (None, None) => None,
        };
        let pictures = sink.map(|sink| Pictures::open(options, size, sink)).transpose()?;
        Ok(Self { options, trace, record, pictures })
    }

    fn finish(self) -> anyhow::Result<()> {
        if let Some(trace) = self.trace {
            trace.finish().context("the trace cannot be written")?;
        }
        if let Some(record) = self.record {
            record.finish().context("the performance cannot be written")?;
        }
        self.pictures.map_or(Ok(()), Pictures::finish)
    }
}

/// What was said, whole: a movie shows what the avatar makes of a lost microphone.
fn movie_sound(args: &ReplayArgs) -> MovieSound {
    let of_presenter = |script: &PathBuf| {
        if script == Path::new(BUNDLED_SCRIPT) {
            return MovieSound::Bytes(Voice::DEMO_WAV);
        }
        let loaded = PresenterScript::load(script).ok();
        let name = loaded.as_ref().and_then(PresenterScript::voice_file);
        name.map_or(MovieSound::None, |name| MovieSound::File(script.parent().unwrap_or(Path::new("")).join(name)))
    };
    match (&args.audio, &args.video, &args.presenter) {
        (Some(audio), _, _) => MovieSound::File(audio.clone()),
        (None, Some(video), _) if video.is_file() => MovieSound::File(video.clone()),
        (None, _, Some(script)) => of_presenter(script),
        _ => MovieSound::None,
    }
}

/// A file to write into.
pub(super) fn create(path: &Path) -> anyhow::Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("the file cannot be written: {}", path.display()))?;
    Ok(BufWriter::new(file))
}

impl ReplaySink for Outputs<'_> {
    fn seen(&mut self, report: &FaceReport, now: Timestamp) -> anyhow::Result<()> {
        self.record.as_mut().map_or(Ok(()), |r| r.video(report, Some(now))).context("the performance cannot be written")
    }

    fn heard(&mut self, report: &AudioReport, now: Timestamp) -> anyhow::Result<()> {
        self.record.as_mut().map_or(Ok(()), |r| r.audio(report, Some(now))).context("the performance cannot be written")
    }

    fn frame(&mut self, frame: &StageFrame<'_>, camera: &Camera) -> anyhow::Result<()> {
        if let Some(trace) = &mut self.trace {
            trace.frame(frame, self.options.settings.lipsync.mode).context("the trace cannot be written")?;
        }
        self.pictures.as_mut().map_or(Ok(()), |p| p.frame(frame, *camera, &self.options.settings))
    }
}

enum PictureSink {
    Folder { folder: PathBuf, count: u64 },
    Movie(MovieWriter),
}

/// Draws frames and hands them on.
struct Pictures {
    gpu: Gpu,
    target: Target,
    renderer: Renderer,
    sink: PictureSink,
    pixels: Vec<u8>,
}

impl Pictures {
    fn open(options: &ReplayOptions, size: [u32; 2], sink: PictureSink) -> anyhow::Result<Self> {
        let gpu = Gpu::new(GpuOptions::default())?;
        let msaa = Msaa::from_samples(options.settings.output.msaa);
        let target = Target::new(&gpu, size[0], size[1], msaa)?;
        let renderer = Renderer::new(&gpu, &options.model, RenderOptions { msaa, ..RenderOptions::default() })?;
        Ok(Self { gpu, target, renderer, sink, pixels: Vec::new() })
    }

    fn finish(self) -> anyhow::Result<()> {
        // Some software drivers crash when the process ends with work under way.
        self.gpu.flush()?;
        match self.sink {
            PictureSink::Movie(movie) => movie.finish(),
            PictureSink::Folder { .. } => Ok(()),
        }
    }

    fn frame(&mut self, frame: &StageFrame<'_>, camera: Camera, settings: &Settings) -> anyhow::Result<()> {
        self.renderer.draw(frame.posed, &scene_of(settings, camera), &self.target)?;
        match &mut self.sink {
            PictureSink::Folder { folder, count } => {
                let picture = self.target.read_back(&self.gpu, PixelAlpha::Straight)?;
                let path = folder.join(format!("frame_{count:06}.png"));
                *count += 1;
                picture.save(&path).with_context(|| format!("the picture cannot be written: {}", path.display()))
            }
            PictureSink::Movie(movie) => {
                self.target.read_back_into(&self.gpu, PixelAlpha::Premultiplied, &mut self.pixels)?;
                movie.write(&self.pixels)
            }
        }
    }
}
