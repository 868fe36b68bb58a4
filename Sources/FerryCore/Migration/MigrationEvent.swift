/// An event of a migration itself, beside the events of its two sides.
@nonexhaustive
public enum MigrationEvent: Sendable, Hashable {
    /// Every device is on the side that the rule gives it, or on the other while that side is down.
    case moved
    /// Notifications wait because earlier ones of their devices have no outcome on this side yet. Sent once for a move, after
    /// 5 s.
    case waiting(for: ProviderSide, notifications: Int)
    /// The side is down. Its devices go over the other one while that works. `error` is its last trouble.
    case down(ProviderSide, ProviderError?)
    /// A group of devices tries a side that is down.
    case trial(ProviderSide)
    /// The side that was down works again, and its devices return.
    case up(ProviderSide)
    /// This many notifications that the side could not deliver go over the other one.
    case wentOver(from: ProviderSide, count: Int)
    /// A device no longer has the app.
    case gone(GoneDevice)
}

extension MigrationEvent: CustomStringConvertible {
    /// One short line: "HTTP/2 is down: …".
    public var description: String {
        switch self {
        case .moved: "all devices are on their side"
        case .waiting(let side, let count):
            "\(count) wait for earlier ones of their devices, which have no outcome over \(side)"
        case .down(let side, let error):
            "\(side) is down, and its devices go over the other side while that works"
                + (error.map { ": \($0.message)" } ?? "")
        case .trial(let side): "a group of devices tries \(side)"
        case .up(let side): "\(side) works again, and its devices return"
        case .wentOver(let side, let count): "\(count) that \(side) could not deliver go over the other side"
        case .gone(let device): "a device no longer has the app, says \(device.side)"
        }
    }
}
