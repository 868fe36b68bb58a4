// A program imports one module. Besides the shared interface it gets the types of other modules that a configuration
// names.
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
@_exported public import struct FerryProxy.HTTPProxy
