// A user imports one module: the shared interface, and the few types of other modules that appear in a configuration.
@_exported public import FerryCore
@_exported public import struct FerryBinary.BinaryOptions
@_exported public import struct FerryBinary.FeedbackTuple
@_exported public import struct FerryHTTP2.HTTP2Options
@_exported public import struct FerryOpenSSL.CertificateSummary
@_exported public import class FerryOpenSSL.ES256Key
@_exported public import struct FerryOpenSSL.TLSError
@_exported public import struct FerryOpenSSL.TLSIdentity
@_exported public import enum FerryOpenSSL.TLSProfile
@_exported public import enum FerryOpenSSL.TLSVersion
@_exported public import enum FerryOpenSSL.TrustRoots
