# frozen_string_literal: true

require_relative 'helper'

# Ferry.push: from tokens to answers in one call.
class PushTest < FerryTest
  BODY = { aps: { alert: 'Hé' } }.freeze

  def push(tokens, **options)
    Ferry.push(tokens, BODY, backend: 'echo', **options)
  end

  def test_each_token_has_its_answer_in_the_order_of_the_tokens
    tokens = ['00ff', 'bad0', '909e', 'dead', '<00bd 1234>', 'zz', '0', '', nil, '00' * 101, 'AABB']
    answers = push(tokens)
    assert_equal tokens, answers.map(&:token)
    assert_equal %i[accepted rejected rejected undelivered uncertain] + [:rejected] * 5 + [:accepted], answers.map(&:outcome)
    assert_equal [nil, 'BadDeviceToken', 'Unregistered', 'noConnection', 'positionUnknown'] + ['BadDeviceToken'] * 5 + [nil],
                 answers.map(&:reason)
    assert_equal [nil, 400, 410, nil], answers.first(4).map(&:status)
    assert_equal [true] + [false] * 9 + [true], answers.map(&:accepted?)
  end

  def test_one_token_has_one_answer_which_is_a_sentence
    assert push('bad0').to_s.start_with?('rejected: BadDeviceToken (400). The device token is invalid')
    assert_equal 'accepted (confirmed)', push('00ff', push_type: :liveactivity, priority: 5).to_s
    assert_equal [], push([])
    assert Ferry.push('00ff', '{"aps":{}}', 'backend' => 'echo').accepted?
  end

  def test_more_tokens_than_there_is_room_for_all_have_answers
    assert_equal({ accepted: 1000 }, push(tokens(1000), queue_limit: 50).map(&:outcome).group_by(&:itself)
                                                                      .map { |word, all| [word, all.size] }.to_h)
  end

  def test_a_notification_that_does_not_fit_raises_and_so_does_a_wrong_option
    [{ push_type: :none_such }, { priority: 256 }, { collapse_id: 'x' * 256 }].each do |options|
      assert_raises(ArgumentError) { push('00ff', **options) }
    end
    error = assert_raises(Ferry::OptionsError) { push('00ff', colour: 1) }
    assert_includes error.message, 'colour'
    assert_nil error.cause
  end

  def test_more_sets_of_options_than_there_can_be_shared_providers_are_served
    assert(Array.new(70) { |number| push('00ff', queue_limit: 100 + number) }.all?(&:accepted?))
  end

  def test_answers_have_the_words_the_identifier_and_the_time_of_apns
    Simulator.with(http2: { rules: [{ prefix: 'bad0', status: 400, reason: 'BadDeviceToken' },
                                    { prefix: '909e', status: 410, timestamp: 1_600_000_000_000 }] }) do |server|
      options = server.options('http2', priority: 5, push_type: :background, collapse_id: 'c', expiration: 0)
      accepted, bad, gone = Ferry.push(tokens(1) + tokens(1, 'bad0') + tokens(1, '909e'), '{"aps":{}}', options)
      assert_equal [:accepted, 36], [accepted.outcome, accepted.apns_id.size]
      assert_equal ['BadDeviceToken', 400], [bad.reason, bad.status]
      assert_equal ['Unregistered', 1_600_000_000_000], [gone.reason, gone.timestamp]
      late = Ferry.push('00ff', BODY, options.merge(port: 1, deadline: 1))
      assert_equal [:undelivered, 'noConnection'], [late.outcome, late.reason]
    end
  end

  def test_the_first_lines_of_the_page_run
    code = File.read(File.join(ROOT, 'README.md'), encoding: 'UTF-8')[/## Send.*?```ruby\n(.*?)```/m, 1]
    assert_equal 3, code.lines.size
    output, errors, = run_ruby(code, { 'FERRY_BACKEND' => 'echo' })
    assert_equal ["accepted (confirmed)\n", ''], [output, errors]
  end

  def test_what_is_not_given_comes_from_the_environment_and_credentials_never_mix
    options = Simulator.shared.options('http2')
    environment = { 'FERRY_HOST' => 'localhost', 'FERRY_PORT' => options[:port].to_s, 'FERRY_CA' => options[:ca],
                    'FERRY_TOPIC' => 'com.example.ferry',
                    'FERRY_P8' => File.join(File.dirname(options[:ca]), 'token-key.p8'),
                    'FERRY_KEY_ID' => 'FERRYKEY01', 'FERRY_TEAM_ID' => 'FERRYTEAM1' }
    program = "require 'ferry'; puts Ferry.push(ARGV[0], { aps: {} }), " \
              'Ferry.push(ARGV[1], { aps: {} }, cert: ARGV[2], key: ARGV[3])'
    output, errors, = run_ruby(program, environment, *tokens(2), options[:cert], options[:key])
    assert_equal ["accepted (confirmed)\n" * 2, ''], [output, errors]
  end
end
