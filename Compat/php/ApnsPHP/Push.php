<?php

use Ferry\Provider;

/**
 * Sends messages over Ferry.
 *
 * send() returns when every message was written to the network. getErrors() waits for what the server says about them.
 */
class ApnsPHP_Push extends ApnsPHP_Abstract
{
    const COMMAND_PUSH = 1;
    const ERROR_RESPONSE_SIZE = 6;
    const ERROR_RESPONSE_COMMAND = 8;
    /** Not delivered, or nothing shows whether it arrived: 'outcome' beside it says which. */
    const STATUS_CODE_INTERNAL_ERROR = 999;

    /** How many messages go to libferry in one call. Those that it has no room for were prepared in vain. */
    private const BATCH = 512;

    private const OUTCOMES = array(
        Provider::REJECTED => 'rejected',
        Provider::UNDELIVERED => 'undelivered',
        Provider::UNCERTAIN => 'uncertain',
    );
    private const CAUSES = array(
        Provider::CAUSE_SHUT_DOWN => 'the program ended',
        Provider::CAUSE_CANCELLED => 'it was cancelled',
        Provider::CAUSE_EVICTED => 'the cache was full',
        Provider::CAUSE_DISCARDED => 'the gateway discarded it',
        Provider::CAUSE_CREDENTIALS => 'the server refused the certificate',
        Provider::CAUSE_NO_CONNECTION => 'no connection',
        Provider::CAUSE_RELEASED => 'it was given back',
        Provider::CAUSE_DEADLINE => 'not sent in time',
        Provider::CAUSE_POSITION_UNKNOWN => 'the connection was lost',
        Provider::CAUSE_PEER_CLOSES => 'the server closed the connection',
        Provider::CAUSE_NOT_REPEATED => 'it may have arrived, and is not sent again',
        Provider::CAUSE_NO_ANSWER => 'no answer',
        Provider::CAUSE_RESET => 'the connection was reset',
    );

    /** The causes that say that no connection can be used. */
    private const REFUSALS = array(Provider::CAUSE_CREDENTIALS, Provider::CAUSE_NO_CONNECTION);

    protected $_aErrorResponseMessages = array(
        0 => 'No errors encountered',
        1 => 'Processing error',
        2 => 'Missing device token',
        3 => 'Missing topic',
        4 => 'Missing payload',
        5 => 'Invalid token size',
        6 => 'Invalid topic size',
        7 => 'Invalid payload size',
        8 => 'Invalid token',
        self::STATUS_CODE_INTERNAL_ERROR => 'Internal error',
    );
    protected $_aServiceURLs = array(
        'tls://gateway.push.apple.com:2195',
        'tls://gateway.sandbox.push.apple.com:2195',
    );
    protected $_nSendRetryTimes = 3;
    /** Messages that libferry has not taken: number => MESSAGE, BINARY_NOTIFICATION, ERRORS. */
    protected $_aMessageQueue = array();
    /** The same, of messages that were not delivered. */
    protected $_aErrors = array();

    /** @var ?Provider */
    private $provider = null;
    /** The process that opened the provider. */
    private $pid = 0;
    private $nextTag = 0;
    /** Whether an outcome has come since connect(). */
    private $hasOutcomes = false;
    /** Messages that have no outcome: tag => array(number, entry of the queue). libferry's queue is its bound. */
    private $underWay = array();
    /** The errors that getErrors(false) has returned: their numbers are the keys. */
    private $told = array();
    /** Why no connection can be used, if an outcome said so. */
    protected $refusal = null;
    /** Whether messages go back to the queue if no connection can be used: while send() runs, which then raises. */
    protected $queuesAgain = false;

    public function setSendRetryTimes($nRetryTimes)
    {
        $this->_nSendRetryTimes = (int) $nRetryTimes;
        $this->hasNoEffect(__FUNCTION__);
    }

    public function getSendRetryTimes()
    {
        return $this->_nSendRetryTimes;
    }

    /** Checks certificate and options. Ferry makes a connection when there is something to send. */
    public function connect()
    {
        if ($this->isConnected()) {
            return;
        }
        try {
            $this->provider = self::open($this->ferryOptions() + array('atExit' => self::SETTLE_SECONDS));
        } catch (Ferry\Exception $error) {
            throw $this->noConnection($error->getMessage(), $error);
        }
        $this->pid = getmypid();
        $this->underWay = array();
        $this->hasOutcomes = false;
        $this->_log("INFO: Ready to send to {$this->serviceURL()}.");
    }

    /** All objects of a process with the same options, and all scripts of a worker of FPM, use the same connections. */
    private static function open($options)
    {
        // A certificate that was renewed needs new ones.
        clearstatcache();
        $name = serialize(array_diff_key($options, array('passphrase' => true))) . @filemtime($options['cert']);
        $name = 'ApnsPHP ' . md5($name);
        try {
            return new Provider($options + array('shared' => $name));
        } catch (Ferry\Exception $error) {
            // A process has at most 64 shared providers. Any other fault is told here.
            return new Provider($options);
        }
    }

    /** Whether this process has a provider. After a fork the child opens one of its own. */
    protected function isConnected()
    {
        return $this->provider !== null && $this->pid === getmypid();
    }

    /** Waits for the outcomes of what was sent. What has none after that is reported with code 999. */
    public function disconnect()
    {
        $wasConnected = $this->isConnected();
        if ($wasConnected) {
            $this->settle();
            $this->provider->close(0);
            $this->collect();
            $this->provider->free();
            $this->_log('INFO: Disconnected.');
        }
        $this->provider = null;
        return $wasConnected;
    }

    public function __destruct()
    {
        if (!$this->isConnected()) {
            return;
        }
        if (!Ferry\Library::isProcessEnding()) {
            $this->disconnect();
        } elseif ($left = $this->settle()) {
            // libferry itself goes on at the end of the process, and tells on standard error what it could not send.
            $this->_log("WARNING: $left message(s) have no outcome when the program ends.");
        }
    }

    public function add(ApnsPHP_Message $message)
    {
        $payload = $message->getPayload();
        if (strlen($payload) > 0xffff) {
            throw new ApnsPHP_Message_Exception('JSON Payload is too long: ' . strlen($payload) . ' bytes');
        }
        $expiry = $message->getExpiry();
        $expiration = $expiry > 0 ? min(time() + $expiry, 0xffffffff) : 0;
        foreach ($message->getRecipients() as $token) {
            if (!preg_match('/^([0-9a-f]{2}){1,100}$/iD', $token)) {
                throw new ApnsPHP_Message_Exception("Invalid device token '$token'");
            }
            $number = self::freeNumber($this->_aMessageQueue, (int) array_key_last($this->_aMessageQueue) + 1);
            $length = strlen($token) / 2;
            $this->_aMessageQueue[$number] = array(
                'MESSAGE' => $message,
                'BINARY_NOTIFICATION' => pack('CNNnH*', self::COMMAND_PUSH, $number, $expiration, $length, $token)
                    . pack('n', strlen($payload)) . $payload,
                'ERRORS' => array(),
            );
        }
    }

    public function send()
    {
        // Handlers of signals run while it waits. PHP 7.4 frees a property too often when a handler that it calls between
        // two other instructions throws.
        self::undisturbed(function () {
            $this->sendQueue();
        });
    }

    private function sendQueue()
    {
        if ($this->provider === null) {
            throw new ApnsPHP_Push_Exception('Not connected to Push Notification Service');
        }
        if (!$this->_aMessageQueue) {
            throw new ApnsPHP_Push_Exception('No notifications queued to be sent');
        }
        // In a child of the process that connected: a connection of its own.
        $this->connect();
        $this->_aErrors = array_diff_key($this->_aErrors, $this->told);
        $this->told = array();
        $this->_log('INFO: Sending ' . count($this->_aMessageQueue) . ' message(s).');
        $this->refusal = null;
        $this->queuesAgain = true;
        try {
            $this->write();
        } finally {
            $this->queuesAgain = false;
        }
    }

    /** Returns when the whole queue was written to the network. */
    private function write()
    {
        while ($this->_aMessageQueue && $this->refusal === null) {
            $this->submit(1);
        }
        while ($this->refusal === null && !$this->provider->flush(0.1)) {
            $this->collect();
        }
        // A server may refuse a certificate after the first write. The first outcome shows that it did not.
        $end = microtime(true) + $this->_nSocketSelectTimeout / 1e6;
        $this->collect();
        while (!$this->hasOutcomes && microtime(true) < $end) {
            $this->await($end - microtime(true));
        }
        if ($this->refusal !== null) {
            $this->provider->drain(1);
            $this->collect();
            throw $this->noConnection($this->refusal);
        }
    }

    /** Gives messages to libferry, as many as there is room for. If there is none, waits for room or outcomes. */
    protected function submit($seconds)
    {
        $taken = self::undisturbed(function () {
            $batch = array_slice($this->_aMessageQueue, 0, self::BATCH, true);
            $notifications = array();
            foreach ($batch as $entry) {
                $notifications[] = self::notification($entry['BINARY_NOTIFICATION'], $this->nextTag + count($notifications));
            }
            $taken = $this->provider->submit($notifications);
            foreach (array_slice($batch, 0, $taken, true) as $number => $entry) {
                $this->underWay[$this->nextTag++] = array($number, $entry);
                unset($this->_aMessageQueue[$number]);
            }
            return $taken;
        });
        $this->await($taken === 0 ? $seconds : 0);
        return $taken;
    }

    /** Waits for outcomes or room, and reads the outcomes. */
    private function await($seconds)
    {
        if ($this->provider->wait($seconds) & Provider::READY_OUTCOMES) {
            $this->collect();
        }
    }

    /** The notification in a frame of the binary protocol that add() made. */
    private static function notification($frame, $tag)
    {
        $head = unpack('Ccommand/Nnumber/Nexpiration/nlength', $frame);
        return array(
            'tag' => $tag,
            'token' => bin2hex(substr($frame, 11, $head['length'])),
            'payload' => substr($frame, 13 + $head['length']),
            'expiration' => $head['expiration'],
        );
    }

    /** Reads the outcomes that have come. */
    protected function collect()
    {
        $lines = self::undisturbed(function () {
            $lines = array();
            do {
                $outcomes = $this->provider->read();
                foreach ($outcomes as $outcome) {
                    list($number, $entry) = $this->underWay[$outcome['tag']];
                    unset($this->underWay[$outcome['tag']]);
                    $this->hasOutcomes = true;
                    if ($outcome['outcome'] !== Provider::ACCEPTED) {
                        $lines[] = $this->failed($number, $entry, $outcome);
                    }
                }
            } while (count($outcomes) === Provider::BATCH);
            return $lines;
        });
        // Afterwards: a logger that throws loses no outcome.
        array_map(array($this, '_log'), $lines);
    }

    /** Notes an error, if the outcome is one. Returns a line for the log. */
    private function failed($number, $entry, $outcome)
    {
        $identifier = $entry['MESSAGE']->getCustomIdentifier();
        $which = "message ID $number [custom identifier: " . (is_scalar($identifier) ? $identifier : 'unset') . ']';
        if ($outcome['status'] === 410 && $outcome['legacy'] === 0) {
            return "INFO: The device of $which is gone: {$outcome['reason']}.";
        }
        if ($outcome['outcome'] === Provider::EXPIRED) {
            return "WARNING: The $which expired before it was sent.";
        }
        if ($outcome['outcome'] === Provider::UNDELIVERED && in_array($outcome['detail'], self::REFUSALS, true)) {
            if ($this->refusal === null) {
                $report = $this->provider->report();
                $this->refusal = isset($report['lastError']) ? $report['lastError'] : self::CAUSES[$outcome['detail']];
            }
            if ($this->queuesAgain) {
                $this->_aMessageQueue[self::freeNumber($this->_aMessageQueue, $number)] = $entry;
                return "INFO: The $which stays in the queue.";
            }
        }
        $code = $outcome['legacy'] ?: self::STATUS_CODE_INTERNAL_ERROR;
        $text = isset($this->_aErrorResponseMessages[$code]) ? $this->_aErrorResponseMessages[$code] : 'None (unknown)';
        if ($outcome['legacy'] === 0) {
            $text .= ' (' . self::OUTCOMES[$outcome['outcome']] . ': ' . $this->reason($outcome) . ')';
        }
        $entry['ERRORS'][] = array(
            'command' => self::ERROR_RESPONSE_COMMAND,
            'statusCode' => $code,
            'identifier' => $number,
            'time' => time(),
            'statusMessage' => $text,
            'outcome' => self::OUTCOMES[$outcome['outcome']],
        );
        $this->_aErrors[self::freeNumber($this->_aErrors, $number)] = $entry;
        return "ERROR: Unable to send $which: $text ($code).";
    }

    private function reason($outcome)
    {
        if ($outcome['outcome'] === Provider::REJECTED) {
            return $outcome['reason'] ?: "status {$outcome['status']}";
        }
        if ($outcome['outcome'] === Provider::UNDELIVERED && in_array($outcome['detail'], self::REFUSALS, true)) {
            return $this->refusal;
        }
        return isset(self::CAUSES[$outcome['detail']]) ? self::CAUSES[$outcome['detail']] : "cause {$outcome['detail']}";
    }

    /** The number, or a free one if a message that came back to the queue, or one of an earlier send(), has it. */
    private static function freeNumber($entries, $number)
    {
        for ($free = $number; isset($entries[$free]); $free++) {
            $free = max($free, array_key_last($entries));
        }
        return $free;
    }

    /** Waits until everything has its outcome, or none came for SETTLE_SECONDS. Returns how many messages have none. */
    protected function settle()
    {
        $left = count($this->underWay);
        $end = 0;
        while ($this->underWay) {
            if (count($this->underWay) < $left || $end === 0) {
                $left = count($this->underWay);
                $end = microtime(true) + self::SETTLE_SECONDS;
            }
            if (microtime(true) >= $end) {
                break;
            }
            $hasAll = $this->provider->drain(0.1) === 0;
            $this->collect();
            if ($hasAll) {
                // FERRY_CONFIG may say that outcomes "accepted" are not read.
                $this->underWay = array();
            }
        }
        return count($this->underWay);
    }

    public function getQueue($bEmpty = true)
    {
        $queue = $this->_aMessageQueue;
        if ($bEmpty) {
            $this->_aMessageQueue = array();
        }
        return $queue;
    }

    /** Waits for the outcomes of what was sent, and returns the errors. */
    public function getErrors($bEmpty = true)
    {
        if ($this->isConnected() && ($left = $this->settle())) {
            $this->_log("WARNING: $left message(s) have no outcome yet. A later getErrors() has their errors.");
        }
        return $this->takeErrors($bEmpty);
    }

    /** The errors that are known. */
    protected function takeErrors($bEmpty)
    {
        $errors = $this->_aErrors;
        if ($bEmpty) {
            $this->_aErrors = array();
        } else {
            $this->told = $errors;
        }
        return $errors;
    }
}
