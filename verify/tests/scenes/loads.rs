//! What a renderer does in bulk: a world that loads, and objects that come and go.
//!
//! `LIFETIMES=N` asks for more of the latter.

use std::{fs, process::Command};

use runahead_backend_gles::Gles;
use runahead_core::{
    RecordError, Session, counters::Cause, link::Patience, reply_space, slots::Band, slots::SlotSpace, upload,
};
use runahead_linux::{
    control::message::{ContextAttributes, SurfaceOp},
    native::gles::WindowSystem,
    session::{Client, Topology},
    storage::Heap,
};
use runahead_rings::{Status, Watermark};
use runahead_verify::scenes::SIDE;
use runahead_wire::{
    Bulk, Handle,
    format::Format,
    handle::Kind,
    payload::*,
    pipe::Pipe,
    values::{
        BufferUsage, Filter, InvalidateTarget, MipFilter, PixelFormat, PixelType, ResourceTarget,
        StorageKind, Wrap,
    },
    zerocopy::IntoBytes,
};

use crate::run::{Arm, Told, open};

/// Opens a session, makes a context current.
fn client(topology: Topology) -> (Client<Gles, Told>, Told) {
    let (mut client, told) = open(Arm::on(topology), &WindowSystem::Surfaceless);
    client.create_context(1, None, ContextAttributes::gles(2, 0)).expect("a context");
    let config = client.configs().iter().find(|config| config.pbuffer).expect("a config").id;
    client.surface(1, SurfaceOp::CreatePbuffer { config, width: SIDE, height: SIDE }).expect("a surface");
    client
        .pipe()
        .bind_context(&BindContext { context: 1, draw_surface: 1, read_surface: 1 })
        .expect("recorded");
    (client, told)
}

fn texture_of(resource: Handle, width: u32, height: u32) -> ResourceDesc {
    ResourceDesc {
        resource,
        target: ResourceTarget::Texture2D.raw() as u8,
        storage_kind: StorageKind::Mipmap.raw() as u8,
        internal_format: Format::Rgba8.raw(),
        width,
        height,
        depth: 1,
        levels: 1,
        array_layers: 1,
        ..ResourceDesc::default()
    }
}

fn buffer_of(resource: Handle, size: u64) -> ResourceDesc {
    ResourceDesc {
        resource,
        target: ResourceTarget::Buffer.raw() as u8,
        storage_kind: StorageKind::Buffer.raw() as u8,
        buf_size: size,
        usage: BufferUsage::StaticDraw.raw(),
        ..ResourceDesc::default()
    }
}

/// A sampler, as textures have one built in.
fn sampler(pipe: &mut impl Pipe<Error = RecordError>, slots: &mut SlotSpace<Heap>) -> Handle {
    let parameters = SamplerParameters {
        wrap_s: Wrap::ClampToEdge.raw(),
        wrap_t: Wrap::ClampToEdge.raw(),
        wrap_r: Wrap::ClampToEdge.raw(),
        min_filter: Filter::Nearest.raw(),
        mag_filter: Filter::Nearest.raw(),
        mip_filter: MipFilter::None.raw(),
        min_lod: -1000.0,
        max_lod: 1000.0,
        max_anisotropy: 1.0,
        ..SamplerParameters::default()
    };
    let desc = |cso| SamplerDesc { cso, ..SamplerDesc::default() };
    slots
        .mint_with(Band::Sampler, 1, |cso| {
            pipe.create_sampler_state(&desc(cso), Bulk::Bytes(parameters.as_bytes()))
        })
        .expect("a slot")
}

/// The texels of a whole texture, by way of the server.
fn texels(pipe: &mut impl Session, resource: Handle, width: u32, height: u32) -> Vec<u8> {
    let size = width * height * 4;
    let pending = pipe.ask(size).expect("reply space");
    let read = ReadbackInfo {
        resource,
        region: TexelBox { width, height, depth: 1, ..TexelBox::default() },
        format: PixelFormat::Rgba.raw(),
        pixel_type: PixelType::UnsignedByte.raw(),
        target: ResourceTarget::Texture2D.raw() as u8,
        dst_size: u64::from(size),
        ..ReadbackInfo::default()
    };
    pipe.get_texture_image(&read, Some(reply_space(&pending))).expect("recorded");
    let answer = pipe.wait_answer(&pending, Patience::Sleep).expect("an answer");
    assert_eq!(answer.status, Status::Ok);
    let mut bytes = vec![0; size as usize];
    pipe.copy_answer(&pending, answer, &mut bytes);
    pipe.release(pending).expect("it was answered");
    bytes
}

/// The frame in which the reference's heaviest program loads its world: what it cost that system were 55,428 waits for
/// replies at first, and 4,543 at last.
#[test]
fn a_world_loads_without_a_wait_for_an_answer() {
    const CREATES: u64 = 4_536;
    const RESPECIFIES: u64 = 20_633;
    const PARAMETERS: u64 = 18_056;
    const UPLOADS: u64 = 12_671;
    /// Texels of an upload; 101 MB in all.
    const SIZE: (u32, u32) = (64, 31);
    let fill = |number: u64| [number as u8, (number >> 8) as u8, 3, 255];
    for topology in [Topology::Inproc, Topology::Spawn] {
        let (mut client, told) = client(topology);
        let before = client.counters();
        let pipe = client.pipe();
        let mut slots = SlotSpace::<Heap>::default();
        let sampler = sampler(pipe, &mut slots);
        let (mut textures, mut buffers) = (Vec::new(), Vec::new());
        let mut content = vec![0; (SIZE.0 * SIZE.1 * 4) as usize];
        let mut filled = std::collections::BTreeMap::new();
        let piece = pipe.max_piece();
        // Each kind of work spread evenly over the creates.
        let (mut respecified, mut parameters, mut uploaded) = (0, 0, 0);
        for created in 1..=CREATES {
            if created % 3 == 0 {
                let mint = slots.mint_with(Band::Buffer, created, |resource| {
                    pipe.resource_create(&buffer_of(resource, 4096))
                });
                buffers.push(mint.expect("a slot"));
            } else {
                let mint = slots.mint_with(Band::Texture, created, |resource| {
                    pipe.resource_create(&texture_of(resource, 1, 1))
                });
                textures.push(mint.expect("a slot"));
            }
            let newest = textures.len() - 1;
            while respecified < RESPECIFIES * created / CREATES {
                respecified += 1;
                // Storages of textures above all, and some of buffers.
                match buffers.last().filter(|_| respecified % 4 == 0) {
                    Some(buffer) => {
                        pipe.resource_respecify(&buffer_of(*buffer, 4096 + respecified)).expect("recorded");
                    }
                    None => {
                        let texture = textures[newest];
                        pipe.resource_respecify(&texture_of(texture, SIZE.0, SIZE.1)).expect("recorded");
                        filled.remove(&newest);
                    }
                }
            }
            while parameters < PARAMETERS * created / CREATES {
                parameters += 1;
                let params = TextureParams {
                    resource: textures[newest],
                    builtin_sampler: sampler,
                    max_level: (parameters % 8) as u16,
                    swizzle: [0, 1, 2, 3],
                    min_lod: -1000.0,
                    max_lod: 1000.0,
                    ..TextureParams::default()
                };
                pipe.set_texture_params(&params).expect("recorded");
            }
            while uploaded < UPLOADS * created / CREATES {
                uploaded += 1;
                // One that was defined since it was created.
                let at = newest.saturating_sub(uploaded as usize % 2);
                let data = SubData {
                    resource: textures[at],
                    target: ResourceTarget::Texture2D.raw() as u8,
                    level_width: SIZE.0,
                    level_height: SIZE.1,
                    level_depth: 1,
                    ..SubData::default()
                };
                content.chunks_exact_mut(4).for_each(|texel| texel.copy_from_slice(&fill(uploaded)));
                let region = SubRegion { width: SIZE.0, height: SIZE.1, depth: 1, ..SubRegion::default() };
                let regions = [region];
                upload::texture(pipe, &data, &regions, Format::Rgba8, &content, piece).expect("recorded");
                filled.insert(at, uploaded);
            }
        }
        assert_eq!((respecified, parameters, uploaded), (RESPECIFIES, PARAMETERS, UPLOADS));
        pipe.publish();
        let counted = client.counters().since(&before);
        let context = format!("{topology:?}: {counted:?}");
        assert_eq!(counted.of(Cause::Answer), (0, 0), "{context}");
        assert_eq!(counted.of(Cause::Watermark), (0, 0), "{context}");
        assert_eq!(counted.of(Cause::Control), (0, 0), "{context}");
        assert!(counted.stage_bytes > 100_000_000 && counted.records > 55_000, "{context}");
        // And all of it was done.
        let pipe = client.pipe();
        assert!(filled.len() > 2_000, "{}", filled.len());
        for (at, number) in filled.iter().step_by(200) {
            let wanted = fill(*number).repeat((SIZE.0 * SIZE.1) as usize);
            assert!(texels(pipe, textures[*at], SIZE.0, SIZE.1) == wanted, "{topology:?}: texture {at}");
        }
        let counted = client.counters().since(&before);
        assert!(counted.of(Cause::Answer).0 > 0, "negative control: a read waits: {counted:?}");
        client.close().expect("an orderly end");
        assert_eq!(told.complaints(), Vec::new());
    }
}

/// KiB that a process has in memory, and its descriptors.
fn held(process: u32) -> (u64, usize) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    let size = line.trim().trim_end_matches(" kB").parse().expect("a number");
    (size, fs::read_dir(format!("/proc/{process}/fd")).expect("a process").count())
}

/// Objects of every kind that has a driver's object: made, used for something that makes the twin, and ended. And one
/// that stays, with contents that come and go.
fn lifetimes(
    pipe: &mut impl Session,
    slots: &mut SlotSpace<Heap>,
    (sampler, kept): (Handle, Handle),
    count: u64,
) {
    let piece = pipe.max_piece();
    let texel = [7; 4 * 16];
    let drop = Invalidate {
        resource: kept,
        what: InvalidateTarget::Buffer.raw(),
        size: texel.len() as u64,
        ..Invalidate::default()
    };
    for number in 0..count {
        pipe.invalidate(&drop).expect("recorded");
        upload::buffer(pipe, kept, 0, &texel, piece).expect("recorded");
        pipe.resource_respecify(&buffer_of(kept, 64)).expect("recorded");
        upload::buffer(pipe, kept, 0, &texel, piece).expect("recorded");
        let (band, kind) =
            if number % 2 == 0 { (Band::Buffer, Kind::Buffer) } else { (Band::Texture, Kind::Texture) };
        let handle = slots
            .mint_with(band, number + 2, |resource| {
                pipe.resource_create(&match kind {
                    Kind::Buffer => buffer_of(resource, 64),
                    _ => texture_of(resource, 4, 4),
                })
            })
            .expect("a slot");
        if kind == Kind::Buffer {
            upload::buffer(pipe, handle, 0, &texel, piece).expect("recorded");
        } else {
            let params =
                TextureParams { resource: handle, builtin_sampler: sampler, ..TextureParams::default() };
            pipe.set_texture_params(&params).expect("recorded");
            let data = SubData {
                resource: handle,
                target: ResourceTarget::Texture2D.raw() as u8,
                level_width: 4,
                level_height: 4,
                level_depth: 1,
                ..SubData::default()
            };
            let region = SubRegion { width: 4, height: 4, depth: 1, ..SubRegion::default() };
            upload::texture(pipe, &data, &[region], Format::Rgba8, &texel, piece).expect("recorded");
        }
        pipe.resource_destroy(&HandleOnly { handle, kind: kind.raw(), ..HandleOnly::default() })
            .expect("recorded");
        slots.free(band, handle).expect("it was live");
    }
    let last = pipe.recorded();
    pipe.wait_for(Watermark::Retired, last, Patience::Sleep).expect("applied");
}

/// In a process of its own, since other tests take memory.
#[test]
fn lifetimes_leave_nothing_behind() {
    let own = std::env::current_exe().expect("this program");
    let arguments = ["--exact", "loads::program_with_lifetimes", "--ignored", "--test-threads=1"];
    let output = Command::new(own).args(arguments).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "a program of its own"]
fn program_with_lifetimes() {
    let count = std::env::var("LIFETIMES").ok().and_then(|count| count.parse().ok()).unwrap_or(200_000);
    let (mut client, told) = client(Topology::Spawn);
    let server = client.process().expect("a process of its own").number();
    let mut slots = SlotSpace::<Heap>::default();
    let sampler = sampler(client.pipe(), &mut slots);
    let kept = slots.mint_with(Band::Buffer, 1, |kept| client.pipe().resource_create(&buffer_of(kept, 64)));
    let used = (sampler, kept.expect("a slot"));
    // Once around the stage, whose pages are fresh before.
    lifetimes(client.pipe(), &mut slots, used, 200_000);
    let before = [held(std::process::id()), held(server)];
    lifetimes(client.pipe(), &mut slots, used, count);
    let after = [held(std::process::id()), held(server)];
    for ((before, after), who) in before.into_iter().zip(after).zip(["client", "server"]) {
        assert!(after.0 < before.0 + 2048, "{who}: {before:?} KiB and descriptors became {after:?}");
        assert_eq!(after.1, before.1, "{who}");
    }
    client.close().expect("an orderly end");
    assert_eq!(told.complaints(), Vec::new());
}
