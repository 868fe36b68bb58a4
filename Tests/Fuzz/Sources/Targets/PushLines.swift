@testable import FerryCommand
@testable import FerryCore

/// The property: every line of `ferry push` that the parser accepts is within the limits of a notification, and refers
/// only to bytes of the line.
func fuzzPushLines(_ input: inout FuzzInput) {
    let parser = LineParser(topic: "com.example")
    var unknown = 0
    for line in input.rest.split(separator: UInt8(ascii: "\n")) {
        // A copy, so that AddressSanitizer finds reads past the end.
        Array(line).withUnsafeBufferPointer { line in
            do throws(LineFaults) {
                check(try parser.parse(line), in: line)
            } catch {
                require(!error.messages.isEmpty)
            }
        }
        unknown += parser.takeUnknownMembers().count
    }
    require(unknown <= 16)
}

private func check(_ line: PushLine, in bytes: UnsafeBufferPointer<UInt8>) {
    require(1...DeviceToken.maximumLength ~= line.token.count && line.hex.count == 2 * line.token.count)
    require(line.payload.count <= PushNotification.maximumPayloadLength && JSONScanner.isObject(line.payload))
    require(1...PushNotification.maximumTopicLength ~= line.topic.count)
    require(line.collapseID.count <= PushNotification.maximumCollapseIDLength)
    if let ref = line.ref { require(JSONScanner.fault(in: ref) == nil) }
    // The public initializers must accept the same values.
    do {
        let device = try DeviceToken(hex: String(decoding: line.hex, as: UTF8.self))
        require(device.bytes.elementsEqual(line.token))
        _ = try PushNotification(
            json: Array(line.payload),
            topic: String(decoding: line.topic, as: UTF8.self),
            pushType: line.pushType,
            priority: line.priority,
            expiration: line.expiration,
            collapseID: line.collapseID.isEmpty ? nil : String(decoding: line.collapseID, as: UTF8.self),
            apnsID: line.apnsID
        )
    } catch {
        fatalError("\(error)")
    }
}
