internal import DequeModule
internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The state that the segments of a store describe: notifications without an answer, and copies that clients may still
/// send.
///
/// A notification without an answer may have arrived, and is sent again with the same `apns-id`. A client that got an
/// error response may still repeat followers, the notifications after the one that the response names. A client whose
/// connection was open at the kill may repeat its last notifications. A rejection that no error response has named
/// waits for the next push to the token.
package struct Recovery {
    /// A notification that has no answer.
    struct Unanswered {
        var reader: Job.Reader
        var client: Client
        var token: ArraySlice<UInt8>
        var payload: ArraySlice<UInt8>
        var expiration: UInt32
        var priority: UInt8
        /// When the notification was read, in UNIX seconds. The clock may have been set since then.
        var readAt: UInt32
        /// When the notification was read, in UNIX seconds as the clock is set now.
        var time: Int64
        var segment: UInt64
        /// Whether the notification has an identifier.
        var isNamed: Bool
        /// 1 if a record says that the notification may have arrived and is sent once more; otherwise 0.
        var doubts = 0
    }

    struct Rejected {
        var client: Client
        var token: [UInt8]
        var status: BinaryStatus
    }

    struct Episode {
        var id: EpisodeID
        var kind: EpisodeKind
        var client: Client
        var followers: [Follower]
        /// When the last notification on the connection was read, in UNIX seconds as the clock is set now. Copies of
        /// the connection's own followers do not count.
        var heardAt: Int64
    }

    /// The client of a connection, as the journal names it.
    struct Client: Hashable {
        var identity: String
        var address: [UInt8]
    }

    private struct Frame {
        var sequence: UInt64
        var job: JobID
        var key: ReplayKey
        var isConstant: Bool
        /// When the notification was read, in UNIX seconds by the present clock.
        var time: Int64
    }

    private struct Connection {
        var client: Client
        /// The last notifications, which an error response or a crash may make followers.
        var frames: Deque<Frame> = []
        var isClosed = false
        /// The episode whose error response may have been written on the connection.
        var told: EpisodeID?
        var heardAt: Int64 = 0
    }

    private struct Open {
        var client: Client
        var frames: [Frame] = []
    }

    /// Returns the hash by which copies of a notification of this identity are found.
    typealias MakeKey = (_ identity: String, _ token: ArraySlice<UInt8>, _ payload: ArraySlice<UInt8>) -> ReplayKey

    private let makeKey: MakeKey
    private var connections: [ConnectionID: Connection] = [:]
    private(set) var unanswered: [JobID: Unanswered] = [:]
    private var rejected: [JobID: Rejected] = [:]
    /// The jobs that error responses may have named, by episode.
    private var told: [EpisodeID: JobID] = [:]
    private var open: [EpisodeID: Open] = [:]
    /// The episode in which each job is a follower.
    private var episodes: [JobID: EpisodeID] = [:]
    /// The number of jobs and the length of each segment.
    private var counts: [(number: UInt64, count: Int, length: Int)] = []
    /// The time of the last notification, in UNIX seconds by the present clock.
    private var lastTime: Int64 = 0
    private let now: Moment
    private let boot: BootIdentifier?

    /// - Parameter boot: the present run of the operating system; nil if it is not known.
    init(now: Moment, boot: BootIdentifier?, makeKey: @escaping MakeKey) {
        self.now = now
        self.boot = boot
        self.makeKey = makeKey
    }

    /// The time of a record by the present clock. Within the same boot, the monotonic clock gives the time, because
    /// the wall clock may have been set meanwhile. If the boot of the segment is another one or not known, the wall
    /// clock gives the time, and a time in the future counts as now.
    private func time(_ readAt: UInt32, in segment: SegmentTime?) -> Int64 {
        let present = Int64(self.now.epochSeconds)
        let milliseconds = self.now.monotonic.uptimeNanoseconds / 1_000_000
        guard let segment, let boot, segment.boot == boot, segment.milliseconds <= milliseconds else {
            return min(Int64(readAt), present)
        }
        // The segment has only the time of its close. A notification was read before that time, and a rewritten
        // notification long before. The age is the difference between the close and the reading by the wall clock.
        let age = max(Int64(segment.epochSeconds) - Int64(readAt), 0)
        return present - Int64((milliseconds - segment.milliseconds) / 1000) - age
    }

    // MARK: Reading

    /// Reads the segments in order.
    mutating func read(_ segments: [StoredSegment], _ checksum: Segment.Checksum) throws(StoreError) {
        for segment in segments {
            self.counts.append((segment.number, 0, segment.bytes.count))
            var records: [JournalRecord] = []
            let time = try Segment.read(segment, checksum) { records.append($0) }
            for record in records { self.read(record, in: segment.number, closedAt: time) }
        }
    }

    private mutating func read(_ record: JournalRecord, in segment: UInt64, closedAt: SegmentTime?) {
        switch record {
        case .client(let id, let identity, let address):
            guard self.connections[id] == nil else { return }
            self.connections[id] = Connection(client: Client(identity: identity, address: address))
        case .closed(let id):
            self.connections[id]?.isClosed = true
        case .read(let reader, let job, let readAt, let expiration, let priority, let isNamed, let token, let payload):
            self.counts[self.counts.count - 1].count += 1
            guard let client = self.connections[reader.connection]?.client else { return }
            let isNew = self.unanswered[job] == nil
            let doubts = self.unanswered[job]?.doubts ?? 0
            self.unanswered[job] = Unanswered(
                reader: reader,
                client: client,
                token: token,
                payload: payload,
                expiration: expiration,
                priority: priority,
                readAt: readAt,
                time: self.time(readAt, in: closedAt),
                segment: segment,
                isNamed: isNamed,
                doubts: doubts
            )
            guard isNew else { return }
            let time = self.time(readAt, in: closedAt)
            let isConstant = payload.withUnsafeBufferPointer { PayloadNature($0).isConstant }
            let key = self.makeKey(client.identity, token, payload)
            self.note(
                Frame(sequence: reader.sequence, job: job, key: key, isConstant: isConstant, time: time),
                on: reader.connection
            )
        case .copy(let reader, let job, let readAt, let key, let isConstant):
            // The copy has come, so the follower waits for no other copy. If the error response of the follower's
            // episode was written on the copy's connection, nothing else is noted. Otherwise the copy may become a
            // follower of another error response, or of a crash.
            let matched = self.episodes.removeValue(forKey: job)
            if let matched, self.connections[reader.connection]?.told == matched { return }
            let time = self.time(readAt, in: closedAt)
            self.note(
                Frame(sequence: reader.sequence, job: job, key: key, isConstant: isConstant, time: time),
                on: reader.connection
            )
        case .answered(let job, let fate):
            guard let answered = self.unanswered.removeValue(forKey: job), case .rejected(let status) = fate else {
                return
            }
            self.rejected[job] = Rejected(client: answered.client, token: Array(answered.token), status: status)
        case .told(let episode, let job):
            self.told[episode] = job
            self.begin(episode)
        case .over(let episode):
            self.open[episode] = nil
        case .untold(let episode):
            self.undo(episode)
        case .doubted(let job):
            self.unanswered[job]?.doubts = 1
        }
    }

    /// Forgets an episode whose error response was not written.
    private mutating func undo(_ episode: EpisodeID) {
        self.told[episode] = nil
        let frames = self.open.removeValue(forKey: episode)?.frames ?? []
        for frame in frames where self.episodes[frame.job] == episode { self.episodes[frame.job] = nil }
        guard self.connections[episode.connection]?.told == episode else { return }
        self.connections[episode.connection]?.told = nil
        self.connections[episode.connection]?.frames.append(contentsOf: frames)
    }

    private mutating func note(_ frame: Frame, on id: ConnectionID) {
        self.lastTime = max(self.lastTime, frame.time)
        self.connections[id]?.heardAt = frame.time
        if let told = self.connections[id]?.told, frame.sequence > told.sequence {
            self.episodes[frame.job] = told
            self.open[told]?.frames.append(frame)
            return
        }
        // Frames that are too old, or above ``GatewayBounds/crashFrames``, are dropped, because neither an error
        // response nor a crash makes them followers.
        while let first = self.connections[id]?.frames.first,
            first.time + GatewayBounds.Journal.crashAge + GatewayBounds.Journal.episodeAge.nanoseconds / 1_000_000_000
                < frame.time
                || self.connections[id]?.frames.count ?? 0 >= GatewayBounds.crashFrames
        {
            self.connections[id]?.frames.removeFirst()
        }
        self.connections[id]?.frames.append(frame)
    }

    private mutating func begin(_ episode: EpisodeID) {
        guard let connection = self.connections[episode.connection] else { return }
        let followers = Array(connection.frames.filter { $0.sequence > episode.sequence })
        self.connections[episode.connection]?.told = episode
        self.connections[episode.connection]?.frames.removeAll { $0.sequence > episode.sequence }
        self.open[episode] = Open(client: connection.client, frames: followers)
        for follower in followers { self.episodes[follower.job] = episode }
    }

    // MARK: Results

    /// The names of the identities that have unanswered notifications.
    var identities: Set<String> { Set(self.unanswered.values.map(\.client.identity)) }

    /// Returns the open episodes, and one more for each connection that was open at the kill. Episodes without
    /// followers are left out.
    mutating func takeEpisodes() -> [Episode] {
        var result: [Episode] = []
        for (id, open) in self.open.sorted(by: { $0.key.connection.rawValue < $1.key.connection.rawValue }) {
            let followers = open.frames.filter { self.episodes[$0.job] == id }
            guard !followers.isEmpty else { continue }
            result.append(self.episode(id, .restored, open.client, followers))
        }
        for (id, connection) in self.connections.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where !connection.isClosed {
            let last = Array(connection.frames).filter {
                $0.time + GatewayBounds.Journal.crashAge >= self.lastTime && self.episodes[$0.job] == nil
            }
            guard !last.isEmpty else { continue }
            for frame in last { self.episodes[frame.job] = EpisodeID(connection: id, sequence: .max) }
            result.append(
                self.episode(EpisodeID(connection: id, sequence: .max), .crash, connection.client, last)
            )
        }
        return result
    }

    private func episode(_ id: EpisodeID, _ kind: EpisodeKind, _ client: Client, _ frames: [Frame]) -> Episode {
        // A job has at most one entry in the replay filter.
        var seen: Set<JobID> = []
        let followers = frames.filter { seen.insert($0.job).inserted }.map { frame in
            let fate: JobFate =
                if self.unanswered[frame.job] != nil {
                    .running
                } else if let rejected = self.rejected[frame.job] {
                    .rejected(rejected.status)
                } else {
                    .accepted
                }
            return Follower(key: frame.key, job: frame.job, fate: fate, isConstant: frame.isConstant)
        }
        let heardAt = self.connections[id.connection]?.heardAt ?? self.lastTime
        return Episode(id: id, kind: kind, client: client, followers: followers, heardAt: heardAt)
    }

    /// The rejections that no error response has named. The rejection of a follower waits for a copy of the follower.
    /// Call this after ``takeEpisodes()``, which decides the followers after a crash.
    var untold: [(job: JobID, rejected: Rejected, isFollower: Bool)] {
        let told = Set(self.told.values)
        return self.rejected.filter { !told.contains($0.key) }.map { job, rejected in
            let isFollower = self.episodes[job].map { self.open[$0] != nil || $0.sequence == .max } ?? false
            return (job, rejected, isFollower)
        }
    }

    /// The table of segments with which the journal continues.
    func segments(now: NIODeadline) -> [SegmentTable.Entry] {
        var live: [UInt64: [JobID]] = [:]
        for (job, unanswered) in self.unanswered { live[unanswered.segment, default: []].append(job) }
        return self.counts.map { number, count, length in
            var entry = SegmentTable.Entry(number: number, openedAt: now, answeredAt: now)
            entry.carried = live[number] ?? []
            entry.live = entry.carried.count
            entry.count = count
            entry.length = length
            entry.isDurable = true
            return entry
        }
    }
}
