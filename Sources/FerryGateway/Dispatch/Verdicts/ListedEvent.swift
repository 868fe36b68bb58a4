/// An event that has a line in the list of rejections.
struct ListedEvent: Sendable {
    var event: GatewayEvent
    /// The segment of the journal with the notification; nil if the gateway refused the notification when it was read,
    /// so that no segment has it.
    var segment: UInt64?
    /// The number of the notification, if this is its last line; otherwise nil.
    var job: JobID?
}
