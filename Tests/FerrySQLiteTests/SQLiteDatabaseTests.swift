import FerrySQLite
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite struct SQLiteDatabaseTests {
    private func withFile(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try body(directory.appending(path: "test.db").path)
    }

    private func numbers(_ database: SQLiteDatabase) throws -> [Int64] {
        var numbers: [Int64] = []
        try database.prepare("SELECT n FROM t ORDER BY n").run { row throws(SQLiteError) in
            numbers.append(row.integer(0))
        }
        return numbers
    }

    @Test func `committed rows are there when the file is opened again`() throws {
        try self.withFile { path in
            do {
                let database = try SQLiteDatabase(path: path, durability: .process)
                try database.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, b BLOB)")
                let insert = try database.prepare("INSERT INTO t VALUES (?, ?)")
                try insert.run([.integer(1), .blob([1, 2, 3])])
                try insert.run([.integer(2), .blob([])])
            }
            let database = try SQLiteDatabase(path: path, durability: .power)
            var blobs: [[UInt8]] = []
            try database.prepare("SELECT b FROM t ORDER BY n").run { row throws(SQLiteError) in
                blobs.append(row.blob(0))
            }
            #expect(blobs == [[1, 2, 3], []])
        }
    }

    @Test func `a transaction that fails leaves no change`() throws {
        try self.withFile { path in
            let database = try SQLiteDatabase(path: path, durability: .process)
            try database.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
            #expect(throws: SQLiteError.self) {
                try database.transaction { () throws(SQLiteError) in
                    try database.execute("INSERT INTO t VALUES (1)")
                    try database.execute("INSERT INTO t VALUES (1)")
                }
            }
            #expect(try self.numbers(database) == [])
            try database.transaction { () throws(SQLiteError) in try database.execute("INSERT INTO t VALUES (2)") }
            #expect(try self.numbers(database) == [2])
        }
    }

    @Test func `damage that a search steps over is found when the file is opened`() throws {
        try self.withFile { path in
            do {
                let database = try SQLiteDatabase(path: path, durability: .process)
                try database.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, b BLOB)")
                let insert = try database.prepare("INSERT INTO t VALUES (?, ?)")
                for number in 1...1000 as ClosedRange<Int64> {
                    try insert.run([.integer(number), .blob(Array(repeating: 7, count: 100))])
                }
            }
            var file = try Data(contentsOf: URL(filePath: path))
            // A page of 4096 bytes with rows begins with 13; its first two rows stand at bytes 8 to 11.
            let page = try #require(stride(from: 4096, to: file.count, by: 4096).first { file[$0] == 13 })
            file.replaceSubrange(page + 8..<page + 12, with: file[page + 10..<page + 12] + file[page + 8..<page + 10])
            try file.write(to: URL(filePath: path))
            let error = #expect(throws: SQLiteError.self) { try SQLiteDatabase(path: path, durability: .process) }
            #expect(error?.kind == .damaged)
        }
    }

    @Test func `a second connection is told that the file is locked`() throws {
        try self.withFile { path in
            let database = try SQLiteDatabase(path: path, durability: .process)
            let error = #expect(throws: SQLiteError.self) { try SQLiteDatabase(path: path, durability: .process) }
            #expect(error?.kind == .locked)
            try database.execute("CREATE TABLE t (n INTEGER)")
        }
    }

    @Test func `a file that is no database is called damaged`() throws {
        try self.withFile { path in
            try Data(repeating: 65, count: 65_536).write(to: URL(filePath: path))
            let error = #expect(throws: SQLiteError.self) { try SQLiteDatabase(path: path, durability: .process) }
            #expect(error?.kind == .damaged)
        }
    }

    @Test func `a directory that does not exist is named`() throws {
        let error = #expect(throws: SQLiteError.self) {
            try SQLiteDatabase(path: "/nonexistent/test.db", durability: .process)
        }
        #expect(error?.kind == .inaccessible)
        #expect(error?.description.contains("/nonexistent/test.db") == true)
    }

    @Test func `only the owner may read the file and its log`() throws {
        try self.withFile { path in
            let database = try SQLiteDatabase(path: path, durability: .process)
            try database.execute("CREATE TABLE t (n INTEGER)")
            for name in [path, "\(path)-wal"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: name)
                #expect((attributes[.posixPermissions] as? Int).map { $0 & 0o077 } == 0, "\(name)")
            }
        }
    }

    @Test func `a copy in steps ends while rows are written, and has all of them`() throws {
        try self.withFile { path in
            let database = try SQLiteDatabase(path: path, durability: .process)
            try database.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, b BLOB)")
            let insert = try database.prepare("INSERT INTO t VALUES (?, ?)")
            var last: Int64 = 0
            func write(_ count: Int) throws {
                try database.transaction { () throws(SQLiteError) in
                    for _ in 0..<count {
                        last += 1
                        try insert.run([.integer(last), .blob([UInt8](repeating: 7, count: 10_000))])
                    }
                    // The first pages were copied long ago, and change with each commit.
                    try database.execute("UPDATE t SET b = zeroblob(10000) WHERE n = 1 + \(last) % 3")
                }
            }
            try write(200)
            let backup = try database.backup(to: "\(path)-copy")
            var (steps, left): (Int, [Int]) = (0, [])
            while try !backup.step(pages: 16) {
                steps += 1
                left.append(backup.remaining)
                try write(2)
                guard steps < 1000 else {
                    Issue.record("the copy begins anew with each commit")
                    return
                }
            }
            backup.end()
            #expect(steps > 20 && left == left.sorted(by: >))
            let copy = try SQLiteDatabase(path: "\(path)-copy", durability: .process)
            for query in ["SELECT count(*) FROM t", "SELECT sum(n) FROM t", "SELECT sum(b = zeroblob(10000)) FROM t"] {
                var values: [Int64] = []
                for database in [database, copy] {
                    try database.prepare(query).run { row throws(SQLiteError) in values.append(row.integer(0)) }
                }
                #expect(values.count == 2 && values[0] == values[1], "\(query)")
            }
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)-copy")
            #expect((attributes[.posixPermissions] as? Int).map { $0 & 0o077 } == 0)
        }
    }

    @Test func `a copy replaces no file, and half a copy leaves the database alone`() throws {
        try self.withFile { path in
            let database = try SQLiteDatabase(path: path, durability: .process)
            try database.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
            try Data([1]).write(to: URL(filePath: "\(path)-copy"))
            let error = #expect(throws: SQLiteError.self) { _ = try database.backup(to: "\(path)-copy") }
            #expect(error?.description.contains("File exists") == true)
            let backup = try database.backup(to: "\(path)-half")
            _ = try backup.step(pages: 1)
            backup.end()
            #expect(throws: SQLiteError.self) { _ = try backup.step(pages: 1) }
            try database.execute("INSERT INTO t VALUES (1)")
            #expect(try self.numbers(database) == [1])
        }
    }

    @Test func `tables are made once, and a file of a later version is refused`() throws {
        try self.withFile { path in
            let database = try SQLiteDatabase(path: path, durability: .process)
            for _ in 0..<2 {
                try database.make(version: 3) { _ throws(SQLiteError) in
                    try database.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
                }
            }
            let error = #expect(throws: SQLiteError.self) {
                try database.make(version: 2) { _ throws(SQLiteError) in }
            }
            #expect(error?.description.contains("a later version of Ferry wrote it") == true)
        }
    }
}
