/// An event that has a line in the list of rejections.
struct ListedEvent: Sendable {
    var event: GatewayEvent
    /// The ``Job/storedSegment`` of the notification; nil if the gateway refused the notification when it was read, so
    /// that no segment has it.
    var segment: UInt64?
    /// The number of the notification, if the line is the last one of this notification; nil for an earlier line, and
    /// for a faulty notification, which has no number.
    var job: JobID?
}
