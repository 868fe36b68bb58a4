# frozen_string_literal: true

require_relative 'helper'
require 'grocer'
require 'stringio'

# The server for tests, and the inner classes that programs used.
class GrocerServerTest < FerryTest
  def setup
    super
    @server = Grocer.server('port' => 0)
    @thread = @server.accept
  end

  def teardown
    ENV.delete('FERRY_CONFIG')
    @server.close
    assert @thread.join(5)
  end

  def local_pusher(options = {})
    with_environment('RACK_ENV' => 'test') { Grocer.pusher({ port: @server.port }.merge(options)) }
  end

  def pop
    Timeout.timeout(10) { @server.notifications.pop }
  end

  def test_each_file_of_the_original_can_be_required_alone
    files = Dir[File.join(ROOT, 'lib/{grocer,houston}/**/*.rb')].map { |file| file[%r{lib/(.*)\.rb}, 1] }
    assert_operator files.size, :>, 20
    program = 'ARGV.each { |file| Process.wait(fork { require file }); puts file unless $?.success? }'
    assert_equal ['', ''], run_ruby(program, {}, *files).first(2)
  end

  def test_what_a_pusher_sends_comes_out_of_the_queue
    _, errors = capture_subprocess_io do
      token = tokens(1).first
      [local_pusher, local_pusher(certificate: Simulator.certificate)].each do |pusher|
        common = { device_token: token, identifier: 7, expiry: Time.at(2_000_000_000) }
        pusher.push(Grocer::Notification.new(common.merge(alert: 'é', badge: 0, sound: 's', category: 'c', custom: { a: 1 },
                                                          content_available: true, mutable_content: true)))
        got = pop
        assert_equal [Grocer::Notification, token, 'é', 0, 's', 'c', { a: 1 }, Time.at(2_000_000_000)],
                     [got.class, got.device_token, got.alert, got.badge, got.sound, got.category, got.custom, got.expiry]
        assert got.content_available? && got.mutable_content?
        pusher.push(Grocer::SafariNotification.new(common.merge(title: 't', body: 'b', url_args: ['u'])))
        got = pop
        assert_equal [Grocer::SafariNotification, 't', 'b', ['u']], [got.class, got.title, got.body, got.url_args]
        pusher.push(Grocer::MobileDeviceManagementNotification.new(common.merge(push_magic: 'm')))
        assert_equal 'm', pop.push_magic
        pusher.push(Grocer::PassbookNotification.new(common))
        assert_nil pop.alert
      end
    end
    assert_equal '', errors
  end

  def test_a_pusher_outlives_servers
    pusher = local_pusher(retries: 1)
    2.times do
      @server.close
      error = assert_raises(Errno::ECONNREFUSED) { pusher.push(Grocer::Notification.new(device_token: '00fe', alert: 'x')) }
      refute_match(/certificate/, error.message)
      @server = Grocer.server(port: pusher.port)
      @thread = @server.accept
      pusher.push(Grocer::Notification.new(device_token: '00ff', alert: 'x'))
      assert_equal '00ff', pop.device_token
    end
  end

  def test_a_client_that_is_silent_or_talks_nonsense_keeps_nobody_waiting
    silent = TCPSocket.new('127.0.0.1', @server.port)
    nonsense = OpenSSL::SSL::SSLSocket.new(TCPSocket.new('127.0.0.1', @server.port))
    plain = TCPSocket.new('127.0.0.1', @server.port)
    _, errors = capture_subprocess_io do
      nonsense.connect
      nonsense.write('GET / HTTP/1.1')
      plain.write('GET / HTTP/1.1')
      assert_nil nonsense.read(1)
      local_pusher.push(Grocer::Notification.new(device_token: '00ff', alert: 'x'))
      assert_equal '00ff', pop.device_token
    end
    assert_equal "Grocer.server: No frame of the binary protocol begins with the byte 71.\n", errors
  ensure
    [silent, nonsense, plain].compact.each(&:close)
  end

  def test_a_reader_takes_all_commands
    bytes = [0, 2, '00ff', 2, '{}'].pack('CnH4na*') + [1, 5, 6, 2, '00fe', 2, '{}'].pack('CNNnH4na*')
    bytes += [2, 13, 1, 2, '00fd', 2, 2, '{}', 9, 0].pack('CNCnH4Cna2Cn')
    read = Grocer::NotificationReader.new(StringIO.new(bytes)).to_a
    assert_equal [['00ff', 0, 0], ['00fe', 5, 6], ['00fd', 0, 0]],
                 read.map { |note| [note.device_token, note.identifier, note.expiry.to_i] }
  end

  def test_a_pusher_takes_any_connection_and_any_notification
    bytes = Struct.new(:to_bytes)
    written = StringIO.new
    Grocer::Pusher.new(written).push(bytes.new('abc'))
    assert_equal 'abc', written.string
    local_pusher.push(bytes.new(Grocer::Notification.new(device_token: '00' * 32, alert: 'own').to_bytes))
    assert_equal 'own', pop.alert
    tuple = [1_600_000_000, 32, '11ff' * 16].pack('NnH*')
    attempt = Grocer::Feedback.new(StringIO.new(tuple)).first
    assert_equal [Time.at(1_600_000_000), '11ff' * 16], [attempt.timestamp, attempt.device_token]
    assert_raises(Grocer::InvalidFormatError) { Grocer::FailedDeliveryAttempt.new('s') }
  end

  def test_a_connection_writes_frames_and_reads_errors
    ENV['FERRY_CONFIG'] = Simulator.shared.config('http2')
    bad = Grocer::Notification.new(device_token: tokens(1, 'bad0').first, alert: 'x', identifier: 9).to_bytes
    connection = Grocer::PushConnection.new(certificate: Simulator.certificate)
    assert_nil connection.connect
    assert_nil connection.read(6) # and not the feedback list
    assert_equal bad.bytesize, connection.write(bad)
    response = Grocer::ErrorResponse.new(connection.read(6))
    assert_equal [8, 9, 'Invalid token'], [response.status_code, response.identifier, response.status]
    assert_raises(Grocer::InvalidFormatError) { Grocer::ErrorResponse.new('s') }
    assert_raises(Grocer::InvalidCommandError) { Grocer::ErrorResponse.new("\0" * 6) }
    assert_raises(Grocer::NoGatewayError) { Grocer::Connection.new(port: 1) }
    assert_raises(Grocer::NoPortError) { Grocer::Connection.new(gateway: 'x') }
  end

  def test_a_feedback_connection_reads_the_list
    ENV['FERRY_CONFIG'] = Simulator.shared.config('http2', feedback: File.join(Simulator::DIRECTORY, 'gone'))
    gone = tokens(1, '909e').first
    connection = Grocer::PushConnection.new(certificate: Simulator.certificate)
    connection.write(Grocer::Notification.new(device_token: gone, alert: 'x').to_bytes)
    assert_nil connection.read(6)
    assert_equal gone, Grocer::FeedbackConnection.new({}).read(38).unpack1('x6H*')
  end
end
