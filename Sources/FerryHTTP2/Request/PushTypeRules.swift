package import FerryCore

/// APNs' rules for the notifications of one push type.
///
/// Source: "Sending notification requests to APNs" (Apple), the headers `apns-push-type`, `apns-topic` and
/// `apns-priority`, and the sizes of payloads.
package struct PushTypeRules: Sendable {
    package let type: PushType
    /// The value of `apns-push-type`.
    package let headerValue: StaticString
    /// The end of the topic, after the bundle ID.
    package let suffix: TopicSuffix
    /// The priority that is sent if the caller gave none; nil for no header, and APNs then assumes 10.
    package let defaultPriority: Priority?
    /// The largest payload in bytes.
    package let payloadLimit: Int
    /// Whether APNs takes the push type only with a provider token, not with a certificate.
    package let needsProviderToken: Bool
    /// One bit for the raw value of each priority that APNs takes.
    private let prioritySet: UInt16

    fileprivate init(
        _ type: PushType,
        _ headerValue: StaticString,
        suffix: TopicSuffix = .none,
        priorities: [Priority] = Priority.allCases,
        default defaultPriority: Priority? = nil,
        payloadLimit: Int = PayloadLimit.http2,
        needsProviderToken: Bool = false
    ) {
        self.type = type
        self.headerValue = headerValue
        self.suffix = suffix
        self.defaultPriority = defaultPriority
        self.payloadLimit = payloadLimit
        self.needsProviderToken = needsProviderToken
        self.prioritySet = priorities.reduce(0) { $0 | 1 << UInt16($1.rawValue) }
    }

    /// The priorities that APNs takes, the most urgent first.
    package var priorities: [Priority] { Priority.allCases.filter { self.takes(priority: $0.rawValue) } }

    /// Whether APNs takes a priority with this raw value. Do not ask for 0, which means no priority.
    package func takes(priority: UInt8) -> Bool {
        priority < UInt16.bitWidth && self.prioritySet & 1 << UInt16(priority) != 0
    }
}

/// The rules of all push types, by ``PushType/code``.
package struct PushTypeTable: Sendable {
    /// The rules in the order of ``PushType/code``, which begins at 1. The subscript relies on it.
    package let all: [PushTypeRules]

    /// The rules of the type with that code; nil for 0, which means no type, and for unknown codes.
    package subscript(code: UInt8) -> PushTypeRules? {
        let index = Int(code) - 1
        return self.all.indices.contains(index) ? self.all[index] : nil
    }

    /// - Parameter complicationSuffix: the suffix for complications. Sources disagree about it: Apple's page appends
    ///   `.complication` to the bundle ID. If that is refused, pass another suffix, or none.
    package init(complicationSuffix: TopicSuffix = TopicSuffix(".complication" as StaticString)) {
        self.all = PushType.allCases.map { Self.rules(of: $0, complicationSuffix) }
    }

    private static func rules(of type: PushType, _ complicationSuffix: TopicSuffix) -> PushTypeRules {
        switch type {
        // "If the notification requires immediate action from the user, set notification priority to 10; otherwise
        // use 5" is advice only. Priority 1 is for notifications that must not wake the device, and these are alerts.
        case .alert: PushTypeRules(type, "alert")
        // "Always use priority 5. Using priority 10 is an error." Without the header APNs would assume 10.
        case .background: PushTypeRules(type, "background", priorities: [.powerAware], default: .powerAware)
        // Apple's page offers it with token-based authentication only.
        case .location:
            PushTypeRules(type, "location", suffix: TopicSuffix(".location-query"), needsProviderToken: true)
        case .voip: PushTypeRules(type, "voip", suffix: TopicSuffix(".voip"), payloadLimit: PayloadLimit.voip)
        case .complication: PushTypeRules(type, "complication", suffix: complicationSuffix)
        case .fileprovider: PushTypeRules(type, "fileprovider", suffix: TopicSuffix(".pushkit.fileprovider"))
        // The topic is the UID of the MDM push certificate in any form, and no bundle ID.
        case .mdm: PushTypeRules(type, "mdm")
        // "Starting and updating Live Activities with ActivityKit push notifications" names 5 and 10 only.
        case .liveactivity:
            PushTypeRules(
                type,
                "liveactivity",
                suffix: TopicSuffix(".push-type.liveactivity"),
                priorities: [.immediate, .powerAware]
            )
        case .pushtotalk: PushTypeRules(type, "pushtotalk", suffix: TopicSuffix(".voip-ptt"))
        case .widgets: PushTypeRules(type, "widgets", suffix: TopicSuffix(".push-type.widgets"))
        case .controls: PushTypeRules(type, "controls", suffix: TopicSuffix(".push-type.controls"))
        }
    }
}
