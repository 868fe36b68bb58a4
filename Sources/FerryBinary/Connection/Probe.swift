internal import NIOCore

/// A notification that the peer must reject. It is the last frame on its connection.
struct Probe {
    /// The reason for a probe. It decides what a missing answer means.
    enum Purpose {
        /// The end of a run. The peer was silent for a settle time before, so its silence may count.
        case end
        /// Proof during a run.
        case room
        /// Proof of a window of suspects. Without an answer they are sent again.
        case search
    }

    let sequence: UInt64
    let writtenAt: NIODeadline
    let purpose: Purpose
}
