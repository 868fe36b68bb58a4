# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = 'ferry-apns'
  spec.version = '0.1.0'
  spec.summary = 'Push notifications to APNs through libferry'
  spec.description = 'Sends to APNs over HTTP/2, and to gateways of the legacy binary protocol, from Ruby 2.5 or later on Linux with glibc.'
  spec.authors = ['The Ferry authors']
  spec.homepage = ENV['FERRY_HOMEPAGE'] # The publisher sets it.
  spec.license = 'Apache-2.0'
  spec.required_ruby_version = '>= 2.5'
  # With the library the gem is for one kind of machine.
  library = Dir.glob('lib/ferry/libferry.so.0', base: __dir__)
  spec.platform = 'x86_64-linux' unless library.empty?
  spec.files = ['lib/ferry.rb', 'README.md'] + Dir.glob('{lib/ferry/*.rb,LICENSE,licences/*}', base: __dir__).sort + library
end
