<?php

/** A notification with an alert that the app can translate. */
class ApnsPHP_Message_Custom extends ApnsPHP_Message
{
    protected $_sActionLocKey;
    protected $_sLocKey;
    protected $_aLocArgs;
    protected $_sLaunchImage;
    protected $_sSubTitle;

    public function setActionLocKey($sActionLocKey = '')
    {
        $this->_sActionLocKey = $sActionLocKey;
    }

    public function getActionLocKey()
    {
        return $this->_sActionLocKey;
    }

    public function setLocKey($sLocKey)
    {
        $this->_sLocKey = $sLocKey;
    }

    public function getLocKey()
    {
        return $this->_sLocKey;
    }

    public function setLocArgs($aLocArgs)
    {
        $this->_aLocArgs = $aLocArgs;
    }

    public function getLocArgs()
    {
        return $this->_aLocArgs;
    }

    public function setLaunchImage($sLaunchImage)
    {
        $this->_sLaunchImage = $sLaunchImage;
    }

    public function getLaunchImage()
    {
        return $this->_sLaunchImage;
    }

    public function setSubTitle($sSubTitle)
    {
        $this->_sSubTitle = $sSubTitle;
    }

    public function getSubTitle()
    {
        return $this->_sSubTitle;
    }

    protected function _getPayload()
    {
        $alert = array();
        // A key stands in place of the text.
        if (isset($this->_sLocKey)) {
            $alert['loc-key'] = (string) $this->_sLocKey;
        } elseif (isset($this->_sText)) {
            $alert['body'] = (string) $this->_sText;
        }
        if (isset($this->_sActionLocKey)) {
            // null: one button that only closes the alert.
            $alert['action-loc-key'] = $this->_sActionLocKey == '' ? null : (string) $this->_sActionLocKey;
        }
        if (isset($this->_aLocArgs)) {
            $alert['loc-args'] = $this->_aLocArgs;
        }
        if (isset($this->_sLaunchImage)) {
            $alert['launch-image'] = (string) $this->_sLaunchImage;
        }
        if (isset($this->_sTitle)) {
            $alert['title'] = (string) $this->_sTitle;
        }
        if (isset($this->_sSubTitle)) {
            $alert['subtitle'] = (string) $this->_sSubTitle;
        }
        $payload = parent::_getPayload();
        $payload[self::APPLE_RESERVED_NAMESPACE]['alert'] = $alert;
        return $payload;
    }
}
