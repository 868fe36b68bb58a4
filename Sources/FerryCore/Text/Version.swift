/// The version of this source.
package enum Version {
    /// The version in SemVer form. It ends with `-dev` until it is released.
    package static let current = "0.1.0"
}
