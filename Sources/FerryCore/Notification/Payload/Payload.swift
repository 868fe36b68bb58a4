/// A notification's payload, field by field: the typed way to the JSON of a ``PushNotification``.
///
/// A value: building the JSON changes nothing, two payloads never share a field, and a field that is set to nil is gone.
/// Nothing is checked before the JSON is built; then every fault is found at once.
///
/// The same payload always gives the same bytes. Members stand in this order, and those without a value are left out:
///
/// ```
/// aps    alert badge sound thread-id category content-available mutable-content target-content-id
///        interruption-level relevance-score filter-criteria url-args
///        timestamp event content-state stale-date dismissal-date attributes-type attributes
///        and what stands in `apsExtras`, by name
/// mdm
/// and what stands in `custom`, by name
/// ```
///
/// Names are ordered by their bytes in UTF-8. An `aps` without a member is left out as well, so that the empty payload
/// is `{}`.
///
/// Source of the fields: "Generating a remote notification", "Starting and updating Live Activities with ActivityKit
/// push notifications" and "Sending MDM push notifications" (Apple).
public struct Payload: Hashable, Sendable {
    /// What the device shows.
    public var alert: Alert?
    /// The number on the app's icon; 0 removes it. Nil leaves it as it is.
    public var badge: Int?
    /// What the device plays.
    public var sound: Sound?
    /// Notifications with the same thread are grouped.
    public var threadID: String?
    /// The category that decides which actions the notification offers.
    public var category: String?
    /// Wakes the app in the background. Alone, without alert, badge and sound, it needs ``Priority/powerAware``.
    public var isContentAvailable = false
    /// Lets the app's service extension change the notification before it is shown.
    public var isMutableContent = false
    /// The window that is brought forward.
    public var targetContentID: String?
    /// How much the notification may interrupt.
    public var interruptionLevel: InterruptionLevel?
    /// Where the notification stands in a summary (0…1), or a Live Activity among others of its app (any number).
    public var relevanceScore: Double?
    /// What the system compares with the current Focus.
    public var filterCriteria: String?
    /// Safari: what the placeholders of the website's URL are filled with.
    public var urlArguments: [String]?
    /// Starts, updates or ends a Live Activity.
    public var liveActivity: LiveActivity?
    /// Wakes a device for its MDM server: the push magic that the device enrolled with. Such a payload has no `aps`.
    public var mdmPushMagic: String?
    /// Members of `aps` that Ferry has no field for. One that it has a field for is a fault.
    public var apsExtras: [String: JSONFragment] = [:]
    /// The app's own members, beside `aps`. `aps` itself is a fault.
    public var custom: [String: JSONFragment] = [:]

    /// - Parameters:
    ///   - alert: what the device shows.
    ///   - badge: the number on the app's icon.
    ///   - sound: what the device plays.
    public init(alert: Alert? = nil, badge: Int? = nil, sound: Sound? = nil) {
        self.alert = alert
        self.badge = badge
        self.sound = sound
    }

    /// How much a notification may interrupt.
    @nonexhaustive
    public enum InterruptionLevel: String, CaseIterable, Hashable, Sendable {
        /// Lands in the list without a sound or a lit screen.
        case passive
        /// Sounds and lights the screen at once. What devices do unless told otherwise.
        case active
        /// As active, and breaks through Focus.
        case timeSensitive = "time-sensitive"
        /// Sounds even when the device is muted. Apple grants it to few apps.
        case critical
    }

    /// What the device plays.
    @nonexhaustive
    public enum Sound: Hashable, Sendable, ExpressibleByStringLiteral {
        /// A sound file of the app; "default" is the system's sound.
        case named(String)
        /// A critical alert, which plays even when the device is muted. `volume` is 0…1.
        case critical(name: String, volume: Double)

        /// A sound file of the app, by its name.
        public init(stringLiteral name: String) {
            self = .named(name)
        }
    }
}
