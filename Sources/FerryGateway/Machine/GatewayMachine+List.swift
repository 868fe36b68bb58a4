internal import FerryMachine
internal import NIOCore

extension GatewayMachine {
    /// Notes the lines of new events. With a store, a line is a row in the same commit as the answer that it reports.
    func noteLines(now: Moment) {
        guard self.list != nil || self.isShared else { return }
        for event in self.takeUnlisted() {
            self.share(event, now: now)
            let segment = self.journal?.number ?? 0
            guard let (rows, lost) = self.list?.note(event, segment: segment, at: now.epochSeconds) else { continue }
            self.keep(rows, now: now)
            self.countUnlisted(lost)
        }
        if self.isFenced, let durable = self.journal?.durable { self.list?.leave(durable: durable) }
    }

    /// Notes the line of an event in a shared store, which is a list of rejections itself. The key is the number of the
    /// job, or a new number if the event has no job. If another process hears the same answer for the job, the line of
    /// that process has the same key, and is not listed twice.
    private func share(_ listed: ListedEvent, now: Moment) {
        guard let line = self.sharedLine?.bytes(of: listed.event, at: now.epochSeconds) else { return }
        let key = listed.job ?? self.dispatch.jobs.reserve()
        let row = StoreChange(.rejections, key: key.rawValue.bigEndianBytes, value: Array(line.dropLast()))
        self.journal?.change([row], now: now)
    }

    /// Notes rows with which the next process continues the file. A shared store does not get these rows, because its
    /// next process has another file.
    private func keep(_ rows: [StoreChange], now: Moment) {
        if !self.isShared { self.journal?.change(rows, now: now) }
    }

    /// Returns the next lines for the file of the list of rejections. Call it before ``takeEvents()``, and pass the
    /// file's answer to ``written(_:now:)``.
    func takeLines(now: Moment) -> ListBatch? {
        self.noteLines(now: now)
        return self.list?.takeBatch(durable: self.listDurable, now: now.monotonic)
    }

    /// The number up to which segments are durable for the list. At the end of a gateway with a shared store, and
    /// after another process has taken the store, lines do not wait for the store, because only the file may get
    /// them.
    private var listDurable: UInt64 {
        let isLast = self.isFenced || self.isShared && self.dispatch.isAbandoned
        return isLast ? .max : self.journal?.durable ?? .max
    }

    /// When to call ``takeLines(now:)`` again; nil if only an input can change its result.
    var listDeadline: NIODeadline? { self.list?.nextDeadline(durable: self.listDurable) }

    /// Takes the file's answer to the last lines.
    func written(_ answer: ListAnswer, now: Moment) {
        let segment = self.isShared ? 0 : self.journal?.number ?? 0
        self.keep(self.list?.written(answer, segment: segment, now: now.monotonic) ?? [], now: now)
    }

    /// Takes the lines that an earlier process left, before the first input.
    func restoreList(_ rows: [StoreRow], place: [StoreRow]) {
        let place = place.first { $0.key == RejectionList.placeKey }.flatMap { ListPlace($0.value) }
        self.list?.restore(rows, place: place)
    }

    /// Whether another process has the store, and no commit is handed over to that process.
    private var isFenced: Bool { self.journal?.isFenced ?? false }

    // MARK: The end

    /// Whether the process can end without more waiting for the store and the file: each has everything, or accepts
    /// nothing. Call ``tryRest()`` first.
    var isWritten: Bool {
        self.journal?.isOver ?? true && self.list.map { $0.isIdle || $0.isStuck } ?? true
    }

    /// Tries the store and the file once more, without a pause.
    func tryRest() {
        self.journal?.tryNow()
        self.list?.tryNow()
    }

    /// Gives up the lines that are not in the file, and that no store keeps for the file of the next process.
    func abandonList() {
        self.countUnlisted(self.list?.abandon(durable: self.isFenced ? self.journal?.durable : nil) ?? 0)
    }
}
