# frozen_string_literal: true

require_relative 'helper'
require 'houston'
require 'openssl'

class HoustonTest < FerryTest
  def client(backend = nil, others = {})
    use(backend, others) if backend
    Houston::Client.production.tap do |client|
      client.certificate = File.read(Simulator.certificate)
      client.timeout = 5
    end
  end

  def use(backend, others = {})
    ENV['FERRY_CONFIG'] = Simulator.shared.config(backend, others)
  end

  def teardown
    ENV.delete('FERRY_CONFIG')
  end

  def note(token, others = {})
    Houston::Notification.new({ device: token, alert: 'Hello' }.merge(others))
  end

  # Writes a program that has a client `apn`, and a method `note`.
  def program(text)
    "require 'houston'; apn = Houston::Client.production; apn.certificate = File.read(#{Simulator.certificate.inspect})
     def note(token); Houston::Notification.new(device: token, alert: 'Hello'); end
     #{text}"
  end

  def test_the_client_reads_the_environment
    with_environment('APN_GATEWAY_URI' => 'apn://a.example.com', 'APN_FEEDBACK_URI' => 'apn://b.example.com',
                     'APN_CERTIFICATE_PASSPHRASE' => 'secret', 'APN_TIMEOUT' => '10.0',
                     'APN_CERTIFICATE_DATA' => 'text', 'APN_CERTIFICATE' => nil) do
      client = Houston::Client.new
      assert_equal ['apn://a.example.com', 'apn://b.example.com', 'secret', 10.0, 'text'],
                   [client.gateway_uri, client.feedback_uri, client.passphrase, client.timeout,
                    client.certificate]
      ENV['APN_CERTIFICATE'] = Simulator.certificate
      assert_match(/PRIVATE KEY/, Houston::Client.new.certificate)
    end
    client = Houston::Client.production
    assert_equal ['apn://gateway.push.apple.com:2195', 'apn://feedback.push.apple.com:2196', 0.5],
                 [client.gateway_uri, client.feedback_uri, client.timeout]
    client = Houston::Client.development
    assert_equal ['apn://gateway.sandbox.push.apple.com:2195', 'apn://feedback.sandbox.push.apple.com:2196'],
                 [client.gateway_uri, client.feedback_uri]
    assert_nil Houston::Client.new.gateway_uri
  end

  def test_a_notification_has_the_payload_and_the_frame_of_the_original
    notification = note('<ce8be627 2e43e855 16033e24 b4c28922 0eeda487 9c477160 b2545e95 b68b5969>',
                        badge: '57', sound: 's', category: 'c', expiry: 1_234_567_890, id: 42, priority: 10,
                        content_available: true, mutable_content: true, url_args: %w[a b], thread_id: 't', key1: 1,
                        'key2' => 'é')
    assert_equal({ 'key1' => 1, 'key2' => 'é', 'aps' => {
                   'alert' => 'Hello', 'badge' => 57, 'sound' => 's', 'category' => 'c', 'content-available' => 1,
                   'mutable-content' => 1, 'url-args' => %w[a b], 'thread-id' => 't'
                 } }, notification.payload)
    command, length, frame = notification.message.unpack('CNa*')
    assert_equal [2, frame.bytesize], [command, length]
    token, json = frame.unpack('x3H64x1na*').values_at(0, 2)
    assert_equal 'ce8be6272e43e85516033e24b4c289220eeda4879c477160b2545e95b68b5969', token
    assert_equal notification.payload, JSON.parse(json.byteslice(0, notification.payload.to_json.bytesize))
    assert_equal [3, 4, 42, 4, 4, 1_234_567_890, 5, 1, 10], frame.byteslice(-18..-1).unpack('CnNCnNCnC')
    notification = Houston::Notification.new(badge: 5, aps: { 'loc-key' => 'k' })
    assert_equal({ 'loc-key' => 'k', 'badge' => 5 }, notification.payload['aps'])
    assert_equal({ key1: 1 }, Houston::Notification.new(token: 'x', key1: 1).custom_data)
  end

  def test_marks_and_errors
    notification = note('00')
    refute notification.sent?
    assert_instance_of Time, notification.mark_as_sent!
    assert notification.sent?
    notification.mark_as_unsent!
    refute notification.sent?
    notification.apns_error_code = 8
    assert_equal [8, 'Invalid token'], [notification.error.code, notification.error.message]
    notification.apns_error_code = 0
    assert_nil notification.error
    notification.apns_error_code = 128
    assert_equal 255, notification.error.code
    assert_raises(ArgumentError) { Houston::Notification::APNSError.new(11) }
    refute note('00', alert: 'x' * 2048).valid?
  end

  def test_each_rejection_lands_on_its_notification
    %w[http2 binary].each do |backend|
      notes = tokens(300).map { |token| note(token) }
      bad = tokens(3, 'bad0').map { |token| note(token) }
      notes.insert(10, bad[0]).insert(150, bad[1]).push(bad[2])
      assert_nil client(backend).push(*notes)
      assert_equal bad, notes.select(&:error)
      assert_equal bad, notes.reject(&:sent?)
      assert_equal [8], bad.map { |notification| notification.error.code }.uniq
      assert_arrived((notes - bad).map(&:token))
      assert_equal (0...303).to_a, notes.map(&:id)
    end
  end

  def test_a_second_push_sends_only_what_was_not_sent
    notes = [note(tokens(1).first), note(tokens(1, 'bad0').first)]
    client('http2').push(notes, notes.first, 'no notification', nil)
    client.push(*notes)
    assert_arrived([notes[0].token])
    assert_equal [true, false], notes.map(&:sent?)
    assert_nil client.push
    assert_nil client.push([])
  end

  def test_what_is_too_long_is_told
    notification = note(tokens(1).first, alert: 'x' * 2048)
    client('http2').push(notification)
    refute notification.sent?
    assert_equal 7, notification.error.code
  end

  def test_a_device_that_is_gone_is_no_error_and_is_on_the_feedback_list
    file = Simulator.shared.path('gone-houston')
    use('http2', feedback: file)
    notification = note(tokens(1, '909e').first)
    client.push(notification)
    assert notification.sent?
    assert_nil notification.error
    assert_equal 410, notification.outcome.status
    device = client.unregistered_devices.first
    assert_equal notification.token.scan(/.{8}/).join(' '), device[:token]
    assert_in_delta Time.now.to_i, device[:timestamp], 10
    assert_equal [], client.devices
  end

  def test_the_feedback_service_is_read
    Simulator.with(Simulator::SCRIPT) do |server|
      ENV['FERRY_CONFIG'] = server.config('binary', feedback: nil).tap do |path|
        File.write(path, JSON.generate(JSON.parse(File.read(path)).compact))
      end
      assert_equal [{ token: (['11ff11ff'] * 8).join(' '), timestamp: 1_600_000_000 },
                    { token: (['22ff22ff'] * 10).join(' '), timestamp: 1_600_000_001 }], client.unregistered_devices
    end
  end

  def test_a_list_that_breaks_off_is_returned_as_far_as_it_came
    Simulator.with(feedback: { tuples: Simulator::TUPLES, fault: 'truncates' }) do |server|
      ENV['FERRY_CONFIG'] = server.config('binary')
      _, errors = capture_io { assert_equal 1, client.devices.size }
      assert_match(/houston: The feedback list ended too early/, errors)
    end
  end

  def test_apples_feedback_service_needs_a_file
    error = assert_raises(Ferry::OptionsError) { client.devices }
    assert_match(/feedback/, error.message)
  end

  def test_faults_raise_what_they_raised
    own = Houston::Client.new
    own.gateway_uri = 'apn://127.0.0.1:1'
    own.certificate = 'garbage'
    assert_raises(OpenSSL::X509::CertificateError) { own.push(note('00')) }
    own.certificate = File.read(File.join(Simulator::DIRECTORY, 'tls/client.pem'))
    assert_raises(OpenSSL::PKey::RSAError) { own.push(note('00')) }
    own.certificate = File.read(Simulator.certificate)
    notification = note('00')
    error = assert_raises(Errno::ECONNREFUSED) { own.push(notification) }
    assert_match(/127.0.0.1:1/, error.message)
    refute notification.sent?
    assert_equal 255, notification.error.code
    assert_raises(ArgumentError) { Houston::Client.new.push(note('00')) }
  end

  def test_a_passphrase_opens_the_key
    pem = File.read(Simulator.certificate)
    key = OpenSSL::PKey.read(pem).to_pem(OpenSSL::Cipher.new('aes-256-cbc'), 'secret')
    own = client('http2')
    own.certificate = OpenSSL::X509::Certificate.new(pem).to_pem + key
    own.passphrase = 'wrong'
    assert_raises(OpenSSL::PKey::RSAError) { own.push(note('00')) }
    own.passphrase = 'secret'
    token = tokens(1).first
    own.push(note(token))
    assert_arrived([token])
  end

  def test_refused_credentials_raise_what_a_failed_handshake_raised
    %w[http2 binary].each do |backend|
      Simulator.with(handshake: 'refuseClient', http2: { handshake: 'refuseClient' }) do |server|
        ENV['FERRY_CONFIG'] = server.config(backend)
        assert_raises(OpenSSL::SSL::SSLError) { client.push(note('00')) }
      end
    end
  end

  def test_a_wrong_topic_is_not_silent
    notification = note(tokens(1, '70b1').first)
    _, errors = capture_io do
      client('http2').push(notification)
      assert_equal 255, notification.error.code
    end
    refute notification.sent?
    assert_match(/houston: notifications that did not arrive, or may not have: 1 rejected \(TopicDisallowed\)/, errors)
  end

  def test_wait_makes_push_wait_for_the_outcome
    Simulator.with(http2: { answerDelaySeconds: 0.3, rules: Simulator::HTTP2_RULES }) do |server|
      ENV['FERRY_CONFIG'] = server.config('http2')
      notes = [note(tokens(1, 'bad0').first), note(tokens(1, 'bad0').first), note(tokens(1, 'bad0').first)]
      own = client
      own.timeout = 0
      own.push(note(tokens(1).first)) # The first push waits for an answer.
      assert_operator seconds { own.push(notes[0]) }, :<, 0.3
      assert_nil notes[0].error
      own.wait = true
      assert_operator seconds { own.push(notes[1]) }, :>=, 0.3
      assert_equal 8, notes[1].error.code
      ENV['FERRY_CONFIG'] = server.config('http2', wait: true)
      client.push(notes[2])
      assert notes[2].outcome
    end
  end

  def test_many_single_pushes_do_not_wait_for_answers
    Simulator.with(http2: { answerDelaySeconds: 0.05 }) do |server|
      ENV['FERRY_CONFIG'] = server.config('http2')
      own = client
      notes = tokens(500).map { |token| note(token) }
      assert_operator seconds { notes.each { |notification| own.push(notification) } }, :<, 2.5
      assert_arrived(notes.map(&:token), server)
      assert_equal 500, notes.count(&:sent?)
    end
  end

  def test_a_full_queue_makes_the_call_wait
    notes = tokens(3000).map { |token| note(token) }
    client('http2', queueLimit: 50).push(*notes)
    assert_equal 3000, notes.count(&:sent?)
    assert_arrived(notes.map(&:token))
  end

  def test_threads_push_at_the_same_time
    own = client('http2')
    notes = tokens(390).map { |token| note(token) } + tokens(10, 'bad0').map { |token| note(token) }
    notes.shuffle.each_slice(50).map do |slice|
      Thread.new { slice.each { |notification| own.push(notification) } }
    end.each(&:join)
    assert_equal notes.last(10), notes.select(&:error)
    assert_arrived(notes.select(&:sent?).map(&:token))
  end

  def test_fork_before_and_after_a_push
    own = client('http2')
    before = note(tokens(1).first)
    own.push(before)
    results = Array.new(3) do
      token = tokens(1).first
      in_child(at_end: :exit) { own.push(n = note(token)) || [n.sent?, n.error, before.sent?] } << token
    end
    results.each { |result| assert_equal [true, nil, true], result.first(3) }
    after = note(tokens(1).first)
    own.push(after)
    assert after.sent?
    assert_arrived(results.map(&:last) << before.token << after.token)
  end

  def test_the_handler_of_a_signal_may_push
    own = client('http2')
    inner = note(tokens(1).first)
    before = trap('USR1') { own.push(inner) }
    notes = tokens(200).map { |token| note(token) }
    notes.each_with_index do |notification, index|
      Process.kill('USR1', Process.pid) if index == 100
      own.push(notification)
    end
    assert inner.sent?
    assert_arrived(notes.map(&:token) << inner.token)
  ensure
    trap('USR1', before || 'DEFAULT')
  end

  def test_a_timeout_ends_a_push_and_the_outcome_still_lands
    Simulator.with(http2: { answerDelaySeconds: 0.4, rules: Simulator::HTTP2_RULES }) do |server|
      ENV['FERRY_CONFIG'] = server.config('http2')
      own = client
      own.wait = true
      notification = note(tokens(1, 'bad0').first)
      took = seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.1) { own.push(notification) } } }
      assert_operator took, :<, 0.35
      own.push(note(tokens(1).first))
      assert_equal 8, notification.error.code
    end
  end

  # Exit, exit! with `wait`, the default action of SIGTERM, an exception: what was pushed arrives.
  def test_each_end_of_a_process_sends_what_was_pushed
    endings = { 'exit' => {}, 'exit!' => { wait: true }, 'Process.kill("TERM", $$); sleep' => {}, 'raise "x"' => {},
                'Thread.new { sleep }; abort' => {} }
    endings.each do |ending, options|
      use('http2', options)
      list = tokens(500)
      run_ruby(program("apn.push(*ARGV.map { |token| note(token) }); #{ending}"), {}, *list)
      assert_arrived(list)
    end
  end

  def test_the_end_of_a_process_says_what_was_lost
    Simulator.with(http2: { rules: [{ after: 10, action: 'close' }] }) do |server|
      ENV['FERRY_CONFIG'] = server.config('http2', onUnknown: 'report', attemptTimeout: 1)
      list = tokens(100)
      _, errors, = run_ruby(program('apn.push(*ARGV.map { |token| note(token) })'), {}, *list)
      assert_match(/notifications that did not arrive, or may not have: \d+ uncertain/, errors)
    end
  end

  def test_the_mock_needs_no_server
    bad = note('bad0')
    good = note('00ff')
    mock = Houston::Client.mock
    mock.certificate = File.read(Simulator.certificate)
    mock.timeout = nil
    mock.push(good, bad)
    assert_equal [true, false, 8], [good.sent?, bad.sent?, bad.error.code]
  end
end
