# frozen_string_literal: true

require_relative 'helper'
require 'grocer'
require 'openssl'
require 'stringio'

class GrocerTest < FerryTest
  def teardown
    ENV.delete('FERRY_CONFIG')
    Grocer.on_failure
  end

  def pusher(backend, others = {}, options = {})
    ENV['FERRY_CONFIG'] = Simulator.shared.config(backend, others)
    Grocer.pusher({ certificate: Simulator.certificate }.merge(options))
  end

  def note(token, others = {})
    Grocer::Notification.new({ device_token: token, alert: 'Hello' }.merge(others))
  end

  # Collects what the block of on_failure gets.
  def told_queue
    Queue.new.tap { |queue| Grocer.on_failure { |notification, outcome| queue << [notification, outcome] } }
  end

  def payload_of(notification)
    JSON.parse(notification.to_bytes.byteslice(45..-1))
  end

  def test_a_notification_has_the_frame_of_the_original
    notification = note('fe15a27d 5df3c347 78defb1f 4f388026 5cc52c0c 04768222 3be59fb6 8500a9a2',
                        badge: 42, category: 'c', sound: 's', expiry: Time.at(1_234_567_890), identifier: 1234,
                        content_available: true, mutable_content: 'yes', custom: { acme: %w[bang é] })
    assert_equal [1, 1234, 1_234_567_890, 32, 'fe15a27d5df3c34778defb1f4f3880265cc52c0c047682223be59fb68500a9a2'],
                 notification.to_bytes.unpack('CNNnH64')
    aps = { 'alert' => 'Hello', 'badge' => 42, 'category' => 'c', 'sound' => 's', 'content-available' => 1,
            'mutable-content' => 1 }
    assert_equal({ 'acme' => %w[bang é], 'aps' => aps }, payload_of(notification))
    assert_equal notification.to_bytes.bytesize - 45, notification.to_bytes.unpack('CNNnH64n').last
    assert_equal [0, 0], note('00').to_bytes.unpack('CNN').drop(1)
    assert notification.content_available? && notification.mutable_content? && notification.valid?
    assert_raises(NoMethodError) { Grocer::Notification.new(colour: 'red') }
  end

  def test_the_five_notifications
    assert_raises(Grocer::NoPayloadError) { Grocer::Notification.new(device_token: '00').to_bytes }
    assert_raises(Grocer::PayloadTooLargeError) { note('00', alert: 'x' * 2048).to_bytes }
    refute note('00', alert: 'x' * 2048).valid?
    assert Grocer::Notification.new(custom: { a: 1 }).valid?
    assert_equal({ 'aps' => {} }, payload_of(Grocer::PassbookNotification.new(device_token: '00')))
    newsstand = Grocer::NewsstandNotification.new(device_token: '00')
    assert_equal({ 'aps' => { 'content-available' => 1 } }, payload_of(newsstand))
    mdm = Grocer::MobileDeviceManagementNotification.new(device_token: '00', push_magic: 'm')
    assert_equal({ 'mdm' => 'm' }, payload_of(mdm))
    assert mdm.valid?
    mdm.badge = 1
    assert_raises(Grocer::InvalidFormatError) { mdm.to_bytes }
    mdm = Grocer::MobileDeviceManagementNotification.new(device_token: '00')
    assert_raises(Grocer::NoPayloadError) { mdm.to_bytes }
    safari = Grocer::SafariNotification.new(device_token: '00', title: 't', body: 'b', action: 'a', url_args: ['u'])
    alert = { 'title' => 't', 'body' => 'b', 'action' => 'a' }
    assert_equal({ 'aps' => { 'alert' => alert, 'url-args' => ['u'] } }, payload_of(safari))
    assert_raises(ArgumentError) { Grocer::SafariNotification.new(title: 't').to_bytes }
    refute Grocer::SafariNotification.new(body: 'b').valid?
    assert_equal 'x', Grocer::SafariNotification.new(alert: { title: 'x' }).title
  end

  def test_gateways_follow_the_environment
    { nil => %w[gateway.sandbox.push.apple.com feedback.sandbox.push.apple.com],
      'production' => %w[gateway.push.apple.com feedback.push.apple.com],
      'TEST' => %w[127.0.0.1 feedback.sandbox.push.apple.com] }.each do |environment, hosts|
      with_environment('RACK_ENV' => environment) do
        assert_equal hosts, [Grocer.pusher(certificate: 'x').gateway, Grocer.feedback('certificate' => 'x').gateway]
      end
    end
    assert_equal [2195, 2196], [Grocer.pusher({}).port, Grocer.feedback({}).port]
    assert_equal ['g', 1], [Grocer.pusher(gateway: 'g', port: 1).gateway, Grocer.pusher(gateway: 'g', port: 1).port]
  end

  def test_pushes_arrive_and_failures_are_told_once
    %w[http2 binary].each do |backend|
      queue = told_queue
      own = pusher(backend)
      notes = tokens(200).map { |token| note(token) }
      bad = tokens(3, 'bad0').map { |token| note(token) }
      notes.insert(10, bad[0]).insert(90, bad[1]).push(bad[2])
      notes.each { |notification| assert_equal notification.to_bytes.bytesize, own.push(notification) }
      told = Array.new(3) { Timeout.timeout(10) { queue.pop } }
      assert_equal bad, told.map(&:first)
      assert_equal [8], told.map { |_, outcome| outcome.legacy }.uniq
      assert_arrived((notes - bad).map(&:device_token))
      assert queue.empty?
    end
  end

  def test_the_certificate_may_be_an_io
    io = StringIO.new(File.read(Simulator.certificate))
    token = tokens(1).first
    pusher('http2', {}, certificate: io).push(note(token))
    assert_equal 0, io.pos
    assert_arrived([token])
    assert_empty Dir[File.join(Dir.tmpdir, 'ferry2*')]
    assert_raises(Errno::ENOENT) { Grocer.pusher(certificate: '/none').push(note('00')) }
    assert_raises(OpenSSL::X509::CertificateError) { Grocer.pusher(certificate: StringIO.new('x')).push(note('00')) }
  end

  def test_tokens_are_read_as_they_were
    token = tokens(1).first
    { "#{token}\n" => token, 'ab cd' => 'abcd', '' => '00' * 32, 'ab' * 80 => 'ab' * 80, "#{token}x#{token}" => token,
      'ab' * 101 => 'ab' * 32, 'xyz' => ['xyz'].pack('H64').unpack1('H*') }.each do |text, expected|
      assert_equal expected, note(text).record[:token]
    end
    assert_equal '00' * 32, note(nil).record[:token]
  end

  def test_a_block_that_raises_harms_nothing
    Grocer.on_failure { raise 'my fault' }
    own = pusher('http2', {}, wait: true)
    token = tokens(1).first
    _, errors = capture_io do
      own.push(note(tokens(1, 'bad0').first))
      own.push(note(token))
    end
    assert_match(/on_failure raised RuntimeError: my fault/, errors)
    assert_arrived([token])
  end

  def test_without_a_block_only_losses_are_written
    own = pusher('http2', {}, wait: true)
    _, errors = capture_io { own.push(note(tokens(1, 'bad0').first)) }
    assert_empty errors
    _, errors = capture_io { own.push(note(tokens(1, '70b1').first)) }
    assert_match(/grocer: notifications that did not arrive, or may not have: 1 rejected \(TopicDisallowed\)/, errors)
  end

  def test_a_host_that_is_not_there_raises_after_the_retries
    queue = told_queue
    error = assert_raises(Errno::ECONNREFUSED) do
      Grocer.pusher(certificate: Simulator.certificate, gateway: '127.0.0.1', port: 1, retries: 1).push(note('00'))
    end
    assert_match(/127.0.0.1:1/, error.message)
    assert queue.empty?
    assert_raises(NotImplementedError) { Grocer::SSLConnection.new }
  end

  def test_feedback
    file = Simulator.shared.path('gone-grocer')
    token = tokens(1, '909e').first
    pusher('http2', { feedback: file }, wait: true).push(note(token))
    assert_equal 0o600, File.stat(file).mode & 0o777
    attempts = Grocer.feedback(certificate: Simulator.certificate).to_a
    assert_equal [token], attempts.map(&:device_token)
    assert_in_delta Time.now.to_f, attempts.first.timestamp.to_f, 10
    assert_kind_of Enumerable, Grocer.feedback({})
    refute File.exist?(file)
  end

  def test_the_end_of_a_process_tells_failures_too
    ENV['FERRY_CONFIG'] = Simulator.shared.config('http2')
    bad = tokens(20, 'bad0')
    output, = run_ruby("require 'grocer'; Grocer.on_failure { |n, o| puts [n.device_token, o.reason].join(' ') }
                        pusher = Grocer.pusher(certificate: #{Simulator.certificate.inspect})
                        ARGV.each { |t| pusher.push(Grocer::Notification.new(device_token: t, alert: 'x')) }", {}, *bad)
    assert_equal bad.map { |token| "#{token} BadDeviceToken" }, output.lines.map(&:chomp).sort
  end

  def test_pushers_that_are_thrown_away_keep_one_connection
    ENV['FERRY_CONFIG'] = Simulator.shared.config('http2')
    list = tokens(20)
    list.each { |token| Grocer.pusher(certificate: Simulator.certificate).push(note(token)) }
    assert_arrived(list)
    lines = Simulator.shared.record.select { |line| list.include?(line['token']) }
    assert_equal 1, lines.map { |line| line['connection'] }.uniq.size
  end

  def test_threads_share_connections
    ENV['FERRY_CONFIG'] = Simulator.shared.config('http2')
    list = tokens(200)
    list.each_slice(25).map do |slice|
      Thread.new { slice.each { |token| Grocer.pusher(certificate: Simulator.certificate).push(note(token)) } }
    end.each(&:join)
    assert_arrived(list)
    lines = Simulator.shared.record.select { |line| list.include?(line['token']) }
    assert_equal 1, lines.map { |line| line['connection'] }.uniq.size
  end

  def test_children_of_fork_have_their_own_thread_and_connections
    own = pusher('http2')
    queue = told_queue
    own.push(note(tokens(1).first))
    list = tokens(2)
    results = list.map do |token|
      in_child do
        own.push(note(token))
        bad = "bad0#{token[4..-1]}"
        own.push(note(bad))
        Timeout.timeout(5) { queue.pop.first.device_token == bad }
      end
    end
    assert_equal [true, true], results
    assert_arrived(list)
  end

  def test_exit_in_a_child_without_hooks_needs_wait
    own = pusher('http2', wait: true)
    list = tokens(3)
    list.each { |token| in_child { own.push(note(token)) } }
    assert_arrived(list)
  end
end
