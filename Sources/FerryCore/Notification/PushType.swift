/// The kind of notification that the device gets: the value of the HTTP/2 header `apns-push-type`.
///
/// The binary protocol has no such field and sends notifications of every type alike.
@nonexhaustive
public enum PushType: String, CaseIterable, Hashable, Sendable {
    /// Shows an alert, plays a sound or sets a badge. Topic: the bundle ID.
    case alert
    /// Wakes the app and shows the user nothing. Needs ``Priority/powerAware``.
    case background
    /// Asks for the user's location. Topic: the bundle ID and `.location-query`; provider tokens only.
    case location
    /// An incoming call. Topic: the bundle ID and `.voip`; up to 5,120 bytes.
    case voip
    /// Updates a watchOS complication. Topic: the bundle ID and `.complication`.
    case complication
    /// Signals a change to a File Provider extension. Topic: the bundle ID and `.pushkit.fileprovider`.
    case fileprovider
    /// Wakes a managed device for its MDM server. Topic: the UID of the MDM push certificate.
    case mdm
    /// Starts, updates or ends a Live Activity. Topic: the bundle ID and `.push-type.liveactivity`.
    case liveactivity
    /// A Push to Talk session. Topic: the bundle ID and `.voip-ptt`.
    case pushtotalk
    /// Reloads widgets. Topic: the bundle ID and `.push-type.widgets`.
    case widgets
    /// Reloads controls. Topic: the bundle ID and `.push-type.controls`.
    case controls

    /// A number from 1 for a batch entry, in which 0 means no push type.
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

    /// Creates the type with `code`; nil for 0 and for a code that no type has.
    package init?(code: UInt8) {
        guard let type = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = type
    }
}
