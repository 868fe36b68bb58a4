# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = 'ferry-apns-houston'
  spec.version = '0.1.0'
  spec.summary = 'houston 2.4 over libferry'
  spec.description = 'The names of houston 2.4 over libferry: programs that were written for it deliver over HTTP/2 as they are.'
  spec.authors = ['The Ferry authors']
  spec.homepage = ENV['FERRY_HOMEPAGE'] # The publisher sets it.
  spec.license = 'Apache-2.0'
  spec.required_ruby_version = '>= 2.5'
  spec.files = ['lib/houston.rb', 'bin/apn', 'README.md'] + Dir.glob('{lib/houston/**/*.rb,LICENSE}', base: __dir__).sort
  spec.bindir = 'bin'
  spec.executables = ['apn']
  spec.add_dependency 'ferry-apns', spec.version.to_s
end
