internal import FerryCore

/// The notifications that have no final answer, within the room that the clients share.
///
/// A notification stays here even if its client has counted it as accepted.
struct Jobs: Sendable {
    private var table: JobTable
    private var room: Room
    /// The first half of every `apns-id`: a random number of this process or of the store.
    private let node: UInt64

    /// - Parameters:
    ///   - identities: the number of clients.
    ///   - node: a random number, new for each process, or for each store.
    ///   - first: the number of the first job. No job of this node has had this number.
    ///   - limit: the number of jobs at which the room is full.
    init(identities: Int, node: UInt64, first: UInt64, limit: Int) {
        self.table = JobTable(first: first)
        self.room = Room(identities: identities, jobs: limit, bytes: GatewayBounds.Jobs.bytes)
        self.node = node
    }

    var count: Int { self.table.count }

    /// The number of a client's notifications without a final answer.
    func count(of identity: Int) -> Int { self.room.count(of: identity) }

    /// Adds clients that a reload has brought.
    mutating func grow(identities: Int) { self.room.grow(identities: identities) }

    /// The numbers of all jobs; see ``JobTable/ids``.
    var ids: [JobID] { self.table.ids }

    /// The job that was read first; nil without jobs.
    mutating func oldest() -> Job? { self.table.oldest() }

    /// Passes the jobs behind a place to `body`; see ``JobTable/look(from:atMost:_:)``.
    func look(from place: inout WaitingPlace, atMost limit: Int, _ body: (JobID, Job) -> Bool) -> Bool {
        self.table.look(from: &place, atMost: limit, body)
    }

    /// Whether another notification may be read.
    var hasRoom: Bool { self.room.isFree }

    /// Whether another notification may be read from this client.
    func hasRoom(for identity: Int) -> Bool { self.room.isFree(for: identity) }

    /// A copy of the job; nil if no job has the number, or if the job has its final answer.
    subscript(id: JobID) -> Job? { self.table[id] }

    /// The client of the job; nil if no job has the number, or if the job has its final answer.
    func scope(of id: JobID) -> ReplayScope? { self.table[id]?.scope }

    /// The `apns-id` of a notification; see ``JobID/apnsID(node:)``.
    func apnsID(of id: JobID) -> APNSID { id.apnsID(node: self.node) }

    /// Returns the number of the next job. If no ``insert(_:as:)`` follows before the next call of `reserve()`, no
    /// job gets this number.
    mutating func reserve() -> JobID { self.table.reserve() }

    /// Adds a job under its number; see ``JobTable/insert(_:as:)``.
    mutating func insert(_ job: consuming Job, as id: JobID) {
        self.room.add(job)
        self.table.insert(job, as: id)
    }

    /// Changes the job in place, if it has not ended.
    mutating func change(_ id: JobID, _ body: (inout Job) -> Void) { self.table.change(id, body) }

    /// Removes a job that has its final answer.
    mutating func remove(_ id: JobID, _ job: borrowing Job) {
        assert(self.table[id] != nil, "a job has one final answer")
        self.table.remove(id)
        self.room.remove(job)
    }
}
