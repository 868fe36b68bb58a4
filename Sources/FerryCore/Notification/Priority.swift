/// The urgency with which APNs delivers a notification. The raw value is the number in both protocols.
@nonexhaustive
public enum Priority: UInt8, CaseIterable, Hashable, Sendable {
    /// At once. The default of both protocols.
    case immediate = 10
    /// At a time that spares the device's battery. Required by `content-available` alone and by the push type
    /// `background`.
    case powerAware = 5
    /// Without ever waking the device. HTTP/2 only: the binary protocol sends it as 5.
    case low = 1
}
