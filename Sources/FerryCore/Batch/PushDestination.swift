/// The destination of a notification.
package enum PushDestination: Sendable {
    case device(DeviceToken)
    /// All devices that follow a broadcast channel.
    case channel(ChannelID)

    /// The bytes of the destination in a batch: the device token, or the text of the channel's identifier.
    package var bytes: [UInt8] {
        switch self {
        case .device(let device): device.bytes
        case .channel(let channel): Array(channel.rawValue.utf8)
        }
    }

    var fields: BatchEntry.Fields {
        switch self {
        case .device: BatchEntry.Fields()
        case .channel: .broadcast
        }
    }
}
