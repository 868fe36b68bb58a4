/// What kind of notification the device gets: the value of the HTTP/2 header `apns-push-type`.
///
/// The binary protocol has no such field and sends notifications of every type alike.
@nonexhaustive
public enum PushType: String, CaseIterable, Hashable, Sendable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileprovider
    case mdm
    case liveactivity
    case pushtotalk
    case widgets
    case controls

    /// A number from 1 on for a batch entry, where 0 means that none was given.
    package var code: UInt8 {
        switch self {
        case .alert: 1
        case .background: 2
        case .location: 3
        case .voip: 4
        case .complication: 5
        case .fileprovider: 6
        case .mdm: 7
        case .liveactivity: 8
        case .pushtotalk: 9
        case .widgets: 10
        case .controls: 11
        }
    }

    package init?(code: UInt8) {
        guard let type = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = type
    }
}
