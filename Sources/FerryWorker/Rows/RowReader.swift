internal import FerryCore
internal import FerryPostgres

/// The reading of taken rows: each becomes a notification in the batch of its upstream, or has a fate at once.
struct RowReader {
    /// Microseconds from 1970-01-01 to 2000-01-01, from where PostgreSQL counts.
    private static let epoch: Int64 = 946_684_800_000_000

    let clients: [WorkerClient]
    private let numbers: [String: Int]
    /// The last text of `headers` and its meaning, because most rows have the same text.
    private var headers: (text: [UInt8], meaning: Result<RowHeaders, Refusal>)?

    init(_ clients: [WorkerClient]) {
        self.clients = clients
        self.numbers = Dictionary(clients.enumerated().map { ($1.name, $0) }) { first, _ in first }
    }

    /// - Parameters:
    ///   - firstTag: the tag of the first row.
    ///   - limit: the largest number of rows to send. Rows beyond it that could be sent are left as they are.
    ///   - isUnwritten: whether the row with this `id` was sent and its fate is not written. Such a row is not sent
    ///     again.
    ///   - batches: receive the notifications. ``WorkerClient/upstream`` is an index into this array.
    mutating func read(
        _ rows: PostgresRows,
        firstTag: UInt64,
        sending limit: Int,
        isUnwritten: (Int64) -> Bool,
        into batches: [UpstreamBatch]
    ) -> [BatchMachine.Row] {
        var sent = 0
        var read: [BatchMachine.Row] = []
        read.reserveCapacity(rows.count)
        for index in 0..<rows.count {
            let client = rows.text(index, Column.client).flatMap { self.numbers[$0] }
            var row = BatchMachine.Row(
                id: rows.integer(index, Column.id) ?? 0,
                attempts: Int(rows.integer(index, Column.attempts) ?? 0),
                client: client,
                repeatsUnknown: client.map { self.clients[$0].repeatsUnknown } ?? true
            )
            if isUnwritten(row.id) {
                row.fate = .hidden
            } else if rows.boolean(index, Column.isKnown) == true {
                row.fate = .done(.init(.duplicate))
            } else if rows.boolean(index, Column.isExpired) == true {
                row.fate = .done(.init(.expired))
            } else if sent == limit {
                row.fate = .left
            } else {
                do throws(Refusal) {
                    try self.append(rows, index, client, tag: firstTag + UInt64(index), into: batches)
                    sent += 1
                } catch {
                    row.fate = .done(.init(.rejected, reason: error.text))
                }
            }
            read.append(row)
        }
        return read
    }

    private mutating func append(
        _ rows: PostgresRows,
        _ index: Int,
        _ number: Int?,
        tag: UInt64,
        into batches: [UpstreamBatch]
    ) throws(Refusal) {
        guard let number else { throw .unknownClient }
        let client = self.clients[number]
        let headers = try self.headers(rows, index)
        if !headers.topic.isEmpty, !client.allows(headers.topic) { throw .reason(.topicDisallowed) }
        let topic = headers.topic.isEmpty ? client.topic(pushType: headers.pushType?.code ?? 0) : headers.topic
        guard let token = rows.text(index, Column.token).flatMap({ try? DeviceToken(hex: $0) }) else {
            throw .reason(.badDeviceToken)
        }
        let id = rows.bytes(index, Column.apnsID) ?? []
        guard id.count == 16 else { throw .reason(.badMessageID) }
        let apnsID = id.withUnsafeBufferPointer { $0.baseAddress.map { APNSID(reading: $0) } }
        let expiration = rows.integer(index, Column.expires).map { Self.expiration($0) }
        let result = rows.withBytes(index, Column.payload) { bytes -> Result<Void, Refusal> in
            let payload = bytes.bindMemory(to: UInt8.self)
            if let fault = PushNotification.faults(payload: payload).first {
                return .failure(.reason(fault.code == .payloadTooLarge ? .payloadTooLarge : .badRequestPayload))
            }
            let isAdded = token.bytes.withUnsafeBufferPointer { token in
                topic.withUnsafeBufferPointer { topic in
                    headers.collapseID.withUnsafeBufferPointer { collapseID in
                        batches[client.upstream].batch.append(
                            token: token,
                            payload: payload,
                            topic: topic,
                            collapseID: collapseID,
                            apnsID: apnsID,
                            pushType: headers.pushType,
                            priority: headers.priority,
                            expiration: expiration,
                            tag: tag
                        )
                    }
                }
            }
            return isAdded ? .success(()) : .failure(.reason(.payloadTooLarge))
        }
        guard let result else { throw .reason(.payloadTooLarge) }
        try result.get()
    }

    private mutating func headers(_ rows: PostgresRows, _ index: Int) throws(Refusal) -> RowHeaders {
        let found = rows.withBytes(index, Column.headers) { bytes -> Result<RowHeaders, Refusal> in
            if let headers, headers.text.elementsEqual(bytes) { return headers.meaning }
            let json = bytes.bindMemory(to: UInt8.self)
            let meaning = Result { () throws(Refusal) in try RowHeaders(json) }
            self.headers = (Array(json), meaning)
            return meaning
        }
        return try found?.get() ?? RowHeaders()
    }

    /// - Parameter time: microseconds since 2000. `infinity` becomes the last second of 32 bits.
    private static func expiration(_ time: Int64) -> Expiration {
        let (sum, isTooLarge) = time.addingReportingOverflow(Self.epoch)
        return Expiration(epochSeconds: isTooLarge ? .max : UInt32(clamping: max(sum / 1_000_000, 1)))
    }

    /// The columns of ``WorkerSQL/takeOldest`` and of the other selects that take rows.
    private enum Column {
        static let id = 0
        static let client = 1
        static let token = 2
        static let payload = 3
        static let headers = 4
        static let attempts = 5
        static let apnsID = 6
        static let expires = 7
        static let isKnown = 8
        static let isExpired = 9
    }
}

/// The notifications of taken rows for one upstream. An object, because a batch cannot be an element of an array.
final class UpstreamBatch {
    var batch = PushBatch(capacity: 16)
}
