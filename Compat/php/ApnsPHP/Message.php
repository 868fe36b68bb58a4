<?php

/** A notification for one or more devices. */
class ApnsPHP_Message
{
    const PAYLOAD_MAXIMUM_SIZE = 2048;
    const APPLE_RESERVED_NAMESPACE = 'aps';

    protected $_bAutoAdjustLongPayload = true;
    protected $_aDeviceTokens = array();
    protected $_sText;
    protected $_sTitle;
    protected $_nBadge;
    protected $_sSound;
    protected $_sCategory;
    protected $_bContentAvailable;
    protected $_bMutableContent;
    protected $_sThreadID;
    protected $_aCustomProperties;
    protected $_nExpiryValue = 604800;
    protected $_mCustomIdentifier;

    public function __construct($sDeviceToken = null)
    {
        if (isset($sDeviceToken)) {
            $this->addRecipient($sDeviceToken);
        }
    }

    public function addRecipient($sDeviceToken)
    {
        // 32 bytes or more. A record of libferry takes 100.
        if (!preg_match('/^([0-9a-f]{2}){32,100}$/iD', $sDeviceToken)) {
            throw new ApnsPHP_Message_Exception("Invalid device token '$sDeviceToken'");
        }
        $this->_aDeviceTokens[] = $sDeviceToken;
    }

    public function getRecipient($nRecipient = 0)
    {
        if (!isset($this->_aDeviceTokens[$nRecipient])) {
            throw new ApnsPHP_Message_Exception("No recipient at index '$nRecipient'");
        }
        return $this->_aDeviceTokens[$nRecipient];
    }

    public function getRecipientsNumber()
    {
        return count($this->_aDeviceTokens);
    }

    public function getRecipients()
    {
        return $this->_aDeviceTokens;
    }

    public function setText($sText)
    {
        $this->_sText = $sText;
    }

    public function getText()
    {
        return $this->_sText;
    }

    public function setTitle($sTitle)
    {
        $this->_sTitle = $sTitle;
    }

    public function getTitle()
    {
        return $this->_sTitle;
    }

    public function setBadge($nBadge)
    {
        if (!is_int($nBadge)) {
            throw new ApnsPHP_Message_Exception("Invalid badge number '$nBadge'");
        }
        $this->_nBadge = $nBadge;
    }

    public function getBadge()
    {
        return $this->_nBadge;
    }

    public function setSound($sSound = 'default')
    {
        $this->_sSound = $sSound;
    }

    public function getSound()
    {
        return $this->_sSound;
    }

    public function setCategory($sCategory = '')
    {
        $this->_sCategory = $sCategory;
    }

    public function getCategory()
    {
        return $this->_sCategory;
    }

    public function setThreadID($sThreadID = '')
    {
        $this->_sThreadID = $sThreadID;
    }

    public function getThreadID()
    {
        return $this->_sThreadID;
    }

    public function setContentAvailable($bContentAvailable = true)
    {
        if (!is_bool($bContentAvailable)) {
            throw new ApnsPHP_Message_Exception("Invalid content-available value '$bContentAvailable'");
        }
        $this->_bContentAvailable = $bContentAvailable ?: null;
    }

    public function getContentAvailable()
    {
        return $this->_bContentAvailable;
    }

    public function setMutableContent($bMutableContent = true)
    {
        if (!is_bool($bMutableContent)) {
            throw new ApnsPHP_Message_Exception("Invalid mutable-content value '$bMutableContent'");
        }
        $this->_bMutableContent = $bMutableContent ?: null;
    }

    public function getMutableContent()
    {
        return $this->_bMutableContent;
    }

    public function setCustomProperty($sName, $mValue)
    {
        if (trim($sName) === self::APPLE_RESERVED_NAMESPACE) {
            throw new ApnsPHP_Message_Exception("The name 'aps' is Apple's, and not for a custom property.");
        }
        $this->_aCustomProperties[trim($sName)] = $mValue;
    }

    public function getCustomPropertyName()
    {
        $names = $this->getCustomPropertyNames();
        return isset($names[0]) ? $names[0] : null;
    }

    public function getCustomPropertyValue()
    {
        $name = $this->getCustomPropertyName();
        return $name === null ? null : $this->_aCustomProperties[$name];
    }

    public function getCustomPropertyNames()
    {
        return array_keys((array) $this->_aCustomProperties);
    }

    public function getCustomProperty($sName)
    {
        if (!array_key_exists($sName, (array) $this->_aCustomProperties)) {
            throw new ApnsPHP_Message_Exception("No property exists with the specified name '$sName'.");
        }
        return $this->_aCustomProperties[$sName];
    }

    public function setAutoAdjustLongPayload($bAutoAdjust)
    {
        $this->_bAutoAdjustLongPayload = (bool) $bAutoAdjust;
    }

    public function getAutoAdjustLongPayload()
    {
        return $this->_bAutoAdjustLongPayload;
    }

    public function __toString()
    {
        try {
            return $this->getPayload();
        } catch (ApnsPHP_Message_Exception $error) {
            return '';
        }
    }

    /** The payload as an array. Subclasses add to it. */
    protected function _getPayload()
    {
        $aps = array();
        if (isset($this->_sText)) {
            $text = (string) $this->_sText;
            $title = (string) $this->_sTitle;
            $aps['alert'] = $title === '' ? $text : array('title' => $title, 'body' => $text);
        }
        if (isset($this->_nBadge) && $this->_nBadge >= 0) {
            $aps['badge'] = (int) $this->_nBadge;
        }
        if (isset($this->_sSound)) {
            $aps['sound'] = (string) $this->_sSound;
        }
        if (isset($this->_bContentAvailable)) {
            $aps['content-available'] = (int) $this->_bContentAvailable;
        }
        if (isset($this->_bMutableContent)) {
            $aps['mutable-content'] = (int) $this->_bMutableContent;
        }
        if (isset($this->_sCategory)) {
            $aps['category'] = (string) $this->_sCategory;
        }
        if (isset($this->_sThreadID)) {
            $aps['thread-id'] = (string) $this->_sThreadID;
        }
        return array(self::APPLE_RESERVED_NAMESPACE => $aps) + (array) $this->_aCustomProperties;
    }

    /**
     * The payload as JSON.
     *
     * A payload that is too long loses the end of its text, for good, if setAutoAdjustLongPayload() allows it.
     */
    public function getPayload()
    {
        while (strlen($json = $this->json()) > self::PAYLOAD_MAXIMUM_SIZE) {
            $length = strlen($json);
            $sentence = "JSON Payload is too long: $length bytes. Maximum size is " . self::PAYLOAD_MAXIMUM_SIZE . ' bytes';
            if (!$this->_bAutoAdjustLongPayload) {
                throw new ApnsPHP_Message_Exception($sentence);
            }
            $text = (string) $this->_sText;
            $rest = strlen($text) - ($length - self::PAYLOAD_MAXIMUM_SIZE);
            // Not in the middle of a character of UTF-8.
            while ($rest > 0 && (ord($text[$rest]) & 0xc0) === 0x80) {
                $rest--;
            }
            if ($rest <= 0) {
                throw new ApnsPHP_Message_Exception("$sentence. The message text can not be auto-adjusted.");
            }
            $this->_sText = substr($text, 0, $rest);
        }
        return $json;
    }

    private function json()
    {
        $payload = $this->_getPayload();
        // An empty array would become [], and APNs wants an object.
        if (empty($payload[self::APPLE_RESERVED_NAMESPACE])) {
            $payload[self::APPLE_RESERVED_NAMESPACE] = new stdClass();
        }
        $json = json_encode($payload, JSON_UNESCAPED_UNICODE);
        if ($json === false) {
            throw new ApnsPHP_Message_Exception('The payload has no form as JSON: ' . json_last_error_msg());
        }
        return $json;
    }

    public function setExpiry($nExpiryValue)
    {
        if (!is_int($nExpiryValue)) {
            throw new ApnsPHP_Message_Exception("Invalid seconds number '$nExpiryValue'");
        }
        $this->_nExpiryValue = $nExpiryValue;
    }

    public function getExpiry()
    {
        return $this->_nExpiryValue;
    }

    public function setCustomIdentifier($mCustomIdentifier)
    {
        $this->_mCustomIdentifier = $mCustomIdentifier;
    }

    public function getCustomIdentifier()
    {
        return $this->_mCustomIdentifier;
    }
}
