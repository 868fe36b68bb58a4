package import FerryCore
internal import FerryPlatform

/// The derivation of the push type of a notification that names none.
///
/// Apple wants `apns-push-type` to "accurately reflect the contents of your notification's payload". Notifications for
/// the binary protocol have no push type. Ferry derives it where topic and payload allow only one:
///
/// | topic | payload | push type |
/// |---|---|---|
/// | ends in the suffix of a type, and is not the provider's own bundle ID | any | that type |
/// | no suffix, or none | a member `mdm`, and no `aps` | mdm |
/// | no suffix, or none | `aps` with `content-available` 1 and without `alert`, `badge` and `sound` | background |
/// | none; a default bundle ID exists | `aps` with `content-state`, and `event` start, update or end | liveactivity |
///
/// All other notifications stay without a type. A derived type never makes Ferry refuse a notification: location is not
/// derived without provider tokens, and a priority that the type does not take becomes 5, which every type takes.
extension RequestCheck {
    /// Returns the codes of push type and priority to send, for an entry whose bytes are in `arena`; 0 for none.
    package func typeAndPriority(of entry: BatchEntry, in arena: UnsafePointer<UInt8>) -> (type: UInt8, priority: UInt8)
    {
        guard entry.pushType == 0 else {
            let byDefault = self.table[entry.pushType]?.defaultPriority?.rawValue ?? 0
            return (entry.pushType, entry.priority == 0 ? byDefault : entry.priority)
        }
        let payload = arena + Int(entry.offset) + Int(entry.tokenLength)
        let type = self.derivedPushType(
            topic: UnsafeBufferPointer(start: payload + Int(entry.payloadLength), count: Int(entry.topicLength)),
            payload: UnsafeBufferPointer(start: payload, count: Int(entry.payloadLength))
        )
        guard let type, let rules = self.table[type.code] else { return (0, entry.priority) }
        guard entry.priority > 0 else { return (type.code, rules.defaultPriority?.rawValue ?? 0) }
        let isTaken = rules.takes(priority: entry.priority)
        return (type.code, isTaken ? entry.priority : Priority.powerAware.rawValue)
    }

    /// - Parameter topic: the topic; empty for a notification without one.
    package func derivedPushType(
        topic: UnsafeBufferPointer<UInt8>,
        payload: UnsafeBufferPointer<UInt8>
    ) -> PushType? {
        if !topic.isEmpty, !self.defaultTopic.isBundleID(topic) {
            for index in self.table.all.indices where self.table.all[index].suffix.ends(topic) {
                let rules = self.table.all[index]
                return rules.needsProviderToken && !self.usesTokens ? nil : rules.type
            }
        }
        guard payload.mayDecidePushType, let signs = PayloadSigns(payload) else { return nil }
        if signs.isLiveActivity { return topic.isEmpty && self.defaultTopic.exists ? .liveactivity : nil }
        if signs.hasMDM { return signs.hasAPS ? nil : .mdm }
        return signs.isBackground ? .background : nil
    }
}

/// The signs of the push type in a payload.
private struct PayloadSigns {
    private(set) var hasMDM = false
    private(set) var hasAPS = false
    private var isForApp = false
    private var isForUser = false
    private var hasState = false
    private var hasEvent = false

    var isBackground: Bool { self.isForApp && !self.isForUser }

    var isLiveActivity: Bool { self.hasState && self.hasEvent }

    /// Nil: the payload is no JSON object.
    init?(_ payload: UnsafeBufferPointer<UInt8>) {
        do throws(JSONFault) {
            var members = JSONMembers(payload)
            while let member = try members.next() {
                if member.key.equals("mdm", in: payload) {
                    self.hasMDM = true
                } else if member.key.equals("aps", in: payload) {
                    self.hasAPS = true
                    if member.value.kind == .object { try self.read(member.value.bytes(in: payload)) }
                }
            }
        } catch {
            return nil
        }
    }

    private mutating func read(_ aps: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        var members = JSONMembers(aps)
        while let member = try members.next() {
            let key = member.key
            if key.equals("content-available", in: aps) {
                self.isForApp = member.value.integer(in: aps) == 1
            } else if key.equals("alert", in: aps) || key.equals("badge", in: aps) || key.equals("sound", in: aps) {
                self.isForUser = true
            } else if key.equals("content-state", in: aps) {
                self.hasState = true
            } else if key.equals("event", in: aps), let event = member.value.text {
                self.hasEvent =
                    event.equals("start", in: aps) || event.equals("update", in: aps) || event.equals("end", in: aps)
            }
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether a payload has a key that may decide its push type. Few payloads have one, and parsing every payload
    /// would cost more than the rest of a request.
    fileprivate var mayDecidePushType: Bool {
        var rest = UnsafeRawBufferPointer(self)
        while let base = rest.baseAddress, let quote = memchr(base, Int32(UInt8(ascii: "\"")), rest.count) {
            rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(quote) - base + 1)...])
            if rest.begins(with: "content-") || rest.begins(with: "mdm\"") { return true }
        }
        return false
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func begins(with text: StaticString) -> Bool {
        guard let base = self.baseAddress, self.count >= text.utf8CodeUnitCount else { return false }
        return memcmp(base, text.utf8Start, text.utf8CodeUnitCount) == 0
    }
}
