//! Windows: what is presented is on the screen of a real X server, whoever applies.

use runahead_core::Session;
use runahead_linux::{
    control::message::{ContextAttributes, OperationError, SurfaceOp},
    native::gles::WindowSystem,
    session::{RequestError, Topology},
};
use runahead_verify::{
    apps::Screen,
    scenes::{Stage, Written},
};
use runahead_wire::payload::Present;
use x11rb::{
    connection::Connection as _,
    protocol::xproto::{ConfigureWindowAux, ConnectionExt as _, CreateWindowAux, WindowClass},
    rust_connection::RustConnection,
};

use crate::{
    run::{Arm, open},
    shaders::Compiler,
};

/// A window of a size, as an application makes it.
fn window(x11: &RustConnection, screen: usize, (width, height): (u16, u16)) -> u32 {
    let window = x11.generate_id().expect("an XID");
    let root = x11.setup().roots[screen].root;
    let class = WindowClass::INPUT_OUTPUT;
    let values = CreateWindowAux::new().override_redirect(1);
    x11.create_window(0, window, root, 0, 0, width, height, 0, class, 0, &values).expect("sent");
    x11.map_window(window).expect("sent").check().expect("a window");
    window
}

/// Presents frames of which each fifth one has a colour, and then does what each is followed by.
fn present<P: Session>(pipe: &mut P, compiler: &Compiler, then: [&mut dyn FnMut(); 3]) {
    let mut stage = Stage::new(pipe, compiler, Written::default(), (1, 1)).expect("a stage");
    let mut serials = 1..;
    for then in then {
        for serial in serials.by_ref().take(5) {
            stage.clear(if serial % 5 == 0 { [0.2, 0.4, 0.6, 1.0] } else { [1.0; 4] }).expect("recorded");
            let present = Present { frame_serial: serial, ..Present::default() };
            stage.pipe().present(&present, &[]).expect("the credit comes back");
        }
        stage.read().expect("everything before is done");
        then();
    }
}

const COLOR: [u8; 3] = [51, 102, 153];

/// The last pixel of a window in the corner of the screen, and the one behind it.
fn edge(screen: &Screen, width: u16, height: u16) -> ([u8; 3], [u8; 3]) {
    let image = screen.image().expect("an image");
    let pixel = |x: u16, y: u16| {
        let at = (usize::from(y) * image.width + usize::from(x)) * 3;
        image.rgb[at..at + 3].try_into().expect("three components")
    };
    (pixel(width - 1, height - 1), pixel(width, height))
}

#[test]
fn a_window_shows_what_is_presented_and_follows_its_size() {
    for topology in Topology::ALL {
        let screen = Screen::start().expect("a screen");
        let display = screen.display();
        let (x11, number) = x11rb::connect(Some(display)).expect("a connection");
        let xid = window(&x11, number, (160, 120));
        let arm = Arm::new(*topology);
        let (mut client, told) = open(arm, &WindowSystem::X11 { display: display.to_owned() });
        client.create_context(1, None, ContextAttributes::gles(2, 0)).expect("a context");
        let visual = x11.setup().roots[number].root_visual;
        let suits = client.configs().iter().find(|config| {
            config.window && config.samples == 0 && config.native_visual_id == visual && config.red == 8
        });
        let config = suits.expect("a config with the visual").id;
        let create =
            |display: &str, window| SurfaceOp::CreateWindow { config, display: display.into(), window };
        for (display, xid, error) in
            [(display, 0x7777_7777, OperationError::BadWindow), (":99999", xid, OperationError::Mismatch)]
        {
            match client.surface(1, create(display, xid)) {
                Err(RequestError::Failed(failure)) => assert_eq!(failure.error, error, "{failure}"),
                other => panic!("{other:?}"),
            }
        }
        let state = client.surface(1, create(display, xid)).expect("a surface");
        assert_eq!((state.width, state.height), (160, 120));
        client.surface(1, SurfaceOp::SetInterval { frames: 0 }).expect("an interval");
        let compiler = Compiler::new(&client.caps());
        let shows = |width, height| {
            let (last, behind) = edge(&screen, width, height);
            assert!(last == COLOR && behind != COLOR, "{}: {last:?} {behind:?}", topology.name());
        };
        let configure = |change: &ConfigureWindowAux| {
            x11.configure_window(xid, change).expect("sent").check().expect("there is the window");
        };
        present(
            client.pipe(),
            &compiler,
            [
                &mut || {
                    shows(160, 120);
                    // A move is no other size.
                    configure(&ConfigureWindowAux::new().x(1));
                },
                &mut || {
                    assert_eq!(told.sizes(), []);
                    configure(&ConfigureWindowAux::new().x(0).width(200).height(100));
                },
                &mut || {
                    assert_eq!(told.sizes(), [(200, 100)]);
                    shows(200, 100);
                },
            ],
        );
        client.surface(1, SurfaceOp::ReleaseWindow).expect("it lets go");
        client.surface(1, SurfaceOp::Destroy).expect("an end");
        client.close().expect("an orderly end");
    }
}
