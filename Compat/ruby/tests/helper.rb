# frozen_string_literal: true

require 'fileutils'
require 'json'
require 'minitest'
require 'open3'
require 'rbconfig'
require 'timeout'
require 'tmpdir'

ROOT = File.expand_path('..', __dir__)
$LOAD_PATH.unshift(File.join(ROOT, 'lib'))
ENV['RUBYLIB'] = File.join(ROOT, 'lib')
ENV.keys.grep(/\AAPN_|\A(RAILS|RACK)_ENV\z|\AFERRY_CONFIG\z/).each { |name| ENV.delete(name) }

require 'ferry'

# A directory of the run, and the simulated servers in it.
module Simulator
  COMMAND = ENV.fetch('FERRY_COMMAND', 'ferry')
  DIRECTORY = Dir.mktmpdir('ferry-ruby')
  TUPLES = [{ token: '11ff' * 16, time: 1_600_000_000 }, { token: '22ff' * 20, time: 1_600_000_001 }].freeze
  HTTP2_RULES = [{ prefix: 'bad0', status: 400, reason: 'BadDeviceToken' }, { prefix: '909e', status: 410 },
                 { prefix: '70b1', status: 400, reason: 'TopicDisallowed' }].freeze
  SCRIPT = {
    rules: [{ prefix: 'bad0', status: 8 }], feedback: { tuples: TUPLES }, http2: { rules: HTTP2_RULES }
  }.freeze

  # One run of the command.
  class Server
    attr_reader :ports

    def initialize(script)
      @directory = Dir.mktmpdir('server', DIRECTORY)
      File.write(path('script.json'), JSON.generate(script))
      files = ['--tls-dir', File.join(DIRECTORY, 'tls'), '--script', path('script.json'), '--record', path('record')]
      ports = %w[--binary 0 --feedback 0 --http2 0]
      @output = IO.popen([COMMAND, 'simulate', *ports, *files, { err: File::NULL }])
      @ports = JSON.parse(@output.gets, symbolize_names: true)
    end

    def path(name)
      File.join(@directory, name)
    end

    # The lines of the record so far.
    def record
      File.readlines(path('record')).grep(/\n\z/).map { |line| JSON.parse(line) }
    end

    # Writes a file for FERRY_CONFIG, and returns its path.
    def config(backend, others = {})
      server = { backend: backend, host: 'localhost', port: ports[backend.to_sym],
                 ca: File.join(DIRECTORY, 'tls/ca.pem'), feedback: path('gone') }
      server[:topic] = 'com.example.ferry' if backend == 'http2'
      server.merge!(feedbackHost: 'localhost', feedbackPort: ports[:feedback]) if backend == 'binary'
      file = path("config-#{rand(1 << 60)}.json")
      File.write(file, JSON.generate(server.merge(others)))
      file
    end

    # Options of the module.
    def options(backend, others = {})
      ca, cert, key = %w[ca.pem client.pem client-key.pem].map { |name| File.join(DIRECTORY, 'tls', name) }
      { backend: backend, host: 'localhost', port: ports[backend.to_sym], ca: ca, cert: cert, key: key }
        .merge(backend == 'http2' ? { topic: 'com.example.ferry' } : {}).merge(others)
    end

    def stop
      Process.kill('TERM', @output.pid)
      @output.close
    end
  end

  # The server that most tests use.
  def self.shared
    @shared ||= Server.new(SCRIPT).tap do
      parts = %w[client.pem client-key.pem].map { |name| File.read(File.join(DIRECTORY, 'tls', name)) }
      File.write(certificate, parts.join)
    end
  end

  def self.with(script)
    server = Server.new(script)
    yield server
  ensure
    server.stop if server
  end

  # One file with certificate and key.
  def self.certificate
    File.join(DIRECTORY, 'client-combined.pem')
  end

  def self.clean_up
    @shared.stop if @shared
    FileUtils.remove_entry(DIRECTORY)
  end
end

# What all tests have.
class FerryTest < Minitest::Test
  NUMBERS = (0..Float::INFINITY).each

  def setup
    Simulator.shared # Before any thread or child does.
  end

  # Returns so many new device tokens.
  def tokens(count, prefix = 'a0')
    Array.new(count) { format("#{prefix}%0#{64 - prefix.size}x", NUMBERS.next) }
  end

  # The server has accepted each of these tokens once. Its record is some tenths of a second late.
  def assert_arrived(tokens, server = Simulator.shared)
    counts = {}
    ends = Ferry.now + 10
    loop do
      counts = server.record.group_by { |line| line['token'] }.map { |token, lines| [token, lines.size] }.to_h
      break if tokens.all? { |token| counts[token] } || Ferry.now > ends
      sleep 0.02
    end
    assert_equal({ lost: 0, doubled: 0 }, lost: tokens.count { |token| counts[token].nil? },
                                          doubled: tokens.count { |token| (counts[token] || 0) > 1 })
  end

  # Runs a program in a process of its own. Returns its standard output, standard error and status.
  def run_ruby(program, environment = {}, *arguments)
    Timeout.timeout(30) { Open3.capture3(environment, RbConfig.ruby, '-w', '-e', program, *arguments) }
  end

  # Sets variables of the environment for the block.
  def with_environment(variables)
    before = variables.keys.map { |name| [name, ENV[name]] }
    variables.each { |name, value| ENV[name] = value }
    yield
  ensure
    before.each { |name, value| ENV[name] = value }
  end

  # Runs the block in a child, and returns what it returns.
  def in_child(at_end: :exit!)
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      result = begin
        yield
      rescue Exception => e # rubocop:disable Lint/RescueException
        "#{e.class}: #{e.message}"
      end
      Marshal.dump(result, writer)
      writer.close
      at_end == :exit! ? exit!(0) : exit(0)
    end
    writer.close
    result = Timeout.timeout(20) { Marshal.load(reader) } # rubocop:disable Security/MarshalLoad
    Process.wait(pid)
    result
  end

  def seconds
    start = Ferry.now
    yield
    Ferry.now - start
  end
end
