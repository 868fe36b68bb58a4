# frozen_string_literal: true

require_relative 'helper'
require 'houston'

# Programs that write frames to a connection of their own, and the command `apn`.
class HoustonConnectionTest < FerryTest
  URI = 'apn://gateway.push.apple.com:2195'

  def teardown
    ENV.delete('FERRY_CONFIG')
  end

  def configure(backend)
    ENV['FERRY_CONFIG'] = Simulator.shared.config(backend, backend == 'binary' ? { settleTime: 0.2 } : {})
  end

  def connect(backend, &block)
    configure(backend)
    Houston::Connection.open(URI, File.read(Simulator.certificate), nil, &block)
  end

  def frame(token, id)
    Houston::Notification.new(token: token, alert: 'Hello', id: id, priority: 5, expiry: 2_000_000_000).message
  end

  def apn(*arguments)
    Open3.capture3(RbConfig.ruby, '-w', File.join(ROOT, 'bin/apn'), *arguments)
  end

  def test_a_connection_has_the_names_of_the_original
    assert_nil Houston::Connection.open(URI, 'x', nil)
    connection = Houston::Connection.new(URI, :x, nil)
    assert_equal ['apn', 'gateway.push.apple.com', 2195, 'x', nil],
                 [connection.scheme, connection.host, connection.port, connection.certificate, connection.passphrase]
    assert connection.closed? && !connection.open? && connection.ssl.nil? && connection.socket.nil?
    assert_equal false, connection.close
    assert_raises(OpenSSL::X509::CertificateError) { connection.open }
    assert connection.closed?
    connect('http2') do |open|
      assert open.open? && !open.closed?
      assert_equal false, open.open
      assert_nil open.close
      assert_equal false, open.close
    end
  end

  %w[http2 binary].each do |backend|
    define_method("test_frames_are_sent_and_errors_are_read_over_#{backend}") do
      good = tokens(3)
      bad = tokens(2, 'bad0')
      connect(backend) do |connection|
        bytes = frame(good[0], 1) + [0, 32, good[1], 2, '{}'].pack('CnH64na*') +
                [1, 7, 2_000_000_000, 32, bad[0], 2, '{}'].pack('CNNnH64na*')
        bytes.bytes.each_slice(7) { |slice| connection.write(slice.pack('C*')) }
        assert_equal [[connection.ssl], [connection.ssl]],
                     [IO.select([connection.ssl], nil, nil, 10)[0], IO.select(nil, [connection.ssl], nil, 10)[1]]
        assert_equal [8, 8, 7].pack('CCN'), connection.read(6)
        connection.ssl.write(frame(bad[1], 0xffffffff) + frame(good[2], 4) + frame('', 5)[0, 5])
        assert_equal [8, 8, 0xffffffff].pack('CCN'), connection.read(6)
        assert_nil connection.read(6)
        assert_nil IO.select([connection.socket], nil, nil, 0)
      end
      assert_arrived(good)
    end

    define_method("test_the_command_says_what_became_of_each_over_#{backend}") do
      good = tokens(2)
      bad = tokens(1, 'bad0')
      configure(backend)
      output, errors, status = apn('push', *good, '-m', 'Hello', '-b', '3', '-d', 'a=b=c,d', '-c', Simulator.certificate)
      assert_equal ["2 push notifications sent successfully\n", '', 0], [output, errors, status.exitstatus]
      assert_arrived(good)
      payload = Simulator.shared.record.find { |line| line['token'] == good[0] }['payload']
      assert_equal({ 'a' => 'b=c', 'd' => '', 'aps' => { 'alert' => 'Hello', 'badge' => 3 } }, payload)
      pem = File.read(Simulator.certificate)
      output, errors, status = apn('push', *bad, *tokens(1), '-P', '{"x":1}', '-e', 'production', '-r', pem)
      assert_equal ["1 push notification sent successfully\n", 1], [output, status.exitstatus]
      assert_equal "1 push notification unsuccessful (\n - #{bad[0]}: Invalid token)\n", errors
    end
  end

  def test_what_is_no_frame_raises_after_what_was_one
    good = tokens(1)
    connect('http2') do |connection|
      assert_raises(ArgumentError) { connection.write(frame(good[0], 1) + 'GET / HTTP/1.1') }
      assert_raises(ArgumentError) { connection.write([2, 1 << 20].pack('CN')) }
    end
    connect('http2') { |open| assert_raises(ArgumentError) { open.write([2, 3, 1, 9].pack('CNCn')) } }
    connect('http2') do |open|
      open.write([1, 9, 0, 0, 2, '{}'].pack('CNNnna*'))
      assert_equal [8, 2, 9].pack('CCN'), open.read(6)
      assert_nil open.read(6)
    end
    assert_arrived(good)
  end

  def test_a_connection_that_nothing_was_written_to_reads_the_feedback_list
    expected = Simulator::TUPLES.map { |tuple| [tuple[:time], tuple[:token].size / 2, tuple[:token]].pack('NnH*') }.join
    Simulator.with(Simulator::SCRIPT) do |server|
      ENV['FERRY_CONFIG'] = server.config('binary')
      Houston::Connection.open(URI, File.read(Simulator.certificate), nil) do |connection|
        assert_equal expected[0, 38], connection.read(38)
        assert_equal expected[38..-1], connection.read
        assert_nil connection.read(38)
      end
    end
  end

  def test_an_outcome_that_the_program_cannot_read_goes_to_standard_error
    _, errors = capture_subprocess_io do
      connect('http2') do |connection|
        connection.write(frame(tokens(1, '70b1')[0], 1))
        assert_nil connection.read(6)
      end
    end
    assert_match(/\AHouston::Connection: notifications that did not arrive, or may not have: 1 rejected \(TopicDisallowed\)/, errors)
  end

  def test_the_command_reads_the_feedback_list_and_names_a_fault
    Simulator.with(Simulator::SCRIPT) do |server|
      ENV['FERRY_CONFIG'] = server.config('binary')
      output, errors, status = apn('feedback', '-c', Simulator.certificate)
      assert_equal ['', 0], [errors, status.exitstatus]
      assert_equal Simulator::TUPLES.map { |tuple| tuple[:time] }, JSON.parse(output).map { |line| line['timestamp'] }
    end
    ENV.delete('FERRY_CONFIG')
    { %w[push -m x] => 'One or more device tokens required', %w[push 00ff] => 'Payload contents required',
      %w[push 00ff -m x] => 'Missing certificate option', %w[push 00ff -m x -c /nowhere] => "Could not find certificate",
      %w[push 00ff -m x -e test] => "Invalid environment 'test'", %w[push 00ff -P []] => 'it is no object',
      %w[push 00ff -P {] => 'Exception parsing JSON payload', %w[push 00ff -m x -r y] => 'Exception sending notification',
      %w[push --colour] => 'invalid option', %w[nothing] => "Invalid command 'nothing'" }.each do |arguments, sentence|
      output, errors, status = apn(*arguments)
      assert_equal ['', 1], [output, status.exitstatus], arguments.inspect
      assert_includes errors, sentence
      assert_equal 1, errors.lines.size, errors
    end
    assert_equal "apn 2.4.0\n", apn('--version')[0]
    assert_includes apn[0], 'apn feedback [options]'
  end
end
