/// How urgently APNs delivers a notification. The raw value is the number on both wires.
@nonexhaustive
public enum Priority: UInt8, CaseIterable, Hashable, Sendable {
    /// At once. The default on both wires.
    case immediate = 10
    /// At a time that spares the device's battery. What `content-available` alone, and the push type `background`, need.
    case powerAware = 5
    /// Without ever waking the device. HTTP/2 only: the binary protocol sends it as 5.
    case low = 1
}
