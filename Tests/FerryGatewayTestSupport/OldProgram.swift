import DequeModule
import FerryBinary
import FerryCore
import FerryMachine
import NIOCore

/// A program with an old library, as `Docs/begin/old-stacks.md` has them: what it sends, and what it does with an error
/// response.
final class OldProgram {
    /// When a library looks for an error response.
    enum Reading: Hashable {
        case atOnce
        /// Before the next write, and this time after the last one.
        case betweenWrites(tail: TimeAmount)
        /// After this silence.
        case afterSilence(TimeAmount)
        case never
    }

    enum Numbering: Hashable {
        case fromZero
        case fromOne
        /// All notifications have identifier 0.
        case zero
        /// Any number below 10,000: it may come twice.
        case random
        /// Numbers of a database: they go on from connection to connection.
        case goesOn
    }

    /// What a library sends again after an error response.
    enum Reaction: Hashable {
        case nothing
        /// What followed the notification that the error response names, as far as the library still has it.
        case followers
        /// The same. A library that has forgotten the notification sends everything that it still has.
        case followersOrAll
    }

    /// The habits that differ between old libraries.
    struct Manner {
        var name = "node-apn"
        var reading = Reading.atOnce
        var numbering = Numbering.fromZero
        var reaction = Reaction.followers
        var command: UInt8 = 2
        var commandOfCopies: UInt8 = 2
        /// Whether the identifier is the first item of a frame.
        var beginsWithIdentifier = false
        /// The notifications that a connection remembers.
        var cacheLength = 1000
        /// Whether a full cache forgets the newest notification for the next one, so that it has the first ones and the
        /// last.
        var keepsFirst = false
        /// Whether the error response is taken to name the notification that is written at the time.
        var blamesCurrent = false
        /// The time before it sends again, in milliseconds.
        var delays: ClosedRange<Int64> = 0...0
        /// How far a notification may move when it is sent again.
        var shuffle = 0
        var connections = 1
        /// The notifications after which a connection is closed, and the next one opened.
        var connectionLength = Int.max
        /// Whether the program ends after its last notification.
        var exits = false
        /// Whether it closes with unread input, so that its kernel resets the connection.
        var resets = false
        /// Whether it writes on the connection that was told until it sees the end: its copies, with their identifiers.
        var staysUntilEnd = false
        /// Whether it circles: what it writes on the connection that was told counts as unprocessed, and goes out again, there
        /// or elsewhere, until it sees the end.
        var circles = false
        /// Whether status 10 makes it send the last accepted notification again, too.
        var repeatsAfterShutdown = false
        /// The last notifications that it sends again when a connection ends without an error response.
        var repeatsAfterEnd = 0
        /// The time between two notifications that it writes.
        var pace = TimeAmount.zero
    }

    private final class Socket {
        let wire: Wire
        var cache: Deque<(identifier: UInt32, push: Push)> = []
        var count = 0
        var response: ErrorResponse?
        var hasEnded = false
        /// Whether what is written here counts as unprocessed.
        var isCircling = false
        var lastWrite: NIODeadline

        init(_ wire: Wire, now: NIODeadline) {
            self.wire = wire
            self.lastWrite = now
        }
    }

    private struct Item {
        var push: Push
        var copy: Copy?
        /// Nil: a new one.
        var identifier: UInt32?
    }

    private unowned let world: any ProgramWorld
    let manner: Manner
    private let path: Wire.Path
    private let address: [UInt8]
    private var sockets: [Socket] = []
    private var turn = 0
    private var lastIdentifier: UInt32 = 0
    /// What waits for a writable socket.
    private var outbox: Deque<Item> = []
    /// What is to be sent again, until its time has come.
    private var again: Deque<Item> = []
    /// What a program that circles sends again. It does so in this order, and before anything new.
    private var retries: Deque<Item> = []
    /// What was written on a connection that was told, and is not in ``retries`` yet.
    private var circlingCount = 0
    /// When the program may write the next notification.
    private var nextWriteAt = NIODeadline.distantPast
    private var isPausing = false
    private var isConnecting = false
    private var isOver = false
    private var blockedAt: NIODeadline?

    init(_ world: any ProgramWorld, _ manner: Manner, _ path: Wire.Path, address: [UInt8]) {
        self.world = world
        self.manner = manner
        self.path = path
        self.address = address
    }

    private var now: NIODeadline { self.world.now }

    // MARK: The caller

    func push(_ push: Push) {
        guard !self.isOver else { return }
        self.outbox.append(Item(push: push))
        self.write()
    }

    /// Ends the program as soon as everything is written.
    func exit() {
        self.isOver = true
        guard self.isIdle, self.circlingCount == 0 else { return }
        let sockets = self.sockets
        self.sockets = []
        for socket in sockets { self.close(socket) }
    }

    // MARK: Writing

    private var isIdle: Bool { self.outbox.isEmpty && self.retries.isEmpty }

    private func write() {
        while !self.isIdle {
            guard self.now >= self.nextWriteAt else { return self.pause() }
            guard let socket = self.socket() else { return }
            guard socket.wire.isWritable else {
                if self.blockedAt == nil { self.blockedAt = self.now }
                return
            }
            if let blockedAt {
                self.world.waited(self.now - blockedAt)
                self.blockedAt = nil
            }
            if case .betweenWrites = self.manner.reading, self.look(at: socket) { continue }
            guard let item = self.retries.popFirst() ?? self.outbox.popFirst() else { return }
            self.write(item, on: socket)
            self.nextWriteAt = self.now + self.manner.pace
        }
        if self.isOver { self.exit() }
    }

    private func pause() {
        guard !self.isPausing else { return }
        self.isPausing = true
        self.world.at(self.nextWriteAt) {
            self.isPausing = false
            self.write()
        }
    }

    private func write(_ item: Item, on socket: Socket) {
        let (push, copy) = (item.push, item.copy)
        let identifier = item.identifier ?? self.nextIdentifier(on: socket)
        socket.count += 1
        socket.cache.append((identifier, push))
        if socket.cache.count > self.manner.cacheLength {
            socket.cache.remove(at: self.manner.keepsFirst ? socket.cache.count - 2 : 0)
        }
        socket.lastWrite = self.now
        let command = copy == nil ? self.manner.command : self.manner.commandOfCopies
        let bytes = push.bytes(
            command: command,
            identifier: identifier,
            expiration: self.world.epochSeconds + 86_400,
            beginsWithIdentifier: self.manner.beginsWithIdentifier
        )
        self.world.written(push, copy)
        self.world.note(push.name, "\(copy == nil ? "pushed" : "copied") as \(identifier) on \(socket.wire.id)")
        socket.wire.write(Frame(push: push, identifier: identifier, bytes: bytes, copy: copy))
        self.planLook(at: socket)
        if socket.isCircling {
            self.circlingCount += 1
            // A longer way means longer rounds, so that the end of the connection comes after some of them.
            let way = self.path.roundTrip + self.path.delay
            let round = max(TimeAmount.milliseconds(1), .nanoseconds(way.nanoseconds / 20))
            self.world.after(round) {
                self.circlingCount -= 1
                if self.world.isForgotten(socket.wire) { self.world.allowCopy(of: push.name) }
                self.retries.append(Item(push: push, copy: .followed))
                self.write()
            }
        }
        guard socket.count >= self.manner.connectionLength else { return }
        self.retire(socket)
    }

    private func nextIdentifier(on socket: Socket) -> UInt32 {
        switch self.manner.numbering {
        case .zero: return 0
        case .random: return UInt32.random(in: 0..<10_000, using: &self.world.generator)
        case .fromZero: return UInt32(socket.count)
        case .fromOne: return UInt32(socket.count) + 1
        case .goesOn:
            self.lastIdentifier += 1
            return self.lastIdentifier
        }
    }

    /// Closes a socket that is used up, after the time in which its library waits for an error response.
    private func retire(_ socket: Socket) {
        self.sockets.removeAll { $0 === socket }
        switch self.manner.reading {
        case .atOnce, .never: self.close(socket)
        case .betweenWrites(let time), .afterSilence(let time):
            self.world.after(time) {
                if !self.look(at: socket) { self.close(socket) }
                self.write()
            }
        }
    }

    private func socket() -> Socket? {
        for socket in self.sockets where socket.hasEnded && socket.response == nil { self.abandon(socket) }
        if self.sockets.count < self.manner.connections {
            guard let socket = self.connect() else { return self.sockets.first }
            self.sockets.append(socket)
            return socket
        }
        self.turn += 1
        return self.sockets[self.turn % self.sockets.count]
    }

    private func connect() -> Socket? {
        var heard: (Wire.Word) -> Void = { _ in }
        guard let wire = self.world.connect(self.path, self.address, { heard($0) }) else {
            // The gateway accepts no connections. Try again.
            guard !self.isConnecting else { return nil }
            self.isConnecting = true
            self.world.after(.seconds(1)) {
                self.isConnecting = false
                self.write()
            }
            return nil
        }
        let socket = Socket(wire, now: self.now)
        heard = { [weak self, weak socket] word in
            guard let self, let socket else { return }
            self.heard(word, on: socket)
        }
        return socket
    }

    private func close(_ socket: Socket) {
        // Unread input makes a close a reset.
        if socket.response != nil { socket.wire.reset() } else { socket.wire.close() }
    }

    private func abandon(_ socket: Socket) {
        self.sockets.removeAll { $0 === socket }
        if self.manner.resets { socket.wire.reset() } else { socket.wire.close() }
    }

    // MARK: Reading

    private func heard(_ word: Wire.Word, on socket: Socket) {
        switch word {
        case .writable:
            self.write()
        case .response(let response):
            socket.response = response
            guard self.manner.reading == .atOnce else { return }
            self.look(at: socket)
            self.write()
        case .end, .reset:
            socket.hasEnded = true
            if case .reset = word { self.sockets.removeAll { $0 === socket } }
            if self.manner.reading == .atOnce, !self.look(at: socket) {
                self.abandon(socket)
                self.repeatLast(of: socket)
            }
            self.write()
        }
    }

    private func repeatLast(of socket: Socket) {
        for (_, push) in socket.cache.suffix(self.manner.repeatsAfterEnd).reversed() {
            self.outbox.prepend(Item(push: push, copy: .unanswered))
        }
        socket.cache = []
    }

    private func planLook(at socket: Socket) {
        switch self.manner.reading {
        case .atOnce, .never: break
        case .betweenWrites(let time), .afterSilence(let time):
            let lastWrite = self.now
            self.world.after(time) {
                guard socket.lastWrite == lastWrite else { return }
                self.look(at: socket)
                self.write()
            }
        }
    }

    /// Reads the error response of a socket, if it came. Returns whether the socket is given up.
    @discardableResult
    private func look(at socket: Socket) -> Bool {
        guard let response = socket.response else { return false }
        socket.response = nil
        self.world.noteAll("(\(self.manner.name) hears \(response.status) \(response.identifier) on \(socket.wire.id))")
        let cache = Array(socket.cache)
        let place = cache.firstIndex { $0.identifier == response.identifier }
        if self.manner.blamesCurrent {
            if let current = cache.last { self.world.blamed(current.push) }
        } else if let place, response.status != .shutdown {
            self.world.blamed(cache[place].push)
        }
        let stays = self.manner.staysUntilEnd && !socket.hasEnded
        socket.isCircling = self.manner.circles && !socket.hasEnded
        if stays || socket.isCircling { socket.cache = [] } else { self.abandon(socket) }
        var copies: [(identifier: UInt32, push: Push)] = []
        switch (self.manner.reaction, place) {
        case (.nothing, _), (.followers, nil):
            break
        case (.followersOrAll, nil):
            copies = cache
        case (.followers, .some(let place)), (.followersOrAll, .some(let place)):
            let isNamedToo = response.status == .shutdown && self.manner.repeatsAfterShutdown
            if isNamedToo { self.world.allowCopy(of: cache[place].push.name) }
            copies = Array(cache[(isNamedToo ? place : place + 1)...])
        }
        guard !copies.isEmpty else { return true }
        if self.world.isForgotten(socket.wire) {
            for copy in copies { self.world.allowCopy(of: copy.push.name) }
        }
        for copy in self.reordered(copies).reversed() {
            self.again.prepend(Item(push: copy.push, copy: .followed, identifier: stays ? copy.identifier : nil))
        }
        let delay = Int64.random(in: self.manner.delays, using: &self.world.generator)
        guard delay > 0 else {
            self.sendAgain()
            return true
        }
        self.world.after(.milliseconds(delay)) {
            self.sendAgain()
            self.write()
        }
        return true
    }

    private func sendAgain() {
        if self.manner.circles {
            self.retries += self.again
        } else {
            for copy in self.again.reversed() { self.outbox.prepend(copy) }
        }
        self.again = []
    }

    private func reordered<Copy>(_ copies: [Copy]) -> [Copy] {
        guard self.manner.shuffle > 0 else { return copies }
        let places = copies.enumerated().map { place, copy in
            (place + Int.random(in: 0...self.manner.shuffle, using: &self.world.generator), copy)
        }
        return places.sorted { $0.0 < $1.0 }.map(\.1)
    }
}
