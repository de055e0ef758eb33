//! EGL through libglvnd on each topology: displays, configs, contexts, surfaces, threads, errors.
//!
//! Each case runs in a process of its own under `runahead run`.

mod common;

use std::thread;

use khronos_egl::{
    self as egl, Attrib, Context, Display, DynamicInstance, EGL1_5, Error, NativeWindowType, Surface,
};
use runahead_verify::apps::Screen;
use rustix::process::{Pid, Signal, kill_process};
use x11rb::connection::Connection as _;

type Egl = DynamicInstance<EGL1_5>;

const SURFACELESS: egl::Enum = 0x31DD;
const X11: egl::Enum = 0x31D5;
/// The variable with the XID of a root window.
const ROOT: &str = "TEST_ROOT_WINDOW";
const TOPOLOGIES: [&str; 3] = ["spawn", "inproc", "direct"];

#[track_caller]
fn on_each_topology(test: &str) {
    for topology in TOPOLOGIES {
        common::passed(&common::run(topology, test)).unwrap_or_else(|error| panic!("{topology}: {error}"));
    }
}

#[test]
fn lifetimes_and_errors_on_each_topology() {
    on_each_topology("lifetimes_and_errors");
}

#[test]
fn threads_on_each_topology() {
    on_each_topology("threads");
}

#[test]
fn nothing_starts_before_initialize_on_each_topology() {
    on_each_topology("nothing_starts_before_initialize");
}

#[test]
fn a_lost_server_shows_and_a_new_context_goes_on_spawn() {
    common::passed(&common::run("spawn", "a_lost_server_shows")).unwrap();
}

/// A program that asks what a swap answers is told, whatever it swaps.
#[test]
fn a_swap_tells_of_a_lost_server_on_spawn() {
    let screen = Screen::start().unwrap();
    let (x11, number) = x11rb::connect(Some(screen.display())).unwrap();
    let root = x11.setup().roots[number].root;
    let mut command = common::command("spawn", "a_swap_tells_of_a_lost_server");
    command.env("DISPLAY", screen.display()).env(ROOT, root.to_string());
    common::passed(&command.output().unwrap()).unwrap();
}

/// A case that fails is not taken for one that passed.
#[test]
fn a_failing_case_is_found() {
    common::passed(&common::run("inproc", "a_failing_case")).unwrap_err();
    common::passed(&common::run("inproc", "there_is_no_such_case")).unwrap_err();
}

fn load() -> Egl {
    // SAFETY: the system's dispatcher, which every EGL program loads.
    unsafe { Egl::load_required() }.expect("libEGL.so.1")
}

fn surfaceless(egl: &Egl) -> Display {
    // SAFETY: this platform has no native display.
    unsafe { egl.get_platform_display(SURFACELESS, egl::DEFAULT_DISPLAY, &[egl::ATTRIB_NONE as Attrib]) }
        .expect("a display")
}

const CONFIG: [egl::Int; 9] = [
    egl::SURFACE_TYPE,
    egl::PBUFFER_BIT,
    egl::RENDERABLE_TYPE,
    egl::OPENGL_ES2_BIT,
    egl::RED_SIZE,
    8,
    egl::ALPHA_SIZE,
    8,
    egl::NONE,
];
const ES2: [egl::Int; 3] = [egl::CONTEXT_CLIENT_VERSION, 2, egl::NONE];
const ES3: [egl::Int; 3] = [egl::CONTEXT_CLIENT_VERSION, 3, egl::NONE];
const SIZE: [egl::Int; 5] = [egl::WIDTH, 16, egl::HEIGHT, 8, egl::NONE];

/// A display with a context and a surface.
fn set_up(egl: &Egl) -> (Display, egl::Config, Context, Surface) {
    let display = surfaceless(egl);
    egl.initialize(display).unwrap();
    let config = egl.choose_first_config(display, &CONFIG).unwrap().expect("a config");
    let context = egl.create_context(display, config, None, &ES2).unwrap();
    let surface = egl.create_pbuffer_surface(display, config, &SIZE).unwrap();
    (display, config, context, surface)
}

#[test]
#[ignore = "a case of the tests above"]
fn lifetimes_and_errors() {
    let egl = load();
    let display = surfaceless(&egl);
    assert_eq!(display, surfaceless(&egl), "a display has one handle");
    assert_eq!(egl.query_string(Some(display), egl::VENDOR), Err(Error::NotInitialized));
    assert_eq!(egl.initialize(display), Ok((1, 4)));
    assert_eq!(egl.initialize(display), Ok((1, 4)), "again");
    assert_eq!(egl.query_string(Some(display), egl::VENDOR).unwrap().to_str(), Ok("Runahead"));
    let config = egl.choose_first_config(display, &CONFIG).unwrap().expect("a config");
    assert_eq!(egl.get_config_attrib(display, config, egl::RED_SIZE), Ok(8));
    assert_eq!(egl.get_config_attrib(display, config, egl::NONE), Err(Error::BadAttribute));
    assert_eq!(egl.create_context(display, config, None, &ES3), Err(Error::BadConfig));
    // SAFETY: handles are numbers, and are looked up.
    let no_context = unsafe { Context::from_ptr(9 as *mut _) };
    // SAFETY: as above.
    let no_surface = unsafe { Surface::from_ptr(9 as *mut _) };
    // SAFETY: as above.
    let no_config = unsafe { egl::Config::from_ptr(0x0FFF_FFFF as *mut _) };
    assert_eq!(egl.get_config_attrib(display, no_config, egl::RED_SIZE), Err(Error::BadConfig));
    assert_eq!(egl.create_context(display, config, Some(no_context), &ES2), Err(Error::BadContext));
    let first = egl.create_context(display, config, None, &ES2).unwrap();
    let second = egl.create_context(display, config, Some(first), &ES2).unwrap();
    let negative = [egl::WIDTH, -1, egl::NONE];
    assert_eq!(egl.create_pbuffer_surface(display, config, &negative), Err(Error::BadParameter));
    let surface = egl.create_pbuffer_surface(display, config, &SIZE).unwrap();
    assert_eq!(egl.query_surface(display, surface, egl::WIDTH), Ok(16));
    assert_eq!(egl.query_surface(display, surface, egl::HEIGHT), Ok(8));

    let current = |draw, read, context| egl.make_current(display, draw, read, context);
    assert_eq!(current(Some(surface), None, Some(first)), Err(Error::BadMatch));
    assert_eq!(current(Some(surface), Some(surface), None), Err(Error::BadMatch));
    assert_eq!(current(Some(no_surface), Some(no_surface), Some(first)), Err(Error::BadSurface));
    assert_eq!(current(None, None, Some(no_context)), Err(Error::BadContext));
    current(Some(surface), Some(surface), Some(first)).unwrap();
    assert_eq!(egl.query_context(display, first, egl::CONTEXT_CLIENT_VERSION), Ok(2));
    egl.swap_interval(display, 0).unwrap();
    egl.swap_buffers(display, surface).unwrap();
    egl.wait_client().unwrap();
    assert_eq!(egl.wait_native(0x99), Err(Error::BadParameter));
    current(Some(surface), Some(surface), Some(second)).unwrap();
    current(None, None, Some(second)).unwrap();
    assert_eq!(egl.swap_buffers(display, surface), Err(Error::BadSurface), "it is not current");
    current(Some(surface), Some(surface), Some(first)).unwrap();

    egl.destroy_context(display, first).unwrap();
    egl.destroy_surface(display, surface).unwrap();
    assert_eq!(egl.destroy_context(display, first), Err(Error::BadContext));
    assert_eq!(egl.destroy_surface(display, surface), Err(Error::BadSurface));
    assert_eq!(egl.get_current_context(), Some(first), "it lives while it is current");
    egl.terminate(display).unwrap();
    assert_eq!(egl.query_string(Some(display), egl::VENDOR), Err(Error::NotInitialized));
    current(None, None, None).unwrap();

    egl.initialize(display).unwrap();
    assert_eq!(current(None, None, Some(second)), Err(Error::BadContext), "it went with the first time");
    let shared = egl.create_context(display, config, None, &ES2).unwrap();
    current(None, None, Some(shared)).unwrap();
    for _ in 0..40 {
        let another = egl.create_context(display, config, Some(shared), &ES2).unwrap();
        egl.destroy_context(display, another).unwrap();
    }
    // The process ends with a current context.
}

#[test]
#[ignore = "a case of the tests above"]
fn threads() {
    let egl = load();
    let (display, config, context, surface) = set_up(&egl);
    // Handles are numbers.
    let (d, c, s) = (display.as_ptr() as usize, context.as_ptr() as usize, surface.as_ptr() as usize);
    let take = move |egl: &Egl| {
        // SAFETY: handles that EGL gave, as numbers.
        let display = unsafe { Display::from_ptr(d as *mut _) };
        // SAFETY: as above.
        let context = unsafe { Context::from_ptr(c as *mut _) };
        // SAFETY: as above.
        let surface = unsafe { Surface::from_ptr(s as *mut _) };
        egl.make_current(display, Some(surface), Some(surface), Some(context))
    };
    take(&egl).unwrap();
    thread::spawn(move || assert_eq!(take(&load()), Err(Error::BadAccess), "it is current elsewhere"))
        .join()
        .unwrap();
    egl.make_current(display, None, None, None).unwrap();
    thread::spawn(move || {
        let egl = load();
        take(&egl).unwrap();
        egl.release_thread().unwrap();
    })
    .join()
    .unwrap();
    thread::spawn(move || take(&load()).unwrap()).join().unwrap();
    take(&egl).expect("a thread that ended has let go of it");
    // Many contexts of one group and of many, each on a thread of its own, again and again.
    let all: Vec<_> = (0..8)
        .map(|at| {
            let share = (at % 2 == 0).then_some(context);
            let context = egl.create_context(display, config, share, &ES2).unwrap().as_ptr() as usize;
            thread::spawn(move || {
                let egl = load();
                for _ in 0..100 {
                    // SAFETY: as above.
                    let display = unsafe { Display::from_ptr(d as *mut _) };
                    // SAFETY: as above.
                    let context = unsafe { Context::from_ptr(context as *mut _) };
                    egl.make_current(display, None, None, Some(context)).unwrap();
                    egl.wait_client().unwrap();
                    egl.make_current(display, None, None, None).unwrap();
                }
            })
        })
        .collect();
    for one in all {
        one.join().unwrap();
    }
    // Destroyed while current on another thread.
    let (ready, go) =
        (std::sync::Arc::new(std::sync::Barrier::new(2)), std::sync::Arc::new(std::sync::Barrier::new(2)));
    egl.make_current(display, None, None, None).unwrap();
    let other = {
        let (ready, go) = (ready.clone(), go.clone());
        thread::spawn(move || {
            let egl = load();
            take(&egl).unwrap();
            ready.wait();
            go.wait();
            egl.wait_client().unwrap();
        })
    };
    ready.wait();
    egl.destroy_context(display, context).unwrap();
    egl.destroy_surface(display, surface).unwrap();
    go.wait();
    other.join().unwrap();
    assert_eq!(take(&egl), Err(Error::BadContext));
}

/// Threads of this process, and the server processes that it has started.
fn started() -> (usize, usize) {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
    (threads, servers().len())
}

/// Sockets tell: a server's is the only one of a pair that this process has, so its peer is asked for.
fn servers() -> Vec<u32> {
    let own = std::process::id();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|process| {
            let arguments = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            // Its standard error is this process's, which the tests beside this one do not share.
            let error = |process: u32| std::fs::read_link(format!("/proc/{process}/fd/2")).ok();
            arguments.starts_with(b"runahead-server\0")
                && error(*process).is_some()
                && error(*process) == error(own)
        })
        .collect()
}

fn kill_the_server() {
    let servers = servers();
    let [server] = *servers else { panic!("one server: {servers:?}") };
    kill_process(Pid::from_raw(server.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

#[test]
#[ignore = "a case of the tests above"]
fn nothing_starts_before_initialize() {
    let egl = load();
    let before = started();
    let display = surfaceless(&egl);
    let _ = egl.query_string(None, egl::EXTENSIONS);
    assert_eq!(started(), before, "naming a display started something");
    egl.initialize(display).unwrap();
    let after = started();
    match std::env::var("RUNAHEAD_TOPOLOGY").as_deref() {
        Ok("spawn") => assert_eq!(after.1, before.1 + 1),
        Ok("inproc") => assert!(after.0 > before.0),
        _ => assert_eq!(after.1, before.1),
    }
}

#[test]
#[ignore = "a case of the tests above"]
fn a_lost_server_shows() {
    let egl = load();
    let (display, config, context, surface) = set_up(&egl);
    // By way of none: libglvnd answers itself where nothing changes.
    let current = |context| {
        egl.make_current(display, None, None, None).unwrap();
        egl.make_current(display, Some(surface), Some(surface), Some(context))
    };
    current(context).unwrap();
    kill_the_server();
    // The kernel tells; nothing here asks for a time.
    let mut asked = 0;
    while current(context).is_ok() {
        asked += 1;
        assert!(asked < 10_000, "the loss does not show");
        thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(current(context), Err(Error::ContextLost));
    egl.wait_client().unwrap();
    let again = egl.create_context(display, config, None, &ES2).expect("another server");
    assert_eq!(servers().len(), 1, "the new one, and the old one is gone");
    current(again).expect("the surface is made again");
    egl.destroy_context(display, context).unwrap();
}

#[test]
#[ignore = "a case of the tests above"]
fn a_swap_tells_of_a_lost_server() {
    let egl = load();
    let root: usize = std::env::var(ROOT).unwrap().parse().unwrap();
    // SAFETY: the default display of the environment, which the library opens itself.
    let display =
        unsafe { egl.get_platform_display(X11, egl::DEFAULT_DISPLAY, &[egl::ATTRIB_NONE as Attrib]) };
    let display = display.unwrap();
    egl.initialize(display).unwrap();
    let wanted = [
        egl::SURFACE_TYPE,
        egl::WINDOW_BIT | egl::PBUFFER_BIT,
        egl::RENDERABLE_TYPE,
        egl::OPENGL_ES2_BIT,
        egl::RED_SIZE,
        8,
        egl::NONE,
    ];
    let config = egl.choose_first_config(display, &wanted).unwrap().expect("a config");
    let context = egl.create_context(display, config, None, &ES2).unwrap();
    // SAFETY: an XID is a number, and this one is the root window's, which lives as long as its server.
    let window =
        unsafe { egl.create_window_surface(display, config, root as NativeWindowType, None) }.unwrap();
    let pbuffer = egl.create_pbuffer_surface(display, config, &SIZE).unwrap();
    let current = |surface| egl.make_current(display, Some(surface), Some(surface), Some(context));
    current(window).unwrap();
    for _ in 0..5 {
        egl.swap_buffers(display, window).unwrap();
    }
    current(pbuffer).unwrap();
    egl.swap_buffers(display, pbuffer).unwrap();
    current(window).unwrap();
    kill_the_server();
    let lost = (0..10_000).find_map(|_| {
        thread::sleep(std::time::Duration::from_millis(1));
        egl.swap_buffers(display, window).err()
    });
    assert_eq!(lost, Some(Error::ContextLost));
    assert_eq!(egl.swap_buffers(display, window), Err(Error::ContextLost), "again");
    assert_eq!(current(pbuffer), Err(Error::ContextLost));
}

#[test]
#[ignore = "a case of the tests above"]
fn a_failing_case() {
    panic!("negative control");
}
