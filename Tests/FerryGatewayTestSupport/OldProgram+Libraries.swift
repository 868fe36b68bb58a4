import NIOCore

extension OldProgram.Manner {
    /// The libraries of the reference, as their sources and the wire show them.
    static let libraries: [OldProgram.Manner] = [
        .init(name: "node-apn"),
        .init(name: "node-apn, 4 connections", connections: 4),
        .init(name: "node-apn, cache 50", cacheLength: 50),
        .init(
            name: "Pushy",
            numbering: .fromOne,
            beginsWithIdentifier: true,
            cacheLength: 8192,
            connections: 4,
            circles: true
        ),
        .init(
            name: "Pushy, 1 connection",
            numbering: .fromOne,
            beginsWithIdentifier: true,
            cacheLength: 8192,
            circles: true
        ),
        .init(
            name: "java-apns",
            numbering: .goesOn,
            reaction: .followersOrAll,
            command: 1,
            commandOfCopies: 1,
            cacheLength: 100,
            resets: true
        ),
        .init(
            name: "JavaPNS",
            reading: .afterSilence(.seconds(5)),
            numbering: .goesOn,
            command: 1,
            commandOfCopies: 1,
            cacheLength: 100_000
        ),
        .init(name: "PyAPNs", numbering: .zero, commandOfCopies: 1, cacheLength: 100_000),
        .init(name: "PyAPNs, numbered", numbering: .random, commandOfCopies: 1, cacheLength: 100_000),
        .init(
            name: "apns-clerk",
            reading: .betweenWrites(tail: .seconds(3)),
            cacheLength: 100_000,
            delays: 0...100,
            connectionLength: 100
        ),
        .init(
            name: "django-push-notifications",
            reading: .never,
            numbering: .zero,
            reaction: .nothing,
            connectionLength: 20
        ),
        .init(
            name: "django-push-notifications, single",
            reading: .afterSilence(.seconds(1)),
            numbering: .zero,
            reaction: .nothing,
            connectionLength: 1
        ),
        .init(
            name: "PHP script",
            reading: .afterSilence(.milliseconds(500)),
            numbering: .zero,
            reaction: .nothing,
            command: 1,
            connectionLength: 1
        ),
        .init(
            name: "PHP script, fast",
            reading: .afterSilence(.milliseconds(200)),
            numbering: .zero,
            reaction: .nothing,
            command: 1,
            connectionLength: 1
        ),
        .init(
            name: "houston",
            reading: .betweenWrites(tail: .zero),
            reaction: .nothing,
            blamesCurrent: true,
            connectionLength: 200
        ),
        .init(name: "grocer", reading: .never, numbering: .zero, reaction: .nothing, command: 1),
        .init(
            name: "rpush",
            reading: .afterSilence(.seconds(1)),
            numbering: .goesOn,
            cacheLength: 100_000,
            delays: 500...2000,
            connectionLength: 100,
            repeatsAfterShutdown: true
        ),
        .init(
            name: "ApnsPHP",
            reading: .betweenWrites(tail: .seconds(1)),
            numbering: .fromOne,
            command: 1,
            commandOfCopies: 1,
            cacheLength: 100_000,
            repeatsAfterShutdown: true
        ),
        .init(name: "PushSharp", reading: .afterSilence(.milliseconds(500)), cacheLength: 1000),
        .init(
            name: "anachronistic",
            reading: .afterSilence(.seconds(5)),
            numbering: .random,
            reaction: .nothing,
            connectionLength: 1
        ),
        .init(name: "timehop", numbering: .goesOn, cacheLength: 50, shuffle: 20),
        .init(name: "go-libapns", numbering: .goesOn, cacheLength: 10_000, delays: 0...2000),
        .init(name: "uniqush", numbering: .goesOn, reaction: .nothing),
        .init(name: "Net::APNs", reading: .afterSilence(.seconds(3)), reaction: .nothing, command: 1),
        .init(name: "apns4erl", numbering: .goesOn, cacheLength: 1000, keepsFirst: true, staysUntilEnd: true),
        .init(name: "script that exits", reading: .never, numbering: .fromOne, reaction: .nothing, exits: true),
    ]
}
