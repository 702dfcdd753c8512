//! `omote inspect`: what a file holds, what is missing, what each missing part falls back to.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use anyhow::Context;
use serde_json::json;

use super::cli::InspectArgs;
use crate::avatar::{self, InspectReport};
use crate::replay::{Performance, PerformanceReport};

/// Prints the report.
pub(super) fn inspect(args: &InspectArgs) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let text = if is_performance(&args.file)? {
        performance(&args.file, args.json)?
    } else {
        let report = avatar::inspect(&avatar::load(&args.file)?);
        if args.json { serde_json::to_string_pretty(&report)? } else { words(&report) }
    };
    writeln!(out, "{}", text.trim_end()).context("standard output cannot be written")
}

fn is_performance(path: &Path) -> anyhow::Result<bool> {
    let mut head = Vec::new();
    let file = File::open(path).with_context(|| format!("the file cannot be read: {}", path.display()))?;
    file.take(32).read_to_end(&mut head).with_context(|| format!("the file cannot be read: {}", path.display()))?;
    Ok(head.starts_with(b"{\"omote_performance\""))
}

fn performance(path: &Path, is_json: bool) -> anyhow::Result<String> {
    let performance =
        Performance::read(BufReader::new(File::open(path)?)).with_context(|| path.display().to_string())?;
    let (mut seen, mut tracked, mut heard) = (0, 0, 0);
    for event in &performance.events {
        match &event.report {
            PerformanceReport::Video(report) => {
                seen += 1;
                tracked += i32::from(report.observation.is_some());
            }
            PerformanceReport::Audio(_) => heard += 1,
        }
    }
    let secs = performance.end().as_secs_f64();
    Ok(if is_json {
        serde_json::to_string_pretty(&json!({
            "kind": "performance", "seconds": secs, "observations": seen, "with_face": tracked, "visemes": heard,
        }))?
    } else {
        format!("performance, {secs:.2} s\nobservations: {seen}, {tracked} with a face\nviseme frames: {heard}")
    })
}

fn words(report: &InspectReport) -> String {
    let mut lines = vec![
        format!("{} ({})", if report.name.is_empty() { "avatar without a name" } else { &report.name }, report.format),
        format!("authors:     {}", list(&report.authors)),
        format!("licence:     {} {}", report.licence, report.licence_url),
        format!(
            "geometry:    {} triangles, {} vertices, {} meshes, {} primitives, {} joints, {} morph targets",
            report.triangles, report.vertices, report.meshes, report.primitives, report.joints, report.morph_targets
        ),
        format!(
            "materials:   {}, {} textures ({} kB decoded)",
            report.materials,
            report.textures,
            report.texture_bytes / 1024
        ),
        format!("bones:       {}", report.bones.len()),
        format!("gaze:        {}", report.gaze),
        format!(
            "springs:     {} chains, {} joints, {} colliders",
            report.springs, report.spring_joints, report.colliders
        ),
        format!("constraints: {}", report.constraints),
        format!("corrections: {}", list(&report.corrections)),
        format!("expressions: {}", list(&report.expressions.iter().map(|e| e.name.clone()).collect::<Vec<_>>())),
    ];
    if !report.missing_required_bones.is_empty() {
        lines.push(format!("missing required bones: {}", report.missing_required_bones.join(", ")));
    }
    for missing in &report.missing_presets {
        lines.push(format!("missing {}: {}", missing.preset, missing.played_by));
    }
    lines.extend(report.warnings.iter().map(|w| format!("warning: {w}")));
    lines.join("\n")
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
