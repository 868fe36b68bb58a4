/// The version that this source is, or is to become.
enum Version {
    /// By SemVer; `-dev` until it is released.
    static let current = "0.1.0-dev"
}
