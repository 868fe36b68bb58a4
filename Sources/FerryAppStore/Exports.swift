// These are the types of other modules that a configuration names. A program then needs to import one module only.
@_exported public import class FerryOpenSSL.ES256Key
@_exported public import struct FerryOpenSSL.TLSError
@_exported public import struct FerryOpenSSL.TLSIdentity
@_exported public import enum FerryOpenSSL.TrustRoots
@_exported public import struct FerryProxy.HTTPProxy
