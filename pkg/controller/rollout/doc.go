// Package rollout is the loop that moves rollouts when nobody asks: it has each unfinished one ticked at the time that its last tick named,
// when it was written, and every few seconds for what nobody writes: a cluster that falls silent, targets that change.
//
// One replica at a time does it, the holder of a lease in etcd. The lease saves work and conflicts; it guarantees nothing. That a step which
// is due is taken once follows from the tick, which decides on what is stored and stores what it decided by compare-and-swap: of two that
// are at it at the same moment, one finds the step taken. So nothing goes wrong when a holder is stopped for longer than its lease between
// two instructions, or when clocks jump. Such a holder does notice before its next tick, since it asks etcd for its key before each.
//
// At its start every replica, holder or not, ticks once all that is unfinished, so that slices which a crash left half written are repaired
// without waiting for the lease of the one that crashed. What falls due while that lease may last is done on time in the same way.
//
// Nothing is written while time merely passes: a lease is kept alive without a write.
//
// It may import etcd's client, client-go's workqueue, component-base, pkg/rollout and pkg/apis only.
package rollout
