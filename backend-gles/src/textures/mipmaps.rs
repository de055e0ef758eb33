//! Generation of mipmaps.

use runahead_core::{
    backend::{Outcome, Scope},
    storage::Storage,
};
use runahead_wire::{
    format::Format,
    payload::MipPlan,
    values::{FormatFeatures, ResourceTarget},
};

use glow::HasContext;

use super::target;
use crate::{
    Gles,
    context::Native,
    formats,
    gl::{FAILED, Gl, UNSUPPORTED, gl},
};

impl Native {
    /// Generates mipmaps.
    pub(crate) fn generate_mipmap<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &mut Scope<'_, Gles, S>,
        plan: &MipPlan,
    ) -> Outcome {
        let Some(object) = scope.objects.textures.get_mut(plan.resource) else { return Err(FAILED) };
        let desc = &object.record.desc;
        let target = desc.target().and_then(target).ok_or(UNSUPPORTED)?;
        let format = desc.internal_format().unwrap_or(Format::Undefined);
        if !formats::features(gl, format).contains(FormatFeatures::GENERATE_MIPMAP) {
            return Err(UNSUPPORTED);
        }
        // Mesa has levels of a two-dimensional array of height 1 together where its storage stays, and else makes none.
        if desc.target() == Some(ResourceTarget::Texture1DArray) && !object.twin.sealed {
            return Err(UNSUPPORTED);
        }
        let name = object.twin.name(gl, self.home)?;
        self.units.work(gl, target, name)?;
        let last = plan.base_level.saturating_add(plan.level_count);
        object.twin.settled.unsettle(gl, target, plan.base_level, last);
        gl.clear_errors();
        gl!(gl, generate_mipmap(target));
        gl.outcome()
    }
}
