extension BatchRun {
    /// Returns the device token of the entry at `index`, which must be no broadcast, rebuilt from its bytes.
    package func device(at index: Int) -> DeviceToken {
        let entry = self.entries[index]
        assert(!entry.fields.isBroadcast, "a broadcast has no device")
        return DeviceToken(unchecked: self.slice(at: Int(entry.offset), count: Int(entry.tokenLength)))
    }

    /// Returns the notification of the entry at `index`, rebuilt from its bytes.
    package func notification(at index: Int) -> PushNotification {
        let entry = self.entries[index]
        let payload = Int(entry.offset) + Int(entry.tokenLength)
        let topic = payload + Int(entry.payloadLength)
        let collapseID = topic + Int(entry.topicLength)
        let apnsID = collapseID + Int(entry.collapseIDLength)
        return PushNotification(
            uncheckedPayload: Array(self.slice(at: payload, count: Int(entry.payloadLength))),
            topic: self.string(at: topic, count: Int(entry.topicLength)),
            pushType: PushType(code: entry.pushType),
            priority: Priority(rawValue: entry.priority),
            expiration: entry.fields.hasExpiration ? Expiration(epochSeconds: entry.expiration) : nil,
            collapseID: self.string(at: collapseID, count: Int(entry.collapseIDLength)),
            apnsID: entry.fields.hasAPNSID ? APNSID(reading: self.storage.arena + apnsID) : nil
        )
    }

    /// Calls `body` with the topic of the entry at `index`, which is empty if it names none.
    package func withTopic<Result>(at index: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        let entry = self.entries[index]
        let offset = Int(entry.offset) + Int(entry.tokenLength) + Int(entry.payloadLength)
        return body(self.slice(at: offset, count: Int(entry.topicLength)))
    }

    private func slice(at offset: Int, count: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: self.storage.arena + offset, count: count)
    }

    private func string(at offset: Int, count: Int) -> String? {
        count == 0 ? nil : String(decoding: self.slice(at: offset, count: count), as: UTF8.self)
    }
}
