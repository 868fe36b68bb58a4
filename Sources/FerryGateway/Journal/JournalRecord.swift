internal import FerryCore
internal import NIOCore

/// One record of a segment. All numbers are big-endian.
///
/// ```
///   kind 1, client        connection 8, length 1, identity, length 1, address
///   kind 2, closed        connection 8
///   kind 3, read          connection 8, sequence 8, job 8, read at 4, expiration 4, priority 1,
///                         length 1, token, length 2, payload
///   kind 4, copy          connection 8, sequence 8, job 8, read at 4, key 16, is constant 1
///   kind 5, answered      job 8, status 1 (0: ended without a rejection)
///   kind 6, told          connection 8, sequence 8, job 8 (0: no job)
///   kind 7, over          connection 8, sequence 8
///   kind 8, untold        connection 8, sequence 8
///   kind 9, doubted       job 8
///   kind 10, read         as kind 3, without an identifier
/// ```
///
/// The numbers of the kinds are on disk, so never change one.
enum JournalRecord: Hashable {
    /// The client of a connection. In each segment, this record comes before the connection's notifications, copies and
    /// error responses. So a segment can be read without the segments before it.
    case client(ConnectionID, identity: String, address: [UInt8])
    /// The connection has ended.
    case closed(ConnectionID)
    /// A notification that is forwarded. `readAt` is in UNIX seconds. `isNamed` means that the notification has an
    /// identifier.
    case read(
        Reader,
        JobID,
        readAt: UInt32,
        expiration: UInt32,
        priority: UInt8,
        isNamed: Bool,
        token: ArraySlice<UInt8>,
        payload: ArraySlice<UInt8>
    )
    /// A notification that is not forwarded, because it is a copy of the job's notification.
    case copy(Reader, JobID, readAt: UInt32, ReplayKey, isConstant: Bool)
    /// The final answer to a job.
    case answered(JobID, JobFate)
    /// The error response that opens the episode may have been written. The job is the job of the notification that
    /// the response names; nil if that notification has no job.
    case told(EpisodeID, JobID?)
    /// The episode is over. No copies are expected any more.
    case over(EpisodeID)
    /// The error response was not written, and will not be written.
    case untold(EpisodeID)
    /// The notification of the job may have arrived, and is sent once more.
    case doubted(JobID)

    typealias Reader = Job.Reader
}

// MARK: Writing

extension ByteBuffer {
    mutating func write(client id: ConnectionID, identity: String, address: [UInt8]) {
        self.writeMultipleIntegers(UInt8(1), id.rawValue)
        self.write(short: Array(identity.utf8.prefix(255)))
        self.write(short: address)
    }

    mutating func write(closed id: ConnectionID) { self.writeMultipleIntegers(UInt8(2), id.rawValue) }

    mutating func write(read job: Job, as id: JobID) {
        let kind: UInt8 = job.isNamed ? 3 : 10
        self.writeMultipleIntegers(kind, job.first.connection.rawValue, job.first.sequence, id.rawValue)
        self.writeMultipleIntegers(job.readAtSeconds, job.expiration, job.priority, UInt8(job.tokenLength))
        self.writeBytes(job.token)
        self.writeInteger(UInt16(job.bytes.count - job.tokenLength))
        self.writeBytes(job.bytes[job.tokenLength...])
    }

    mutating func write(copy reader: Job.Reader, of follower: Follower, readAt: UInt32) {
        self.writeMultipleIntegers(UInt8(4), reader.connection.rawValue, reader.sequence, follower.job.rawValue, readAt)
        self.writeMultipleIntegers(follower.key.high, follower.key.low, UInt8(follower.isConstant ? 1 : 0))
    }

    mutating func write(answered id: JobID, _ fate: JobFate) {
        let status: UInt8 = if case .rejected(let status) = fate { status.rawValue } else { 0 }
        self.writeMultipleIntegers(UInt8(5), id.rawValue, status)
    }

    mutating func write(told episode: EpisodeID, _ job: JobID?) {
        self.writeMultipleIntegers(UInt8(6), episode.connection.rawValue, episode.sequence, job?.rawValue ?? 0)
    }

    mutating func write(over episode: EpisodeID) {
        self.writeMultipleIntegers(UInt8(7), episode.connection.rawValue, episode.sequence)
    }

    mutating func write(untold episode: EpisodeID) {
        self.writeMultipleIntegers(UInt8(8), episode.connection.rawValue, episode.sequence)
    }

    mutating func write(doubted id: JobID) { self.writeMultipleIntegers(UInt8(9), id.rawValue) }

    private mutating func write(short bytes: [UInt8]) {
        self.writeInteger(UInt8(bytes.count))
        self.writeBytes(bytes)
    }
}

// MARK: Reading

extension ByteBuffer {
    /// Reads the next record; nil if the bytes are not a record.
    mutating func readRecord() -> JournalRecord? {
        switch self.readInteger(as: UInt8.self) {
        case 1:
            guard let id = self.readConnection(), let identity = self.readShort(), let address = self.readShort() else {
                return nil
            }
            return .client(id, identity: String(decoding: identity, as: UTF8.self), address: Array(address))
        case 2:
            return self.readConnection().map { .closed($0) }
        case 3:
            return self.readRead(isNamed: true)
        case 4:
            guard let reader = self.readReader(), let job = self.readJob(),
                let (readAt, high, low, isConstant) = self.readMultipleIntegers(
                    as: (UInt32, UInt64, UInt64, UInt8).self
                )
            else { return nil }
            return .copy(reader, job, readAt: readAt, ReplayKey(high: high, low: low), isConstant: isConstant == 1)
        case 5:
            guard let job = self.readJob(), let status = self.readInteger(as: UInt8.self) else { return nil }
            return .answered(job, status == 0 ? .accepted : .rejected(BinaryStatus(rawValue: status)))
        case 6:
            guard let reader = self.readReader(), let job = self.readJob() else { return nil }
            return .told(EpisodeID(reader), job.rawValue == 0 ? nil : job)
        case 7:
            return self.readReader().map { .over(EpisodeID($0)) }
        case 8:
            return self.readReader().map { .untold(EpisodeID($0)) }
        case 9:
            return self.readJob().map { .doubted($0) }
        case 10:
            return self.readRead(isNamed: false)
        default:
            return nil
        }
    }

    private mutating func readRead(isNamed: Bool) -> JournalRecord? {
        guard let reader = self.readReader(), let job = self.readJob(),
            let (readAt, expiration, priority) = self.readMultipleIntegers(as: (UInt32, UInt32, UInt8).self),
            let token = self.readShort(),
            let length = self.readInteger(as: UInt16.self), let payload = self.readBytes(length: Int(length))
        else { return nil }
        return .read(
            reader,
            job,
            readAt: readAt,
            expiration: expiration,
            priority: priority,
            isNamed: isNamed,
            token: token,
            payload: payload[...]
        )
    }

    private mutating func readConnection() -> ConnectionID? { self.readInteger().map { ConnectionID($0) } }

    private mutating func readJob() -> JobID? { self.readInteger().map { JobID(rawValue: $0) } }

    private mutating func readReader() -> Job.Reader? {
        self.readMultipleIntegers(as: (UInt64, UInt64).self).map {
            Job.Reader(connection: ConnectionID($0), sequence: $1)
        }
    }

    private mutating func readShort() -> ArraySlice<UInt8>? {
        self.readInteger(as: UInt8.self).flatMap { self.readBytes(length: Int($0)) }.map { $0[...] }
    }
}

extension EpisodeID {
    fileprivate init(_ reader: Job.Reader) { self.init(connection: reader.connection, sequence: reader.sequence) }
}
