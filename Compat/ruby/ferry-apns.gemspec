# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = 'ferry-apns'
  spec.version = '0.1.0'
  spec.summary = 'Push notifications to APNs through libferry, and drop-ins for houston and grocer'
  spec.authors = ['The Ferry authors']
  spec.license = 'Apache-2.0'
  spec.files = Dir.glob('lib/**/*.rb', base: __dir__) + ['bin/apn', 'README.md']
  spec.bindir = 'bin'
  spec.executables = ['apn']
  spec.required_ruby_version = '>= 2.5'
  # A part of Ruby before 3.5.
  spec.add_dependency 'fiddle'
end
