/// The payload of a notification, field by field: the typed way to the JSON of a ``PushNotification``.
///
/// A value: building the JSON changes nothing, two payloads never share a field, and a field that is set to nil is
/// gone. The fields are not checked until the JSON is built. Then every fault is found at once.
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
/// Names are ordered by their bytes in UTF-8. An `aps` without a member is left out too, so the empty payload is `{}`.
///
/// Source of the fields: "Generating a remote notification", "Starting and updating Live Activities with ActivityKit
/// push notifications" and "Sending MDM push notifications" (Apple).
public struct Payload: Hashable, Sendable {
    /// The alert that the device shows.
    public var alert: Alert?
    /// The number on the app's icon; 0 removes it. Nil leaves it as it is.
    public var badge: Int?
    /// The sound that the device plays.
    public var sound: Sound?
    /// Notifications with the same thread are grouped.
    public var threadID: String?
    /// The category that decides which actions the notification offers.
    public var category: String?
    /// Wakes the app in the background. Alone, without alert, badge and sound, it needs ``Priority/powerAware``.
    public var isContentAvailable = false
    /// Lets the app's service extension change the notification before it is shown.
    public var isMutableContent = false
    /// The window that comes to the front.
    public var targetContentID: String?
    /// The level of interruption that the notification may cause.
    public var interruptionLevel: InterruptionLevel?
    /// The place of the notification in a summary (0…1), or of a Live Activity among others of its app (any number).
    public var relevanceScore: Double?
    /// The text that the system compares with the current Focus.
    public var filterCriteria: String?
    /// Safari: the values for the placeholders of the website's URL.
    public var urlArguments: [String]?
    /// Starts, updates or ends a Live Activity.
    public var liveActivity: LiveActivity?
    /// Wakes a device for its MDM server: the push magic from the device's enrolment. Such a payload has no `aps`.
    public var mdmPushMagic: String?
    /// Members of `aps` for which Ferry has no field. A member for which it has one is a fault.
    public var apsExtras: [String: JSONFragment] = [:]
    /// The app's own members, beside `aps`. The name `aps` itself is a fault.
    public var custom: [String: JSONFragment] = [:]

    /// - Parameters:
    ///   - alert: the alert that the device shows.
    ///   - badge: the number on the app's icon.
    ///   - sound: the sound that the device plays.
    public init(alert: Alert? = nil, badge: Int? = nil, sound: Sound? = nil) {
        self.alert = alert
        self.badge = badge
        self.sound = sound
    }

    /// The level of interruption that a notification may cause.
    @nonexhaustive
    public enum InterruptionLevel: String, CaseIterable, Hashable, Sendable {
        /// Appears in the list, without a sound or a lit screen.
        case passive
        /// Plays a sound and lights the screen at once. The default of devices.
        case active
        /// Like active, and breaks through Focus.
        case timeSensitive = "time-sensitive"
        /// Plays a sound even when the device is muted. Apple grants it to few apps.
        case critical
    }

    /// The sound that the device plays.
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
