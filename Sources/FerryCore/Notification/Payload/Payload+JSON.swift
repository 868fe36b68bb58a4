extension Payload {
    /// Returns the JSON, in UTF-8 and without whitespace.
    ///
    /// The length is not checked, because the limit depends on the protocol. See ``trim(to:atWordEnd:)``.
    ///
    /// - Throws: ``PushValidationError`` with every fault: ``PushValidationError/Code/badPayloadField`` and
    ///   ``PushValidationError/Code/conflictingPayloadFields``.
    public func json() throws(PushValidationError) -> [UInt8] {
        let faults = self.faults()
        guard faults.isEmpty else { throw PushValidationError(faults) }
        return self.write()
    }

    /// Returns the JSON, even of faulty fields.
    func write() -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            if self.hasAPS {
                writer.member("aps") { $0.object(self.writeAPS) }
            }
            writer.member("mdm", self.mdmPushMagic)
            writer.members(self.custom)
        }
        return writer.bytes
    }

    /// Whether `aps` has a member.
    var hasAPS: Bool {
        var rest = self
        rest.custom = [:]
        rest.mdmPushMagic = nil
        return rest != Payload()
    }

    private func writeAPS(_ writer: inout JSONWriter) {
        self.writeAlert(to: &writer)
        writer.member("badge", self.badge)
        if self.soundOfLiveActivity == nil { self.writeSound(to: &writer) }
        writer.member("thread-id", self.threadID)
        writer.member("category", self.category)
        writer.member("content-available", self.isContentAvailable ? 1 : nil)
        writer.member("mutable-content", self.isMutableContent ? 1 : nil)
        writer.member("target-content-id", self.targetContentID)
        writer.member("interruption-level", self.interruptionLevel?.rawValue)
        writer.member("relevance-score", self.relevanceScore)
        writer.member("filter-criteria", self.filterCriteria)
        writer.member("url-args", self.urlArguments)
        if let activity = self.liveActivity { activity.write(to: &writer) }
        writer.members(self.apsExtras)
    }

    private func writeAlert(to writer: inout JSONWriter) {
        guard let alert = self.alert else { return }
        if self.liveActivity != nil {
            writer.member("alert") { writer in
                writer.object { writer in
                    alert.writeForLiveActivity(to: &writer)
                    writer.member("sound", self.soundOfLiveActivity)
                }
            }
        } else if let text = alert.plainText {
            writer.member("alert", text)
        } else {
            writer.member("alert") { $0.object(alert.write) }
        }
    }

    /// The sound for the alert of a Live Activity: ActivityKit looks for the sound there.
    private var soundOfLiveActivity: String? {
        guard self.liveActivity != nil, self.alert != nil, case .named(let name) = self.sound else { return nil }
        return name
    }

    private func writeSound(to writer: inout JSONWriter) {
        switch self.sound {
        case .named(let name):
            writer.member("sound", name)
        case .critical(let name, let volume):
            writer.member("sound") { writer in
                writer.object { writer in
                    writer.member("critical", 1)
                    writer.member("name", name)
                    writer.member("volume", volume)
                }
            }
        case nil:
            break
        }
    }
}

extension Payload.Alert {
    func write(to writer: inout JSONWriter) {
        writer.member("title", self.title)
        writer.member("subtitle", self.subtitle)
        writer.member("body", self.body)
        writer.member("launch-image", self.launchImage)
        writer.member("title-loc-key", self.titleLocKey)
        writer.member("title-loc-args", self.titleLocArgs)
        writer.member("subtitle-loc-key", self.subtitleLocKey)
        writer.member("subtitle-loc-args", self.subtitleLocArgs)
        writer.member("loc-key", self.locKey)
        writer.member("loc-args", self.locArgs)
        writer.member("action", self.action)
        writer.member("action-loc-key", self.actionLocKey)
    }

    /// Writes a localised text as an object in the place of the text, as ActivityKit takes it.
    func writeForLiveActivity(to writer: inout JSONWriter) {
        func text(_ name: String, _ text: String?, key: String?, args: [String]?) {
            guard let key else { return writer.member(name, text) }
            writer.member(name) { writer in
                writer.object { writer in
                    writer.member("loc-key", key)
                    writer.member("loc-args", args)
                }
            }
        }
        text("title", self.title, key: self.titleLocKey, args: self.titleLocArgs)
        text("subtitle", self.subtitle, key: self.subtitleLocKey, args: self.subtitleLocArgs)
        text("body", self.body, key: self.locKey, args: self.locArgs)
    }
}

extension Payload.LiveActivity {
    func write(to writer: inout JSONWriter) {
        writer.member("timestamp", self.timestamp.unixSeconds)
        writer.member("event", self.event.name)
        writer.member("content-state", self.contentState)
        writer.member("stale-date", self.staleDate?.unixSeconds)
        writer.member("dismissal-date", self.dismissalDate?.unixSeconds)
        if case .start(let type, let attributes) = self.event {
            writer.member("attributes-type", type)
            writer.member("attributes", attributes)
        }
    }
}

extension Payload.LiveActivity.Event {
    var name: String {
        switch self {
        case .start: "start"
        case .update: "update"
        case .end: "end"
        }
    }
}
