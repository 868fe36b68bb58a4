extension PushNotification {
    /// Creates a notification with the JSON of a payload. Later changes of `payload` have no effect.
    ///
    /// Push type and priority are not taken from the payload's fields.
    ///
    /// - Throws: ``PushValidationError`` with every fault of the payload and of the other arguments.
    public init(
        _ payload: Payload,
        topic: String? = nil,
        pushType: PushType? = nil,
        priority: Priority? = nil,
        expiration: Expiration? = nil,
        collapseID: String? = nil,
        apnsID: APNSID? = nil
    ) throws(PushValidationError) {
        let json = payload.write()
        // Infinity and NaN are written as null. So a faulty payload is JSON too, and its length can be checked.
        try Self.check(json, topic: topic, collapseID: collapseID, knownFaults: payload.faults())
        self.init(
            uncheckedPayload: json,
            topic: topic,
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseID: collapseID,
            apnsID: apnsID
        )
    }

    /// Encodes any value as the payload, like ``JSONFragment/init(encoding:)``. It must become a JSON object.
    ///
    /// - Throws: ``PushValidationError``: ``PushValidationError/Code/encodingFailed`` alone when `payload` cannot be encoded,
    ///   otherwise every fault.
    public init(
        encoding payload: some Encodable,
        topic: String? = nil,
        pushType: PushType? = nil,
        priority: Priority? = nil,
        expiration: Expiration? = nil,
        collapseID: String? = nil,
        apnsID: APNSID? = nil
    ) throws(PushValidationError) {
        try self.init(
            json: JSONFragment(encoding: payload).bytes,
            topic: topic,
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseID: collapseID,
            apnsID: apnsID
        )
    }
}
