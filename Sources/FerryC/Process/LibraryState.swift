internal import FerryPlatform
internal import NIOPosix

/// The handles and the threads that the library has in this process.
struct LibraryState {
    /// One entry in the table of handles. The number of a handle has the index in its lower 32 bits, and the generation
    /// above them. Generations begin at 1.
    private struct Place {
        var handle: Resource?
        /// The process that opened the handle.
        var process: UInt64 = 0
        var generation: UInt64 = 1
    }

    /// The largest number of open handles.
    static let handleLimit = 65_536
    /// While this many freed handles still send, `ferry_open` fails, because each of them costs as much as a provider.
    /// Handles that are already open can still be freed, so there may be more of them.
    private static let endingLimit = 256

    /// The number of forks between the process that loaded the library and this one. A process identifier would not do,
    /// because a child in its own namespace may have the parent's identifier.
    private var process: UInt64 = 0
    private var places: [Place] = []
    private var free: [Int] = []
    private var threads: (process: UInt64, ProcessThreads)?
    /// The shared providers, by the key of ``sharedProvider(_:_:)``: the name, or the name and the merged options.
    private var shared: [String: SharedProvider] = [:]
    /// The shutdowns that go on after their handles were freed.
    private var endings: [Ending] = []
    /// The objects that belong to the parent process. They are kept for ever, because freeing them would touch the
    /// parent's threads.
    private var inherited: [any Sendable] = []
    /// The descriptors of feedback lists that were taken. The child closes its copies, because an open copy keeps the
    /// list locked.
    private var takenLists: Set<Int32> = []

    /// The object behind a number.
    enum Resource {
        case provider(Handle)
        case feedback(FeedbackList)
    }

    enum Found {
        case resource(Resource)
        case none
        /// The object belongs to the parent process.
        case forked
    }

    /// The state of this process. A child of `fork` begins with a copy: see ``ForkGate``.
    static let shared = Monitor(LibraryState())

    /// Notes that this process is a child of `fork`.
    mutating func forked() {
        self.process += 1
        self.inherited.append(self.shared)
        self.inherited.append(self.endings)
        self.shared = [:]
        self.endings = []
        for descriptor in self.takenLists { close(descriptor) }
        self.takenLists = []
    }

    mutating func noteTakenList(_ descriptor: Int32) { self.takenLists.insert(descriptor) }

    /// Closes the descriptor of a taken list, unless this is a child that has closed its copy.
    mutating func closeTakenList(_ descriptor: Int32) {
        if self.takenLists.remove(descriptor) != nil { close(descriptor) }
    }

    /// The threads of this process; nil if they were not started.
    var runningThreads: ProcessThreads? { self.threads.flatMap { $0.process == self.process ? $0.1 : nil } }

    /// Returns the threads of this process, and starts them if necessary.
    mutating func startedThreads() throws -> ProcessThreads {
        if let runningThreads { return runningThreads }
        let started = try ProcessThreads.start(loops: max(min(Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))), 4), 1))
        self.threads = (self.process, started)
        return started
    }

    /// Adds a handle, and returns its number; nil if there are too many handles.
    mutating func add(_ handle: Resource) -> Int64? {
        let index: Int
        if let last = self.free.popLast() {
            index = last
        } else {
            guard self.places.count < Self.handleLimit else { return nil }
            self.places.append(Place())
            index = self.places.count - 1
        }
        self.places[index].handle = handle
        self.places[index].process = self.process
        return Int64(self.places[index].generation << 32) | Int64(index)
    }

    func find(_ number: UInt64) -> Found {
        guard let index = self.index(of: number), let handle = self.places[index].handle else { return .none }
        return self.places[index].process == self.process ? .resource(handle) : .forked
    }

    private func index(of number: UInt64) -> Int? {
        let index = Int(number & 0xffff_ffff)
        guard index < self.places.count, self.places[index].generation == number >> 32 else { return nil }
        return index
    }

    /// Removes a handle and returns it. A handle of the parent process is kept for ever, because freeing it would touch
    /// the parent's threads.
    mutating func remove(_ number: UInt64) -> Found {
        let found = self.find(number)
        guard case .resource = found, let index = self.index(of: number) else { return found }
        self.places[index].handle = nil
        self.places[index].generation += 1
        // The generation is limited, so that the number of a handle stays positive as an `int64_t`.
        if self.places[index].generation < 1 << 31 { self.free.append(index) }
        return found
    }

    // MARK: Shared providers

    /// Returns the first shared provider with this name; the provider with this name whose merged options are `merged`;
    /// and the key under which a new one would be added.
    func sharedProvider(
        _ name: String,
        _ merged: String
    ) -> (first: SharedProvider?, version: SharedProvider?, key: String) {
        guard let first = self.shared[name] else { return (nil, nil, name) }
        guard first.merged != merged else { return (first, first, name) }
        let key = "\(name)\0\(merged)"
        return (first, self.shared[key], key)
    }

    /// Adds a shared provider. If the name is taken, returns the provider that has it; nil if there are too many shared
    /// providers.
    mutating func add(_ provider: SharedProvider, as name: String) -> SharedProvider? {
        if let other = self.shared[name] { return other }
        guard self.shared.count < SharedProvider.limit else { return nil }
        self.shared[name] = provider
        return provider
    }

    // MARK: The end

    /// Whether too many freed handles still send. If so, `ferry_open` fails.
    var isFullOfEndings: Bool { self.endings.count >= Self.endingLimit }

    mutating func add(_ ending: Ending) { self.endings.append(ending) }

    mutating func remove(_ ending: Ending) { self.endings.removeAll { $0 === ending } }

    /// The shutdowns that the end of the process waits for.
    var endingsAtExit: [Ending] {
        var endings = self.endings
        for place in self.places where place.process == self.process {
            guard case .provider(let handle) = place.handle, handle.settings.exitLimit > .zero else { continue }
            guard !handle.isOfSharedProvider, !handle.mailbox.isSettled else { continue }
            endings.append(Ending(handle.backend, within: handle.settings.exitLimit))
        }
        // A shared provider may still send for handles that were freed.
        for provider in self.shared.values where provider.exitLimit > .zero {
            endings.append(Ending(provider.backend, within: provider.exitLimit))
        }
        return endings
    }
}
