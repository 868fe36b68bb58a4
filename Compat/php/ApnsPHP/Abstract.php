<?php

require_once __DIR__ . '/Autoload.php';

/**
 * What ApnsPHP_Push and ApnsPHP_Feedback share: settings, log, and the options for libferry.
 *
 * Settings that have no effect over Ferry are kept, and named in the log at connect().
 */
abstract class ApnsPHP_Abstract
{
    const ENVIRONMENT_PRODUCTION = 0;
    const ENVIRONMENT_SANDBOX = 1;
    const DEVICE_BINARY_SIZE = 32;
    const WRITE_INTERVAL = 10000;
    const CONNECT_RETRY_INTERVAL = 1000000;
    const SOCKET_SELECT_TIMEOUT = 1000000;

    /** How many seconds outcomes are waited for where the original waited for error responses. */
    const SETTLE_SECONDS = 10;

    /** Methods that subclasses of the original could replace, and that nothing calls here. */
    private const NOT_KEPT = [
        '_connect', '_getBinaryNotification', '_parseErrorMessage', '_readErrorMessage', '_updateQueue',
        '_removeMessageFromQueue', '_parseBinaryTuple', '_mainLoop', '_getQueue', '_setQueue',
    ];

    protected $_aServiceURLs = array();
    protected $_nEnvironment;
    protected $_nConnectTimeout;
    protected $_nConnectRetryTimes = 3;
    protected $_sProviderCertificateFile;
    protected $_sProviderCertificatePassphrase;
    protected $_sRootCertificationAuthorityFile;
    protected $_nWriteInterval = self::WRITE_INTERVAL;
    protected $_nConnectRetryInterval = self::CONNECT_RETRY_INTERVAL;
    protected $_nSocketSelectTimeout = self::SOCKET_SELECT_TIMEOUT;
    protected $_logger;

    /** Options for libferry that a setter gave. */
    private $options = array();
    /** The names of setters that were called and change nothing. */
    private $withoutEffect = array();

    public function __construct($nEnvironment, $sProviderCertificateFile)
    {
        foreach (self::NOT_KEPT as $method) {
            if (method_exists($this, $method)) {
                throw new ApnsPHP_Exception(
                    get_class($this) . "::$method() would never be called: Ferry sends, and README.md says what takes its place."
                );
            }
        }
        if ($nEnvironment != self::ENVIRONMENT_PRODUCTION && $nEnvironment != self::ENVIRONMENT_SANDBOX) {
            throw new ApnsPHP_Exception("Invalid environment '$nEnvironment'");
        }
        if (!is_readable($sProviderCertificateFile)) {
            throw new ApnsPHP_Exception("Unable to read certificate file '$sProviderCertificateFile'");
        }
        $this->_nEnvironment = $nEnvironment;
        $this->_sProviderCertificateFile = $sProviderCertificateFile;
        $this->_nConnectTimeout = ini_get('default_socket_timeout');
    }

    public function __call($sName, $aArguments)
    {
        throw new ApnsPHP_Exception(get_class($this) . "::$sName() does not exist over Ferry.");
    }

    public function setLogger(ApnsPHP_Log_Interface $logger)
    {
        $this->_logger = $logger;
    }

    public function getLogger()
    {
        return $this->_logger;
    }

    public function setProviderCertificatePassphrase($sProviderCertificatePassphrase)
    {
        $this->_sProviderCertificatePassphrase = $sProviderCertificatePassphrase;
    }

    public function setRootCertificationAuthority($sRootCertificationAuthorityFile)
    {
        if (!is_readable($sRootCertificationAuthorityFile)) {
            throw new ApnsPHP_Exception(
                "Unable to read Certificate Authority file '$sRootCertificationAuthorityFile'"
            );
        }
        $this->_sRootCertificationAuthorityFile = $sRootCertificationAuthorityFile;
    }

    public function getCertificateAuthority()
    {
        return $this->_sRootCertificationAuthorityFile;
    }

    public function setWriteInterval($nWriteInterval)
    {
        $this->_nWriteInterval = (int) $nWriteInterval;
        $this->hasNoEffect(__FUNCTION__);
    }

    public function getWriteInterval()
    {
        return $this->_nWriteInterval;
    }

    public function setConnectTimeout($nTimeout)
    {
        $this->_nConnectTimeout = (int) $nTimeout;
        $this->options['connectTimeout'] = max(1, $this->_nConnectTimeout);
    }

    public function getConnectTimeout()
    {
        return $this->_nConnectTimeout;
    }

    public function setConnectRetryTimes($nRetryTimes)
    {
        $this->_nConnectRetryTimes = (int) $nRetryTimes;
        $this->options['connectionRetryLimit'] = max(0, $this->_nConnectRetryTimes);
    }

    public function getConnectRetryTimes()
    {
        return $this->_nConnectRetryTimes;
    }

    public function setConnectRetryInterval($nRetryInterval)
    {
        $this->_nConnectRetryInterval = (int) $nRetryInterval;
        $this->hasNoEffect(__FUNCTION__);
    }

    public function getConnectRetryInterval()
    {
        return $this->_nConnectRetryInterval;
    }

    public function setSocketSelectTimeout($nSelectTimeout)
    {
        $this->_nSocketSelectTimeout = (int) $nSelectTimeout;
    }

    public function getSocketSelectTimeout()
    {
        return $this->_nSocketSelectTimeout;
    }

    abstract public function connect();

    abstract public function disconnect();

    /** Notes a setter that changes nothing. connect() tells. */
    protected function hasNoEffect($sMethod)
    {
        $this->withoutEffect[$sMethod] = true;
    }

    /** What a connection that failed raised in the original. */
    protected function noConnection($sReason, $cause = null)
    {
        $sentence = "Unable to connect to '{$this->serviceURL()}': $sReason";
        $this->_log("ERROR: $sentence");
        return new ApnsPHP_Exception($sentence, 0, $cause);
    }

    /** Calls $body. A signal handler that throws must not come between what libferry took and our note of it. */
    protected static function undisturbed($body)
    {
        $wasAsync = function_exists('pcntl_async_signals') && pcntl_async_signals(false);
        try {
            return $body();
        } finally {
            if ($wasAsync) {
                pcntl_async_signals(true);
                // PHP itself would handle a signal that has come meanwhile only when the next one comes.
                pcntl_signal_dispatch();
            }
        }
    }

    /** The URL of the original's service. Its host says where to send. */
    protected function serviceURL()
    {
        return $this->_aServiceURLs[$this->_nEnvironment];
    }

    /**
     * The options for libferry. Those in the file that FERRY_CONFIG names win over them: libferry reads it.
     *
     * @throws ApnsPHP_Exception if the URL has no host.
     */
    protected function ferryOptions()
    {
        if ($this->withoutEffect) {
            $this->_log('WARNING: No effect over Ferry: ' . implode(', ', array_keys($this->withoutEffect)) . '.');
            $this->withoutEffect = array();
        }
        $url = parse_url($this->serviceURL());
        if (empty($url['host'])) {
            throw $this->noConnection('the URL has no host');
        }
        $options = array(
            'backend' => 'auto',
            'host' => trim($url['host'], '[]'),
            'cert' => self::absolute($this->_sProviderCertificateFile),
        ) + $this->options;
        if (isset($url['port'])) {
            $options['port'] = $url['port'];
        }
        if (!empty($this->_sProviderCertificatePassphrase)) {
            $options['passphrase'] = (string) $this->_sProviderCertificatePassphrase;
        }
        if (isset($this->_sRootCertificationAuthorityFile)) {
            $options['ca'] = self::absolute($this->_sRootCertificationAuthorityFile);
        }
        if ($config = getenv('FERRY_CONFIG')) {
            $options['config'] = $config;
        }
        return $options;
    }

    /** A path that stays good when the program changes its directory. */
    private static function absolute($path)
    {
        return realpath($path) ?: (string) $path;
    }

    protected function _log($sMessage)
    {
        if (!isset($this->_logger)) {
            $this->_logger = new ApnsPHP_Log_Embedded();
        }
        $this->_logger->log($sMessage);
    }
}
