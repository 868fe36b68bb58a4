internal import FerryAppStore
public import FerryTesting

extension GatewayFileRecorder {
    /// Appends a line for an attempt to send a notification, whether or not it was successful; writes when 256 KiB have
    /// gathered.
    ///
    /// ```json
    /// {"notificationUUID":"…","notificationType":"DID_RENEW","subtype":null,"attempt":1,"attemptDate":1750000000000,
    ///  "sendAttemptResult":"SUCCESS","status":200,"duplicate":false,"delivery":"whole"}
    /// ```
    public func attempted(_ notification: SimulatedNotification, _ attempt: NotificationSender.Attempt) {
        let line: SimulatedJSON = [
            "notificationUUID": .text(notification.uuid),
            "notificationType": .text(notification.kind.type.rawValue),
            "subtype": notification.kind.subtype.map(SimulatedJSON.text) ?? .null,
            "attempt": .integer(Int64(attempt.number)),
            "attemptDate": .integer(attempt.date.millisecondsSince1970),
            "sendAttemptResult": .text(attempt.answer.result.rawValue),
            "status": attempt.answer.status.map { .integer(Int64($0)) } ?? .null,
            "duplicate": .bool(attempt.isDuplicate),
            "delivery": .text(attempt.delivery.rawValue),
        ]
        self.append(line: line.bytes)
    }
}
