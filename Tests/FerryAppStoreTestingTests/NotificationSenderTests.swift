import FerryAppStore
import FerryAppStoreTesting
import Foundation
import Testing

@Suite struct NotificationSenderTests {
    private static let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))

    /// A sender with its own maker, whose posts a test answers.
    private struct Rehearsal {
        var maker: NotificationMaker
        var sender: NotificationSender
        var now = NotificationSenderTests.start

        init(
            _ options: NotificationSender.Options = .init(),
            environment: AppStoreEnvironment = .production
        ) throws {
            self.maker = try NotificationMaker(app: SimulatedNotificationTests.app, environment: environment)
            self.sender = NotificationSender(options, signer: self.maker.signer)
        }

        mutating func add(_ kind: SimulatedNotification.Kind) throws {
            self.sender.add(try self.maker.make(kind, at: self.now), at: self.now)
        }

        /// Goes from post to post until nothing is due. Returns the posts with their hours.
        mutating func run(
            _ answer: (NotificationSender.Post) -> NotificationAnswer
        ) throws -> [(hours: Double, post: NotificationSender.Post)] {
            var posts: [(Double, NotificationSender.Post)] = []
            while let due = self.sender.nextDue {
                self.now = max(self.now, due)
                while let post = try self.sender.next(at: self.now) {
                    posts.append((self.now.timeIntervalSince(NotificationSenderTests.start) / 3600, post))
                    self.sender.answered(post.id, answer(post), at: self.now)
                }
            }
            return posts
        }
    }

    @Test func `version 2 is sent six times in 157 hours`() throws {
        var rehearsal = try Rehearsal()
        try rehearsal.add(.init(.didRenew))
        let posts = try rehearsal.run { _ in .status(503) }
        #expect(posts.map(\.hours) == [0, 1, 13, 37, 85, 157])
        #expect(Set(posts.map(\.post.notification.signedPayload)).count == 1)
        let record = try #require(rehearsal.sender.records.first)
        #expect(record.state == .abandoned)
        #expect(record.attempts.map(\.answer.result) == Array(repeating: .unsuccessfulStatus, count: 6))
    }

    @Test func `version 1 is sent four times in 78 hours, each time with another receipt`() throws {
        var rehearsal = try Rehearsal()
        rehearsal.sender.add(rehearsal.maker.makeVersion1(.init(.didRenew), at: Self.start), at: Self.start)
        let posts = try rehearsal.run { _ in .failure(.timedOut) }
        #expect(posts.map(\.hours) == [0, 6, 30, 78])
        #expect(Set(posts.map(\.post.notification.post)).count == 4)
    }

    @Test func `the sandbox sends once`() throws {
        var rehearsal = try Rehearsal(environment: .sandbox)
        try rehearsal.add(.init(.didRenew))
        #expect(try rehearsal.run { _ in .status(500) }.count == 1)
    }

    @Test(arguments: [
        (200, 1), (204, 1), (206, 1), (400, 6), (403, 6), (408, 6), (500, 6), (503, 6), (301, 1), (307, 1), (413, 1),
        (422, 1), (429, 1), (207, 1),
    ])
    func `the status decides whether a notification is sent again`(_ status: Int, _ count: Int) throws {
        var rehearsal = try Rehearsal()
        try rehearsal.add(.init(.refund))
        #expect(try rehearsal.run { _ in .status(status) }.count == count)
        #expect(rehearsal.sender.records[0].isDelivered == (200...206 ~= status))
    }

    @Test func `options decide about 400 and about statuses that promise nothing`() throws {
        var options = NotificationSender.Options()
        options.refusesRetryAfter400 = true
        options.retriesOtherStatuses = true
        var rehearsal = try Rehearsal(options)
        try rehearsal.add(.init(.refund))
        #expect(try rehearsal.run { _ in .status(400) }.count == 1)
        try rehearsal.add(.init(.refund))
        #expect(try rehearsal.run { _ in .status(302) }.count == 6)
    }

    @Test func `a request for consumption comes with a new UUID each time`() throws {
        var rehearsal = try Rehearsal()
        try rehearsal.add(.init(.consumptionRequest))
        var left = 3
        let posts = try rehearsal.run { _ in
            left -= 1
            return .status(left > 0 ? 500 : 200)
        }
        #expect(posts.map(\.hours) == [0, 1, 13])
        #expect(Set(posts.map(\.post.notification.uuid)).count == 3)
        #expect(rehearsal.sender.records.map(\.state) == [.abandoned, .abandoned, .delivered])
        let verifier = try SimulatedNotificationTests.verifier(rehearsal.maker)
        for (_, post) in posts {
            #expect(try verifier.verify(post: post.notification.post).uuid == post.notification.uuid)
        }
    }

    @Test func `retries can be signed anew, under the same UUID`() throws {
        var options = NotificationSender.Options()
        options.signsRetriesAnew = true
        var rehearsal = try Rehearsal(options)
        try rehearsal.add(.init(.didRenew))
        let posts = try rehearsal.run { _ in .status(500) }
        #expect(Set(posts.map(\.post.notification.uuid)).count == 1)
        #expect(Set(posts.map(\.post.notification.signedPayload)).count == 6)
        #expect(posts.last?.post.notification.signedDate == Self.start.addingTimeInterval(157 * 3600))
    }

    @Test func `a fraction is sent again although it was delivered`() throws {
        var options = NotificationSender.Options()
        options.duplicates = 0.25
        var rehearsal = try Rehearsal(options)
        for _ in 0..<200 { rehearsal.sender.add(rehearsal.maker.makeVersion1(.init(.didRenew)), at: Self.start) }
        let posts = try rehearsal.run { _ in .status(200) }
        let duplicates = posts.filter(\.post.isDuplicate)
        #expect(30...70 ~= duplicates.count)
        #expect(posts.count == 200 + duplicates.count)
        #expect(rehearsal.sender.records.allSatisfy { $0.state == .delivered })
    }

    @Test func `a fraction arrives in another order than it was made in`() throws {
        var options = NotificationSender.Options()
        options.reordered = 0.5
        var rehearsal = try Rehearsal(options)
        for _ in 0..<100 { rehearsal.sender.add(rehearsal.maker.makeVersion1(.init(.didRenew)), at: Self.start) }
        let uuids = try rehearsal.run { _ in .status(200) }.map(\.post.notification.uuid)
        #expect(Set(uuids).count == 100)
        #expect(uuids != rehearsal.sender.records.map(\.notification.uuid))
    }

    @Test func `faults of delivery never concern the last attempt`() throws {
        var options = NotificationSender.Options()
        options.cuts = 1
        var rehearsal = try Rehearsal(options)
        try rehearsal.add(.init(.didRenew))
        let posts = try rehearsal.run { $0.delivery == .cut ? .failure(.socketIssue) : .status(200) }
        #expect(posts.map(\.post.delivery) == [.cut, .cut, .cut, .cut, .cut, .whole])
        #expect(rehearsal.sender.records[0].isDelivered)
    }

    @Test func `another answer to the same post is ignored`() throws {
        var rehearsal = try Rehearsal()
        try rehearsal.add(.init(.didRenew))
        let post = try #require(try rehearsal.sender.next(at: Self.start))
        #expect(try rehearsal.sender.next(at: Self.start) == nil)
        rehearsal.sender.answered(post.id, .status(200), at: Self.start)
        #expect(rehearsal.sender.answered(post.id, .status(500), at: Self.start) == nil)
        #expect(rehearsal.sender.records[0].state == .delivered)
    }
}
