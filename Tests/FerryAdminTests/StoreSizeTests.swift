import FerryAdmin
import FerryPlatform
import Testing

@Suite(.timeLimit(.minutes(5))) struct StoreSizeTests {
    @Test func `the size has all files of the store, and is looked up once for many readers`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "ferry-\(UUID().uuidString)").path
        let files = [path, "\(path)-wal"]
        defer { for file in files { try? FileManager.default.removeItem(atPath: file) } }
        for file in files { try Data([1, 2, 3]).write(to: URL(filePath: file)) }
        let size = StoreSize(of: path)
        // A reader waits for half a second only.
        var bytes: Int?
        for _ in 0..<100 where bytes == nil { bytes = await size.bytes }
        #expect(bytes == 6)
        try Data([1]).write(to: URL(filePath: path))
        #expect(await size.bytes == 6)
    }
}
