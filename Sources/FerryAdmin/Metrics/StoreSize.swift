internal import FerryPlatform

/// The size of a store on disk.
package enum StoreSize {
    /// The bytes of a store with the files that SQLite keeps beside it.
    package static func bytes(_ path: String) -> Int {
        ["", "-wal", "-shm"].reduce(0) { sum, suffix in
            var status = stat()
            return stat(path + suffix, &status) == 0 ? sum + Int(status.st_size) : sum
        }
    }
}
