<?php

use Ferry\Provider;

/**
 * Sends while the program does something else. The original forked processes; here libferry's threads send, over as many
 * connections as setProcesses() says. Call run() often: it gives libferry what waits, and runs signal handlers.
 */
class ApnsPHP_Push_Server extends ApnsPHP_Push
{
    /** How many messages may wait before add() waits for room. */
    const QUEUE_LENGTH = 4096;

    /** How the original's processes slept and shared memory. Programs name these values; nothing here depends on them. */
    const MAIN_LOOP_USLEEP = 200000;
    const SHM_SIZE = 524288;
    const SHM_MESSAGES_QUEUE_KEY_START = 1000;
    const SHM_ERROR_MESSAGES_QUEUE_KEY = 999;

    protected $_nProcesses = 3;
    protected $_nParentPid;
    /** Messages that find no connection stay in the queue, and run() returns false. */
    protected $queuesAgain = true;
    private $isRunning = false;
    private $isStopping = false;

    public function __construct($nEnvironment, $sProviderCertificateFile)
    {
        parent::__construct($nEnvironment, $sProviderCertificateFile);
        $this->_nParentPid = getmypid();
        if (function_exists('pcntl_signal')) {
            foreach (array(SIGTERM, SIGQUIT, SIGINT) as $signal) {
                pcntl_signal($signal, array($this, 'onSignal'));
            }
        }
        if ((new ReflectionMethod($this, 'onChildExited'))->class !== self::class) {
            $this->hasNoEffect('onChildExited');
        }
        // Not the object itself, which would then live until the end.
        $server = WeakReference::create($this);
        register_shutdown_function(static function () use ($server) {
            if ($self = $server->get()) {
                $self->onShutdown();
            }
        });
    }

    /** Collects children of the program that have ended. The server has none, so nothing calls this. */
    public function onChildExited()
    {
        while (function_exists('pcntl_waitpid') && pcntl_waitpid(-1, $status, WNOHANG) > 0) {
        }
    }

    /** Called when the program ends: gives libferry what still waits, in the process that made the server. */
    public function onShutdown()
    {
        if (getmypid() !== $this->_nParentPid || !$this->isRunning) {
            return;
        }
        $end = microtime(true) + self::SETTLE_SECONDS;
        while ($this->_aMessageQueue && $this->refusal === null && microtime(true) < $end) {
            $this->submit(1);
        }
        if ($left = count($this->_aMessageQueue)) {
            $this->_log("WARNING: $left message(s) were not sent when the program ended.");
        }
    }

    /** Ends the server: run() sends what waits, and returns false. A child of the program ends at once, as in the original. */
    public function onSignal($nSignal)
    {
        if (getmypid() !== $this->_nParentPid) {
            exit(0);
        }
        $this->_log("INFO: Signal #$nSignal: ending.");
        $this->isStopping = true;
    }

    public function setProcesses($nProcesses)
    {
        if ((int) $nProcesses > 0) {
            $this->_nProcesses = (int) $nProcesses;
        }
    }

    protected function ferryOptions()
    {
        return parent::ferryOptions() + array('maxConnections' => min($this->_nProcesses, 1000));
    }

    public function start()
    {
        $this->connect();
        $this->refusal = null;
        $this->isStopping = false;
        $this->isRunning = true;
        $this->pump();
    }

    /** Returns whether the server runs: until a signal, or until no connection can be made or the certificate is refused. */
    public function run()
    {
        if (function_exists('pcntl_signal_dispatch')) {
            pcntl_signal_dispatch();
        }
        if ($this->isRunning) {
            $this->pump();
        }
        if ($this->isRunning && $this->isStopping) {
            while ($this->_aMessageQueue && $this->refusal === null) {
                $this->submit(1);
            }
            $this->settle();
            $this->isRunning = false;
        }
        return $this->isRunning;
    }

    public function add(ApnsPHP_Message $message)
    {
        parent::add($message);
        if ($this->isRunning) {
            $this->pump();
        }
        while ($this->isRunning && count($this->_aMessageQueue) > self::QUEUE_LENGTH && $this->refusal === null) {
            $this->submit(1);
        }
    }

    /** Gives libferry what it has room for, and reads the outcomes that have come. Never waits. */
    private function pump()
    {
        $this->connect();
        while ($this->_aMessageQueue && $this->refusal === null && $this->submit(0)) {
        }
        $this->collect();
        if ($this->refusal !== null) {
            $this->noConnection($this->refusal);
            $this->isRunning = false;
        }
    }

    public function disconnect()
    {
        $this->isRunning = false;
        return parent::disconnect();
    }

    /** The messages that wait. One of many recipients stands there once. */
    public function getQueue($bEmpty = true)
    {
        $messages = array();
        foreach (parent::getQueue($bEmpty) as $entry) {
            $messages[spl_object_hash($entry['MESSAGE'])] = $entry['MESSAGE'];
        }
        return array_values($messages);
    }

    /** The errors that are known. Does not wait. */
    public function getErrors($bEmpty = true)
    {
        if ($this->isConnected()) {
            $this->collect();
        }
        return array_values($this->takeErrors($bEmpty));
    }
}
