internal import FerryMachine
internal import FerryPlatform
internal import NIOCore

extension Moment {
    /// The current time of both clocks.
    static var now: Moment {
        Moment(monotonic: .now(), epochSeconds: UInt32(clamping: time(nil)))
    }
}
