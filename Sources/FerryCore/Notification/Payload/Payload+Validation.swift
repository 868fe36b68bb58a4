extension Payload {
    /// Returns every fault that keeps the payload from being built.
    func faults() -> [PushValidationError.Fault] {
        var faults: [PushValidationError.Fault] = []
        func check(_ holds: Bool, _ code: PushValidationError.Code, _ message: @autoclosure () -> String) {
            if !holds { faults.append(.init(code, message())) }
        }

        if let badge = self.badge {
            check(badge >= 0, .badPayloadField, "the badge is negative")
        }
        if case .critical(_, let volume) = self.sound {
            check(0...1 ~= volume, .badPayloadField, "the sound's volume is not within 0…1")
        }
        if let score = self.relevanceScore {
            if self.liveActivity == nil {
                check(0...1 ~= score, .badPayloadField, "the relevance score is not within 0…1")
            } else {
                check(score.isFinite, .badPayloadField, "the relevance score is not a number")
            }
        }
        if let magic = self.mdmPushMagic {
            check(!magic.isEmpty, .badPayloadField, "the MDM push magic is empty")
            check(!self.hasAPS, .conflictingPayloadFields, "an MDM payload has no aps")
            check(self.custom["mdm"] == nil, .conflictingPayloadFields, "mdm is given twice")
        }
        if let activity = self.liveActivity {
            let hasState = activity.contentState != nil || activity.event == .end
            check(hasState, .badPayloadField, "the Live Activity has no content state")
            if case .start(let type, _) = activity.event {
                check(!type.isEmpty, .badPayloadField, "the type of the Live Activity's attributes is empty")
            }
        }
        check(self.custom["aps"] == nil, .conflictingPayloadFields, "aps is not a custom member")
        for name in self.apsExtras.keys.sorted() where Self.apsMembers.contains(name) {
            check(false, .conflictingPayloadFields, "\(name) has a field of its own and is not an extra of aps")
        }
        return faults
    }

    /// The members of `aps` that have a field.
    private static let apsMembers: Set<String> = [
        "alert", "badge", "sound", "thread-id", "category", "content-available", "mutable-content",
        "target-content-id", "interruption-level", "relevance-score", "filter-criteria", "url-args",
        "timestamp", "event", "content-state", "stale-date", "dismissal-date", "attributes-type", "attributes",
    ]
}
