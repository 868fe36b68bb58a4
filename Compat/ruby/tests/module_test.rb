# frozen_string_literal: true

require_relative 'helper'

class ModuleTest < FerryTest
  def setup
    super
    @providers = []
  end

  def teardown
    @providers.each do |provider|
      begin
        provider.free
      rescue Ferry::Error
        nil # The test has freed it.
      end
    end
  end

  def echo(options = {})
    Ferry::Provider.new({ backend: 'echo' }.merge(options)).tap { |provider| @providers << provider }
  end

  def note(tag, token = '00ff', others = {})
    { tag: tag, token: token, payload: '{"aps":{}}' }.merge(others)
  end

  def test_a_record_has_the_layout_of_the_header
    Ferry.append(records = String.new, tag: 258, token: '00FFab', payload: '{"é":1}', topic: 'top', expiration: 1,
                                       priority: 5, push_type: :background, collapse_id: 'id',
                                       apns_id: '00112233-4455-6677-8899-aabbccddeeff')
    header = records.unpack('L<Q<L<CCCCS<CC')
    assert_equal [24 + 3 + 8 + 3 + 2 + 16, 258, 1, 3, 5, 2, 3, 8, 3, 2], header
    id = ['00112233445566778899aabbccddeeff'].pack('H*')
    assert_equal "\x00\xFF\xAB{\"é\":1}topid".b + id, records.byteslice(24..-1)
  end

  def test_what_does_not_fit_a_record_raises
    provider = echo
    [{ token: '' }, { token: '0' }, { token: 'zz' }, { token: '00' * 101 }, { token: "\u00e900" }, { tag: nil },
     { payload: 'x' * 65_536 }, { topic: 'x' * 256 }, { collapse_id: 'x' * 256 }, { priority: 256 }, { priority: -1 },
     { push_type: :none_such }, { apns_id: 'zz' }, { unknown: 1 }, { tag: -1 }, { tag: 1 << 64 }].each do |change|
      assert_raises(ArgumentError, change.inspect) { provider.submit([note(1, '00ff', change)]) }
    end
    assert_equal 0, provider.counts.taken
    assert_raises(ArgumentError) { echo.submit([{ token: '00ff', payload: '{}' }]) }
    assert_raises(NoMethodError, TypeError, ArgumentError) { echo.submit([nil]) }
  end

  def test_odd_values_of_a_record_harm_nothing
    provider = echo
    assert_equal 3, provider.submit([note(1, '00ff', expiration: -5), note(2, '00ff', expiration: 1 << 40),
                                     note(3, '00ff', payload: { 'aps' => {} }, expiration: Time.now, topic: '')])
    assert_equal 0, provider.drain(5)
  end

  def test_outcomes_come_with_tags_and_words
    provider = echo
    assert_equal 3, provider.submit([note(7), note((1 << 64) - 1, 'bad0'), note(9, '00ff', payload: 'no JSON')])
    assert_equal Ferry::OUTCOMES, provider.wait(5) & Ferry::OUTCOMES
    outcomes = provider.read.map { |outcome| [outcome.tag, outcome] }.to_h
    assert_equal %i[accepted confirmed], [outcomes[7].outcome, outcomes[7].detail]
    assert outcomes[7].accepted?
    assert_nil outcomes[7].reason
    assert_nil outcomes[7].timestamp
    bad = outcomes[(1 << 64) - 1]
    assert_equal [:rejected, 'BadDeviceToken', 8], [bad.outcome, bad.reason, bad.legacy]
    assert_equal %i[rejected ferry], [outcomes[9].outcome, outcomes[9].detail]
    assert_equal [3, 0, 0, 1, 2], provider.counts.to_a.values_at(0, 1, 2, 3, 5)
    assert_equal 3, provider.report['taken']
    assert_equal [], provider.read
  end

  def test_outcomes_that_differ_in_their_tags_alone_are_read_as_runs
    provider = echo
    assert_equal 5, provider.submit_to({ payload: '{}' }, %w[0000 0000 0000 bad0 0000], 10)
    assert_equal 1, provider.submit_to({ payload: '{}' }, ["\xba\xd0".b], 20, bytes: true)
    assert_equal [[10, 11]], provider.read_runs(2).map(&:last)
    runs = provider.read_runs
    assert_equal [[12], [13], [14], [20]], runs.map(&:last)
    assert_equal [12, 13, 14, 20], runs.map { |outcome, _| outcome.tag }
    assert_equal [nil, 'BadDeviceToken', nil, 'BadDeviceToken'], runs.map { |outcome, _| outcome.reason }
    assert_empty provider.read_runs
  end

  def test_one_notification_goes_to_many_devices
    provider = echo
    assert_equal 3, provider.submit_to({ payload: '{"aps":{}}', priority: 5 }, %w[00ff bad0 0000], 100)
    assert_equal 0, provider.drain(5)
    outcomes = provider.read.map { |outcome| [outcome.tag, outcome.accepted?] }
    assert_equal [[100, true], [101, false], [102, true]], outcomes.sort_by(&:first)
    assert_equal 0, provider.submit_to({ payload: '{}' }, [], 0)
    [%w[00ff 00], %w[00ff 0xff], ['']].each do |tokens|
      assert_raises(ArgumentError) { provider.submit_to({ payload: '{}' }, tokens, 0) }
    end
  end

  def test_a_full_queue_takes_a_part_and_loses_nothing
    provider = echo(queueLimit: 100)
    notes = Array.new(5000) { |tag| note(tag) }
    tags = []
    fulls = 0
    until notes.empty?
      count = provider.submit(notes)
      fulls += 1 if count < notes.size
      notes.shift(count)
      provider.wait(1)
      tags.concat(provider.read.map(&:tag))
    end
    provider.drain(5)
    tags.concat(provider.read.map(&:tag))
    assert_equal (0...5000).to_a, tags.sort
    assert_operator fulls, :>, 0
  end

  def test_a_bad_notification_far_behind_does_not_hide_what_was_taken
    provider = echo
    notes = Array.new(5000) { |tag| note(tag) } << note(0, 'zz')
    assert_equal 4096, provider.submit(notes)
    assert_raises(ArgumentError) { provider.submit(notes.drop(4096)) }
    assert_equal 4096, provider.counts.taken
  end

  def test_wrong_options_raise_the_sentence_of_the_library
    error = assert_raises(Ferry::OptionsError) { Ferry::Provider.new(backend: 'echo', colour: 'red') }
    assert_match(/colour/, error.message)
    assert_equal(-6, error.code)
    assert_raises(Ferry::OptionsError) { echo.set(share: 10) }
    assert_raises(Ferry::Error) { Ferry::Provider.new([]) }
  end

  def test_a_closed_or_freed_provider_raises
    provider = echo
    provider.submit([note(1)])
    provider.close(1)
    assert_raises(Ferry::ClosedError) { provider.submit([note(2)]) }
    assert_equal [1], provider.read.map(&:tag)
    provider.free
    %i[read wait drain counts report events fd flush].each do |name|
      assert_raises(Ferry::ClosedError) { provider.public_send(name) }
    end
  end

  def test_the_descriptor_is_for_select
    provider = echo
    assert_nil IO.select([provider], nil, nil, 0)
    provider.submit([note(1)])
    assert_equal [[provider], [], []], IO.select([provider], nil, nil, 5)
    own = IO.for_fd(provider.fd, autoclose: false)
    assert IO.select([own], nil, nil, 0)
    provider.read
    GC.start
  end

  def test_the_wait_lets_signals_and_threads_run
    provider = echo
    ran = nil
    before = trap('USR1') { ran = Ferry.now }
    turns = 0
    thread = Thread.new { turns += 1 while sleep(0.01) }
    sender = Thread.new do
      sleep 0.15
      Process.kill('USR1', Process.pid)
      Ferry.now
    end
    assert_equal 0, provider.wait(0.6)
    assert_operator ran - sender.value, :<, 0.2
    assert_operator turns, :>, 20
  ensure
    thread.kill
    trap('USR1', before || 'DEFAULT')
  end

  def test_an_exception_ends_the_wait
    assert_in_delta 0.2, seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.2) { echo.wait } } }, 0.2
    _, errors, status = run_ruby('require "ferry"; Thread.new { sleep 0.2; Process.kill("INT", $$) }
                                  Ferry::Provider.new(backend: "echo").wait')
    assert_match(/Interrupt/, errors)
    assert_equal 2, status.termsig
  end

  def test_close_can_be_interrupted
    Simulator.with(http2: { rules: [{ after: 0, action: 'stopReading' }] }) do |server|
      provider = Ferry::Provider.new(server.options('http2'))
      provider.submit([note(1)])
      took = seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.2) { provider.close(5) } } }
      assert_operator took, :<, 1
    end
  end

  def test_a_child_of_fork_has_to_open_its_own
    provider = echo
    assert_equal 'Ferry::ForkedError', in_child { provider.submit([note(1)]) }[/\AFerry::\w+/]
    assert_nil(in_child { provider.free })
    tags = in_child do
      own = echo
      own.submit([note(1)])
      own.drain(5)
      own.read.map(&:tag)
    end
    assert_equal [1], tags
    provider.submit([note(1)])
    assert_equal 0, provider.drain(5)
  end

  def test_garbage_is_freed
    before = Dir['/proc/self/fd/*'].size
    300.times { Ferry::Provider.new(backend: 'echo').submit([note(1)]) }
    10.times { GC.start }
    assert_operator Dir['/proc/self/fd/*'].size - before, :<, 300
  end

  def test_threads_share_a_provider
    provider = echo
    threads = Array.new(4) do |number|
      Thread.new do
        (number * 1000...number * 1000 + 1000).each_slice(20) do |tags|
          assert_equal 20, provider.submit(tags.map { |tag| note(tag) })
        end
      end
    end
    threads.each(&:join)
    provider.drain(5)
    tags = []
    while (outcomes = provider.read(100)).any?
      tags.concat(outcomes.map(&:tag))
    end
    assert_equal (0...4000).to_a, tags.sort
  end

  def test_a_missing_library_is_one_sentence
    _, errors, status = run_ruby('require "ferry"', 'FERRY_LIBRARY' => '/none.so')
    assert_match(/libferry.so.0 cannot be loaded .*FERRY_LIBRARY/, errors)
    refute status.success?
    _, errors, = run_ruby('require "ferry"', 'FERRY_LIBRARY' => Dir['/lib/*/libm.so.6'].first)
    assert_match(/no ferry_\w+: install libferry/, errors)
  end

  def test_events_and_both_protocols
    %w[http2 binary].each do |backend|
      provider = Ferry::Provider.new(Simulator.shared.options(backend, events: 10))
      good, bad = tokens(1) + tokens(1, 'bad0')
      assert_equal 2, provider.submit([note(1, good, topic: nil), note(2, bad)])
      assert_equal true, provider.flush(5)
      assert_equal 0, provider.drain(10)
      outcomes = provider.read.map { |outcome| [outcome.tag, outcome] }.to_h
      assert outcomes[1].accepted?
      assert_equal 8, outcomes[2].legacy
      assert_match(/\A\h{8}-\h{4}-\h{4}-\h{4}-\h{12}\z/, outcomes[1].apns_id) if backend == 'http2'
      assert_includes provider.events.map(&:keys).flatten, 'event'
      provider.close(5)
      provider.free
    end
  end

  def test_a_device_that_is_gone_has_a_time
    provider = Ferry::Provider.new(Simulator.shared.options('http2'))
    provider.submit([note(1, tokens(1, '909e').first)])
    provider.drain(5)
    outcome = provider.read.first
    assert_equal [:rejected, 410, 0, 'Unregistered'], [outcome.outcome, outcome.status, outcome.legacy, outcome.reason]
    assert_in_delta Time.now.to_f, outcome.timestamp.to_f, 10
  end

  def test_feedback_raises_when_the_list_breaks_off
    Simulator.with(feedback: { tuples: Simulator::TUPLES, fault: 'truncates' }) do |server|
      list = Ferry::Feedback.new(server.options('binary', feedbackPort: server.ports[:feedback]))
      devices = []
      error = assert_raises(Ferry::Error) { list.each { |device| devices << device } }
      assert_match(/ended too early: ./, error.message)
      assert_equal [[Simulator::TUPLES[0][:token], 1_600_000_000]], devices
    end
  end
end
