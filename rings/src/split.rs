//! A record ring within one process, without unsafe code of the caller.

use crate::{ClientPage, Fault, InPlace, Producer, Region, ServerPage, client, server};

/// A command ring over memory of the caller: a power of two of bytes.
///
/// The exclusive borrows make it safe: nothing else reaches the memory or the pages while the halves live.
///
/// # Errors
/// [`Fault::Mismatch`] if the length is no power of two of at least [`Region::MIN`] bytes.
pub fn split<'a>(
    memory: &'a mut [u64],
    client_page: &'a mut ClientPage,
    server_page: &'a mut ServerPage,
) -> Result<(Producer<'a>, InPlace<'a>), Fault> {
    let region = Region::from_words(memory)?;
    let (client_page, server_page) = (&*client_page, &*server_page);
    // SAFETY: the only producer, and the one reading half below has the same pages.
    let producer = unsafe { client::commands(client_page, server_page, region) };
    // SAFETY: the only consumer, and `Producer` keeps the protocol.
    let consumer = unsafe { server::commands_in_place(server_page, client_page, region) };
    Ok((producer, consumer))
}
