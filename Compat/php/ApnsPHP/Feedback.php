<?php

/** Reads the list of devices that are gone: of a feedback service, or the file of the option 'feedback' of FERRY_CONFIG. */
class ApnsPHP_Feedback extends ApnsPHP_Abstract
{
    const TIME_BINARY_SIZE = 4;
    const TOKEN_LENGTH_BINARY_SIZE = 2;

    protected $_aServiceURLs = array(
        'tls://feedback.push.apple.com:2196',
        'tls://feedback.sandbox.push.apple.com:2196',
    );
    protected $_aFeedback = array();
    /** @var ?Ferry\Feedback */
    private $list = null;

    public function connect()
    {
        if ($this->list !== null) {
            return;
        }
        try {
            $this->list = new Ferry\Feedback($this->ferryOptions());
        } catch (Ferry\Exception $error) {
            throw $this->noConnection($error->getMessage(), $error);
        }
        $this->_log("INFO: Ready to read from {$this->serviceURL()}.");
    }

    public function disconnect()
    {
        if ($this->list === null) {
            return false;
        }
        $this->list->free();
        $this->list = null;
        $this->_log('INFO: Disconnected.');
        return true;
    }

    /**
     * Reads the list to its end. Each entry has 'timestamp', 'tokenLength' and 'deviceToken'.
     *
     * If the list cannot be read to its end, what was read is returned, because the service has forgotten it, and the log
     * says so. If nothing was read, that is an exception.
     */
    public function receive()
    {
        if ($this->list === null) {
            throw new ApnsPHP_Exception('Not connected to the feedback service');
        }
        $this->_aFeedback = array();
        try {
            while ($tuples = $this->list->read()) {
                foreach ($tuples as $tuple) {
                    $this->_aFeedback[] = array(
                        'timestamp' => $tuple['time'],
                        'tokenLength' => strlen($tuple['token']) / 2,
                        'deviceToken' => $tuple['token'],
                    );
                }
            }
        } catch (Ferry\Exception $error) {
            $exception = $this->noConnection($error->getMessage(), $error);
            if (!$this->_aFeedback) {
                throw $exception;
            }
        }
        $this->_log('INFO: ' . count($this->_aFeedback) . ' device(s) are gone.');
        return $this->_aFeedback;
    }
}
