internal import FerryMachine
internal import NIOCore

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#else
private import Darwin
#endif

extension Moment {
    /// The current time of both clocks.
    static var now: Moment {
        Moment(monotonic: .now(), epochSeconds: UInt32(clamping: time(nil)))
    }
}
