/// The version of this source.
enum Version {
    /// The version in SemVer form. It ends with `-dev` until it is released.
    static let current = "0.1.0"
}
