internal import FerryCore

/// A recorder that writes what a ``SimulatedGateway``, a ``SimulatedAPNs`` or both accept to a file, one JSON object a
/// line. A notification of the binary protocol:
///
/// ```json
/// {"connection":1,"place":7,"command":2,"identifier":7,"token":"00ff…","payload":{…},"expiration":0,"priority":10}
/// ```
///
/// and one of HTTP/2:
///
/// ```json
/// {"connection":1,"place":7,"apnsId":"eabeae54-…","token":"00ff…","payload":{…},"topic":"com.example.app",
///  "pushType":"alert","expiration":0,"priority":10,"collapseId":null}
/// ```
///
/// A field that the notification did not have is null. The payload is copied unchanged. If it is not an object or
/// contains a line break, it is written as `payloadHex` instead. Safe from any thread.
///
/// Lines are written 256 KiB at a time and at every ``flush()``. A write blocks the event loop that causes it.
public final class GatewayFileRecorder: GatewayRecorder, APNsRecorder {
    private static let chunk = 256 * 1024

    private let file: Locked<BufferedFile>

    /// Opens a file for writing. An existing file is emptied.
    ///
    /// - Throws: ``FileError``.
    public init(path: String) throws(FileError) {
        self.file = Locked(try BufferedFile(path: path, chunk: Self.chunk))
    }

    deinit {
        self.flush()
    }

    /// The error of the first write that failed. Nothing is written after it.
    public var failure: FileError? {
        self.file.withLock { $0.failure }
    }

    /// Appends a line; writes when 256 KiB have gathered.
    public func accepted(_ notification: AcceptedNotification, token: Span<UInt8>, payload: Span<UInt8>) {
        self.file.withLock { file in
            file.add { $0.appendLine(notification, token: token, payload: payload) }
        }
    }

    /// Appends a line; writes when 256 KiB have gathered.
    public func accepted(_ request: AcceptedRequest, token: Span<UInt8>, payload: Span<UInt8>) {
        self.file.withLock { file in
            file.add { $0.appendLine(request, token: token, payload: payload) }
        }
    }

    /// Appends a line of another kind; writes when 256 KiB have gathered.
    ///
    /// - Parameter line: without its end.
    package func append(line: [UInt8]) {
        self.file.withLock { file in file.add { $0 += line + [UInt8(ascii: "\n")] } }
    }

    /// Writes the buffered lines.
    public func flush() {
        self.file.withLock { $0.flush() }
    }
}

extension [UInt8] {
    fileprivate mutating func appendLine(
        _ notification: AcceptedNotification,
        token: Span<UInt8>,
        payload: Span<UInt8>
    ) {
        self.append(#"{"connection":"#, number: notification.connection)
        self.append(#","place":"#, number: notification.place)
        self.append(#","command":"#, number: Int(notification.command))
        self.append(#","identifier":"#, number: notification.identifier.map(Int.init))
        self.append(token: token, payload: payload)
        self.append(#","expiration":"#, number: notification.expiration.map(Int.init))
        self.append(#","priority":"#, number: notification.priority.map(Int.init))
        self.append("}\n")
    }

    fileprivate mutating func appendLine(_ request: AcceptedRequest, token: Span<UInt8>, payload: Span<UInt8>) {
        self.append(#"{"connection":"#, number: request.connection)
        self.append(#","place":"#, number: request.place)
        self.append(#","apnsId":"#, text: request.apnsID)
        self.append(token: token, payload: payload)
        self.append(#","topic":"#, text: request.topic)
        self.append(#","pushType":"#, text: request.pushType)
        self.append(#","expiration":"#, number: request.expiration.map { Int($0) })
        self.append(#","priority":"#, number: request.priority)
        self.append(#","collapseId":"#, text: request.collapseID)
        if request.channelID != nil { self.append(#","channelId":"#, text: request.channelID) }
        self.append("}\n")
    }

    private mutating func append(token: Span<UInt8>, payload: Span<UInt8>) {
        self.append(#","token":""#)
        self.append(hex: token)
        payload.withUnsafeBufferPointer { bytes in
            let isOneLine = !bytes.contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            if isOneLine && JSONScanner.isObject(bytes) {
                self.append(#"","payload":"#)
                self.append(contentsOf: bytes)
            } else {
                self.append(#"","payloadHex":""#)
                self.append(hex: payload)
                self.append("\"")
            }
        }
    }

    private mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { self.append(contentsOf: $0) }
    }

    private mutating func append(_ text: StaticString, number: Int?) {
        self.append(text)
        self.append(contentsOf: (number.map(String.init) ?? "null").utf8)
    }

    private mutating func append(_ text: StaticString, text value: String?) {
        self.append(text)
        if let value { self.appendJSONString(value) } else { self.append("null") }
    }

    private mutating func append(hex bytes: Span<UInt8>) {
        let start = self.count
        self.append(contentsOf: repeatElement(0, count: bytes.count * 2))
        for index in bytes.indices {
            self[start + index * 2] = Self.hexDigit(bytes[index] >> 4)
            self[start + index * 2 + 1] = Self.hexDigit(bytes[index] & 15)
        }
    }

    private static func hexDigit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
    }
}
