// Package rollout is the planner: pure functions from a Rollout, its targets, a verb or the passing of time, and the time itself, to the
// next status, or to the reason why not. Who stores the status and publishes the slices calls it; it reads no clock and does no I/O.
//
// A run pins its targets in their order and lets them through step by step. A step that has begun has a size; it is filled from the
// order, passing over who does not report. What is stored is the membership of every recorded revision, so that abort and rollback
// need nothing but the status.
//
// Apply follows a verb, Feedback notes outcomes, Tick does what is due, and Preview says what a step would do. Whoever stores the status
// ticks when the fleet, the targets or the spec changed, and at Result.Next; a tick that finds nothing to do says so, and is not stored.
// Table has what every verb does in every phase.
//
// It may import apimachinery and pkg/apis only.
package rollout
